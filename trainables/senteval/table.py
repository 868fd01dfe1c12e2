"""The layout `table`, for tasks of one's own: a TSV, CSV or JSONL file for each split, with named columns.

    sentence<TAB>label                       a sentence and its class
    sentence1<TAB>sentence2<TAB>label        a pair and its class
    sentence1<TAB>sentence2<TAB>score        a pair and how similar its sentences are

Further columns are ignored. The first line of a TSV or CSV file that is not blank names the columns; in a TSV file a
quote is a character like any other. A task whose kind fits classifiers takes `label`, one that correlates takes
`score`. Classes are those of `Task.labels`, or else those of the first file in the order of the alphabet. Examples stay
in the order of their files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from trainables.delimited import csv_rows, tsv_rows
from trainables.errors import UserError, choices, is_text, listed, reason, shown
from trainables.senteval.examples import Split, TaskData, sentence
from trainables.senteval.kinds import KINDS
from trainables.senteval.tasks import Task
from trainables.senteval.text_files import broken, class_number, read_lines, score_within
from trainables.typed_json import parse_json

Line = tuple[int, Mapping[str, object]]
"""The number of a line from 1, and its values by column."""


def read_table(task: Task, paths: Sequence[Path]) -> TaskData:
    """Every file is a split, in the order that the task's kind asks for, or a sub-corpus."""
    kind = KINDS[task.kind]
    names = kind.splits or task.files
    tables = {name: _Table(path, list(_lines(path))) for name, path in zip(names, paths, strict=True)}
    for path, table in zip(paths, tables.values(), strict=True):
        if not table.lines:
            raise UserError(f"{path} holds no example")
    if kind.target == "scores":
        scale = task.scale or (-math.inf, math.inf)
        return TaskData({name: Split(*table.sentences(), table.scores(scale)) for name, table in tables.items()})
    labels = task.labels or tables[names[0]].labels()
    splits = {name: Split(*table.sentences(), table.classes(labels)) for name, table in tables.items()}
    return TaskData(splits, len(labels))


@dataclass(frozen=True)
class _Table:
    """The lines of a file, at least one."""

    path: Path
    lines: list[Line]

    def sentences(self) -> tuple[list[str], list[str] | None]:
        """The sentences, and the second ones where the file has a column for them, of which each line needs one."""
        columns = {column for _, values in self.lines for column in values}
        left = self._sentences("sentence1" if "sentence1" in columns else "sentence")
        return left, self._sentences("sentence2") if "sentence2" in columns else None

    def labels(self) -> tuple[str, ...]:
        return tuple(sorted({self._text(line, "label") for line in self.lines}))

    def classes(self, labels: Sequence[str]) -> np.ndarray:  # (lines,)
        found = [class_number(labels, self._text(line, "label"), self.path, line[0]) for line in self.lines]
        return np.array(found, dtype=np.int64)

    def scores(self, scale: tuple[float, float]) -> np.ndarray:  # (lines,)
        found = np.array([score_within(self._text(line, "score"), self.path, line[0], scale) for line in self.lines])
        if not np.isfinite(found).all():
            number, _ = self.lines[int(np.isfinite(found).argmin())]
            raise broken(self.path, number, f"score {found[~np.isfinite(found)][0]:g} is not a finite number")
        return found

    def _sentences(self, column: str) -> list[str]:
        return [sentence(self._text(line, column).split()) for line in self.lines]

    def _text(self, line: Line, column: str) -> str:
        number, values = line
        value = values.get(column)
        if value is None:
            raise broken(self.path, number, f"no {column!r}; the columns are {listed([*values])}")
        if isinstance(value, str) and not is_text(value):
            raise broken(self.path, number, f"{column!r} holds half of a character (a lone surrogate): {shown(value)}")
        if isinstance(value, str) or (column in ("label", "score") and isinstance(value, int | float)):
            return str(value)
        raise broken(self.path, number, f"{column!r} is {shown(value)}, not text")


def _lines(path: Path) -> Iterator[Line]:
    readers = {".tsv": _tsv, ".csv": _csv, ".jsonl": _jsonl}
    if path.suffix not in readers:
        raise UserError(f"{path} is no table; a file must end in {choices(readers)}")
    return readers[path.suffix](path)


def _tsv(path: Path) -> Iterator[Line]:
    return tsv_rows(read_lines(path), partial(broken, path))


def _csv(path: Path) -> Iterator[Line]:
    return csv_rows(((number, f"{line}\n") for number, line in read_lines(path)), partial(broken, path))


def _jsonl(path: Path) -> Iterator[Line]:
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            values = parse_json(line)
        except ValueError as error:
            raise broken(path, number, f"not JSON ({reason(error)}): {shown(line)}") from None
        if not isinstance(values, dict):
            raise broken(path, number, f"expected an object with columns, found {shown(line)}")
        yield number, values
