"""The layouts of task files: one entry each, with the function that reads the files. Kinds of tasks share them.

To add one, write a function from a `Task` and its files' paths to a `TaskData`, and an entry here or in a plugin file:

    FILE_LAYOUTS.add(FileLayout("layout", my_function, splits=("train", "dev", "test"), targets=("classes",)))

`trainables/testing/tasks.py` has the tests that an entry must pass. Own data in a table needs no new layout: the layout
`table` (`own_tasks.py: read_table`) reads it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trainables.registry import Registry
from trainables.senteval.examples import Target
from trainables.senteval.kinds.contract import TRAIN_DEV_TEST


@dataclass(frozen=True)
class FileLayout:
    """A layout of a task's files: an entry of `FILE_LAYOUTS`."""

    name: str
    function: Callable[..., object] | str
    """Function from a `Task` and the paths of its files to a `TaskData`; or its `"module:function"`."""
    splits: tuple[str, ...] | None
    """The splits of the layout, in order; empty: sub-corpora of any name; None: the splits that the kind needs."""
    targets: tuple[Target, ...]
    """The sorts of labels that the examples of this layout can have."""
    files_per_split: int | None = 1
    """Number of files per split; None: one file contains all splits."""
    may_recur: tuple[str, ...] = ()
    """Prefixes of the names of files that may be named twice or have equal content: files of labels only, and a corpus
    that splits share."""


_TOOLKIT = "trainables.senteval.toolkit_files"

FILE_LAYOUTS: Registry[FileLayout] = Registry(
    "layout of task files",
    FileLayout("classes_in_files", f"{_TOOLKIT}:classes_in_files", ("all",), ("classes",), files_per_split=2),
    FileLayout("trec", f"{_TOOLKIT}:trec", ("train", "test"), ("classes",)),
    FileLayout("mrpc", f"{_TOOLKIT}:mrpc", ("train", "test"), ("classes",)),
    FileLayout("sst2", f"{_TOOLKIT}:sst2", TRAIN_DEV_TEST, ("classes",)),
    FileLayout("sst5", f"{_TOOLKIT}:sst5", TRAIN_DEV_TEST, ("classes",)),
    FileLayout("snli", f"{_TOOLKIT}:snli", TRAIN_DEV_TEST, ("classes",), files_per_split=3, may_recur=("labels.",)),
    FileLayout("sick", f"{_TOOLKIT}:sick", TRAIN_DEV_TEST, ("classes", "scores")),
    FileLayout("stsb", f"{_TOOLKIT}:stsb", TRAIN_DEV_TEST, ("scores",)),
    FileLayout("sts", f"{_TOOLKIT}:sts", (), ("scores",), files_per_split=2, may_recur=("STS.gs.",)),
    FileLayout("probing", f"{_TOOLKIT}:probing", TRAIN_DEV_TEST, ("classes",), files_per_split=None),
    FileLayout("coco", "trainables.senteval.captions:read_coco", TRAIN_DEV_TEST, ("images",)),
    FileLayout(
        "beir",
        "trainables.senteval.beir:read_beir",
        None,
        ("documents",),
        files_per_split=3,
        may_recur=("queries", "corpus"),
    ),
    FileLayout("table", "trainables.senteval.own_tasks:read_table", None, ("classes", "scores", "documents")),
)
"""The values of `Task.layout`."""
