"""The layouts of task files: an entry each, which names the function that reads it. Imports nothing heavy.

To add one: a function from a `Task` and the paths of its files to a `TaskData`, and an entry here or in a plugin file:

    READERS.add(Reader("layout", my_function, splits=("train", "dev", "test"), targets=("classes",)))

`trainables/testing/tasks.py` has the tests that an entry must pass. Data of one's own needs no reader of its own where
it can be written as a table: the layout `table` (`table.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trainables.registry import Registry
from trainables.senteval.scorers import THREE, Target


@dataclass(frozen=True)
class Reader:
    """An entry of `READERS`."""

    name: str
    function: Callable[..., object] | str
    """From a `Task` and the paths of its files to a `TaskData`; or `"module:function"`."""
    splits: tuple[str, ...] | None
    """The splits that it gives, in their order; empty: sub-corpora of any name; None: those that the kind needs."""
    targets: tuple[Target, ...]
    """What its examples can be labelled with."""
    files_per_split: int | None = 1
    """How many files hold one split; None where one file holds them all."""
    label_files: tuple[str, ...] = ()
    """How names of files begin that hold labels only: two such files may well be equal."""


_READ = "trainables.senteval.read"

READERS: Registry[Reader] = Registry(
    "layout of task files",
    Reader("classes_in_files", f"{_READ}:classes_in_files", ("all",), ("classes",), files_per_split=2),
    Reader("trec", f"{_READ}:trec", ("train", "test"), ("classes",)),
    Reader("mrpc", f"{_READ}:mrpc", ("train", "test"), ("classes",)),
    Reader("sst2", f"{_READ}:sst2", THREE, ("classes",)),
    Reader("sst5", f"{_READ}:sst5", THREE, ("classes",)),
    Reader("snli", f"{_READ}:snli", THREE, ("classes",), files_per_split=3, label_files=("labels.",)),
    Reader("sick", f"{_READ}:sick", THREE, ("classes", "scores")),
    Reader("stsb", f"{_READ}:stsb", THREE, ("scores",)),
    Reader("sts", f"{_READ}:sts", (), ("scores",), files_per_split=2, label_files=("STS.gs.",)),
    Reader("probing", f"{_READ}:probing", THREE, ("classes",), files_per_split=None),
    Reader("coco", "trainables.senteval.captions:read_coco", THREE, ("images",)),
    Reader("table", "trainables.senteval.table:read_table", None, ("classes", "scores")),
)
"""The values of `Task.layout`."""
