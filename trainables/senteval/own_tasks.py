"""Tasks from a user's own files: the kind of each is the first that its columns fit (`TaskKind.fits`).

    own_tasks(dev=["sts_dev.csv"], test=["sts_test.csv", "faq=queries_test/"])

A folder with `queries.jsonl`, `corpus.jsonl` and `qrels/` is a search task (`beir.py`). Names such as `scenes:triplets`
are built-in tasks.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from trainables.corpora.cache import scenes_task
from trainables.errors import UserError, choices, listed
from trainables.registry import load
from trainables.senteval import beir
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.kinds import KINDS
from trainables.senteval.table import open_table
from trainables.senteval.tasks import TASKS, Task, groups

_MARKERS = "dev|development|val|valid|validation|eval|test"
_MARKER = re.compile(rf"^({_MARKERS})([._-]+|$)|[._-]+({_MARKERS})$", re.IGNORECASE)
_SCENES = "scenes:"
HELD_OUT_NAME = "heldout"
"""Name of a split that was held out from training data, unless the other split of its task has a name."""

Row = dict[str, Any]
"""A row of a table, or a training row as `corpora/own_rows.py: read_row` returns it."""


@dataclass(frozen=True)
class _TaskPath:
    """A file or folder that was given for a split of a task."""

    name: str
    """The given name, else the path's name without words such as `dev` or `test`; it may be empty."""
    path: Path
    split: str
    kind: str

    @property
    def form(self) -> tuple[str, bool]:
        """Kind, and whether the path is a folder; equal for the splits of one task."""
        return self.kind, self.path.is_dir()

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(map(str, beir.files(self.path, self.split) if self.path.is_dir() else (self.path,)))


def own_tasks(dev: Sequence[str], test: Sequence[str]) -> tuple[Task, ...]:
    """Return the tasks of these files and folders, each `PATH` or `NAME=PATH`, in the given order.

    A dev and a test path are one task if they have the same name (a path's name is without `dev`, `test` and similar
    words at its ends), or if they are the only two paths of their kind. Raises `UserError` if a path has no task, or if
    two tasks have one name.
    """
    parts = [_part(path, split) for split, paths in (("dev", dev), ("test", test)) for path in paths]
    joined: list[list[_TaskPath]] = []
    for part in parts:
        other = next((group for group in joined if len(group) == 1 and _together(group[0], part, parts)), None)
        if other is None:
            joined.append([part])
        else:
            other.append(part)
    tasks = [_task(group) for group in joined]
    for name, same in groupby(sorted(tasks, key=lambda task: task.name), key=lambda task: task.name):
        files = [task.files[0] for task in same]
        if len(files) > 1:
            raise UserError(f"{choices(files)}: which of them is {name!r}? Give each a name, as in NAME={files[0]}")
    return tuple(tasks)


def with_training_file(task: Task, file: Path, labels: Collection[str]) -> Task:
    """Return a task of classes with `file`, labelled texts, as its train split, if the task has some of the `labels`;
    return any other task unchanged."""
    if "train" not in KINDS[task.kind].optional:
        return task
    table = open_table(Path(task.files[0]))
    if table.has("sentence2") or not {*table.labels()} & {*labels}:
        return task
    parts = ("train", *task.splits)
    return replace(task, files=(str(file), *task.files), parts=() if parts == KINDS[task.kind].splits else parts)


def converter_to(tasks: Sequence[Task]) -> Callable[[Sequence[Row]], Sequence[Row]]:
    """Return a function that converts held-out rows to rows for the first task whose kind takes most of them, so that a
    model is chosen by the measure that judges it. If a task is a search, the function returns no rows."""

    def table(rows: Sequence[Row]) -> Sequence[Row]:
        for task in tasks:
            kind = KINDS[task.kind]
            made = kind.of_training_rows(rows, open_table(Path(task.files[0])))
            if 2 * len(made) > len(rows):
                return made
        return ()

    return (lambda rows: ()) if any(KINDS[task.kind].among_all for task in tasks) else table


def _together(first: _TaskPath, other: _TaskPath, parts: Sequence[_TaskPath]) -> bool:
    if first.split == other.split or first.form != other.form:
        return False
    alone = [part.split for part in parts if part.form == first.form]
    return first.name == other.name or sorted(alone) == ["dev", "test"]


def _task(parts: Sequence[_TaskPath]) -> Task:
    """Return the task of one path, or of a dev and a test path."""
    last = parts[-1]
    splits = tuple(part.split for part in parts)
    present = () if splits == KINDS[last.kind].splits else splits
    names = [part.name for part in reversed(parts) if part.name]
    name = next((name for name in names if name != HELD_OUT_NAME), names[0] if names else last.kind)
    if name in TASKS or name in groups():
        name = f"own_{name}"
    files = tuple(file for part in parts for file in part.files)
    return Task(name, last.kind, "beir" if last.path.is_dir() else "table", files, parts=present)


def name_and_path(given: str) -> tuple[str, str]:
    """Return name and path of `NAME=PATH`, with `~` expanded; the name of a `PATH` is empty."""
    name, equals, path = given.partition("=")
    if not (equals and re.fullmatch(r"[\w-]+", name)) or Path(given).exists():
        name, path = "", given
    return name, os.path.expanduser(path)


def _part(given: str, split: str) -> _TaskPath:
    name, location = name_and_path(given)
    built_in = location.removeprefix(_SCENES) if location.startswith(_SCENES) else ""
    path = _built_in(built_in, split) if built_in else Path(location).absolute()
    if not path.exists():
        raise UserError(f"--{split} {given}: {path} does not exist")
    name = name or _MARKER.sub("", path.name.removesuffix("".join(path.suffixes) if path.is_file() else ""))
    return _TaskPath(re.sub(r"[^\w-]+", "_", name).strip("_"), path, split, built_in or _kind(path, split))


def _built_in(name: str, split: str) -> Path:
    """Return the file or folder of a split of the built-in task `scenes:NAME`."""
    writers = {kind.name: kind.scenes for kind in KINDS.values() if kind.scenes}
    if name not in writers:
        raise UserError(
            f"--{split} {_SCENES}{name}: the built-in tasks are {choices(_SCENES + kind for kind in writers)}"
        )
    folder = scenes_task(name, load(writers[name]))
    return next(path for path in folder.iterdir() if path.stem in (name, f"{name}-{split}"))


def _kind(path: Path, split: str) -> str:
    """Return the kind of task of a path: for a folder a search, for a file the first kind that its columns fit."""
    if path.is_dir():
        beir.files(path, split)
        return next(kind.name for kind in KINDS.values() if kind.among_all)
    table = open_table(path)
    for kind in KINDS.values():
        if kind.fits(table):
            return kind.name
    needed = "; or ".join(dict.fromkeys(kind.columns for kind in KINDS.values() if kind.columns))
    raise UserError(f"{table.lines[0][0]}: the columns are {listed(table.columns)}; a task needs {needed}")


def read_table(task: Task, paths: Sequence[Path]) -> TaskData:
    """Read the layout `table`: every file is a split, in the order of the task's kind, or a sub-corpus.

    A kind whose target is classes needs the column `label`, one of scores `score`. Classes are those of `Task.labels`,
    else those of the first file in alphabetical order; a few examples of other classes are left out.
    """
    kind = KINDS[task.kind]
    names = task.splits or task.files
    whole = {name: open_table(path).drop_incomplete(kind.target) for name, path in zip(names, paths, strict=True)}
    tables = {name: table for name, (table, _) in whole.items()}
    left_out = tuple(sentence for _, sentences in whole.values() for sentence in sentences)
    if kind.target == "scores":
        scale = task.scale or (-math.inf, math.inf)
        splits = {name: Split(*table.sentences(), table.scores(scale)) for name, table in tables.items()}
        return TaskData(splits, left_out=left_out)
    if kind.target == "documents":
        splits = {name: table.queries(kind.among_all) for name, table in tables.items()}
        merged = tuple(
            f"the {len(table.lines):,} rows of {table.path} are {items:,} items: rows that share a query are one"
            for name, table in tables.items()
            if (items := len(splits[name])) < len(table.lines)
        )
        return TaskData(splits, left_out=left_out + merged)
    labels, splits = task.labels or tables[names[0]].labels(), {}
    for name, table in tables.items():
        own, sentences = (table, []) if task.labels else table.keep_labels(labels)
        splits[name] = Split(*own.sentences(), own.classes(labels))
        left_out += tuple(sentences)
    return TaskData(splits, len(labels), left_out, labels)
