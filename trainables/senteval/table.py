"""The layout `table`, for tasks of one's own: a TSV, CSV or JSONL file for each split, with named columns.

    sentence<TAB>label                       a sentence and its class
    sentence1<TAB>sentence2<TAB>label        a pair and its class
    sentence1<TAB>sentence2<TAB>score        a pair and how similar its sentences are
    anchor<TAB>positive<TAB>negative         a triplet; or a query (`query`) with several positives and negatives, as
                                             further columns (`negative_2`), or in JSONL as lists

Other names that many files have for these columns are taken, too (`COLUMNS`), further columns are ignored. The first
line of a TSV or CSV file that is not blank names the columns; in a TSV file a quote is a character like any other. A
task whose kind fits classifiers takes `label`, one that correlates takes `score`. Classes are those of `Task.labels`,
or else those of the first file in the order of the alphabet. Examples stay in the order of their files.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from trainables.delimited import csv_rows, tsv_rows
from trainables.errors import UserError, choices, is_text, listed, shown
from trainables.senteval.examples import Documents, Split, TaskData
from trainables.senteval.kinds import KINDS
from trainables.senteval.tasks import Task
from trainables.senteval.text_files import broken, class_number, json_line, read_lines, score_within

Line = tuple[int, Mapping[str, object]]
"""The number of a line from 1, and its values by column."""

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "sentence": ("sentence", "text"),
    "sentence1": ("sentence1", "premise", "text1", "question1"),
    "sentence2": ("sentence2", "hypothesis", "text2", "question2"),
    "label": ("label", "cluster", "is_duplicate"),
    "score": ("score", "similarity", "similarity_score", "label"),
    "anchor": ("anchor", "query"),
}
"""What the columns may be called; the first name that a file has is taken."""
SIDES = {1: re.compile(r"pos(itives?)?(_\d+)?"), 0: re.compile(r"neg(atives?)?(_\d+)?")}
"""By how relevant a text is, the names of the columns that hold such."""


def read_table(task: Task, paths: Sequence[Path]) -> TaskData:
    """Every file is a split, in the order that the task's kind asks for, or a sub-corpus."""
    kind = KINDS[task.kind]
    names = task.splits or task.files
    tables = {name: open_table(path) for name, path in zip(names, paths, strict=True)}
    if kind.target == "scores":
        scale = task.scale or (-math.inf, math.inf)
        return TaskData({name: Split(*table.sentences(), table.scores(scale)) for name, table in tables.items()})
    if kind.target == "documents":
        return TaskData({name: table.queries(kind.among_all) for name, table in tables.items()})
    labels = task.labels or tables[names[0]].labels()
    splits = {name: Split(*table.sentences(), table.classes(labels)) for name, table in tables.items()}
    return TaskData(splits, len(labels))


def open_table(path: Path) -> Table:
    """The table in a file; `UserError` where it is none, or has no line."""
    lines = list(table_lines(path))
    if not lines:
        raise UserError(f"{path} holds no example")
    return Table(path, lines)


@dataclass(frozen=True)
class Table:
    """The lines of a file, at least one."""

    path: Path
    lines: list[Line]

    def sentences(self) -> tuple[list[str], list[str] | None]:
        """The sentences, and the second ones where the file has a column for them, of which each line needs one."""
        paired = self.has("sentence2")
        left = self._sentences("sentence1" if self.has("sentence1") else "sentence")
        return left, self._sentences("sentence2") if paired else None

    def labels(self) -> tuple[str, ...]:
        return tuple(sorted({self._label(line, "label") for line in self.lines}))

    def classes(self, labels: Sequence[str]) -> np.ndarray:  # (lines,)
        found = [class_number(labels, self._label(line, "label"), self.path, line[0]) for line in self.lines]
        return np.array(found, dtype=np.int64)

    def scores(self, scale: tuple[float, float]) -> np.ndarray:  # (lines,)
        found = np.array([score_within(self._label(line, "score"), self.path, line[0], scale) for line in self.lines])
        if not np.isfinite(found).all():
            number, _ = self.lines[int(np.isfinite(found).argmin())]
            raise broken(self.path, number, f"score {found[~np.isfinite(found)][0]:g} is not a finite number")
        return found

    def queries(self, among_all: bool) -> Split:
        """Each anchor or query, with the texts that are judged for it; `among_all`: it once, with those of all its
        lines, and without itself. Equal texts are one document."""
        anchor, sides = ("anchor", SIDES) if self.has("anchor") else ("sentence1", self._second())
        needed = {grade for grade, names in sides.items() if any(map(names.fullmatch, self.columns))} | {1}
        documents: dict[str, int] = {}
        items: list[tuple[str, dict[int, int]]] = []
        merged: dict[str, dict[int, int]] = {}
        for line in self.lines:
            text = self._sentence(line, self.called(anchor))
            if not among_all or text not in merged:
                items.append((text, merged.setdefault(text, {}) if among_all else {}))
            grades = merged[text] if among_all else items[-1][1]
            for grade, names in sides.items():
                texts = list(self._side(line, names))
                if not texts and grade in needed:
                    wanted = "positive" if grade else "negative"
                    raise broken(self.path, line[0], f"no {wanted!r}; the columns are {listed([*line[1]])}")
                for found in texts:
                    if grades.setdefault(documents.setdefault(found, len(documents)), grade) != grade:
                        raise broken(self.path, line[0], f"{shown(found)} is both a positive and a negative")
        own = [place if (place := documents.get(text, -1)) not in judged else -1 for text, judged in items]
        judged = [grades for _, grades in items]
        found_all = Documents([*documents], judged, np.array(own if among_all else [-1] * len(items)))
        return Split([text for text, _ in items], None, found_all.relevant, documents=found_all)

    def _second(self) -> dict[int, re.Pattern[str]]:
        """Of pairs without a label the second sentence is what the first one looks for."""
        return {1: re.compile(re.escape(self.called("sentence2")))}

    def _side(self, line: Line, names: re.Pattern[str]) -> Iterator[str]:
        """Its texts, of all columns with such a name; what is empty there is none."""
        number, values = line
        for column, value in values.items():
            if names.fullmatch(column) and value:
                for text in value if isinstance(value, list) else [value]:
                    yield self._sentence((number, {column: text}), column)

    def has(self, column: str) -> bool:
        """Whether the file has the column, by any of its names."""
        return self.called(column) in self.columns

    def called(self, column: str) -> str:
        """What the file calls a column."""
        return next((name for name in COLUMNS.get(column, ()) if name in self.columns), column)

    @cached_property
    def columns(self) -> frozenset[str]:
        """Of all lines, of which each may lack some."""
        return frozenset(column for _, values in self.lines for column in values)

    def _sentences(self, column: str) -> list[str]:
        called = self.called(column)
        return [self._sentence(line, called) for line in self.lines]

    def _sentence(self, line: Line, column: str) -> str:
        words = self._text(line, column).split()
        if not words:
            raise broken(self.path, line[0], f"{column!r} is empty")
        return " ".join(words)

    def _label(self, line: Line, column: str) -> str:
        """A class or a score, which may be a number."""
        called = self.called(column)
        value = line[1].get(called)
        return str(value) if isinstance(value, int | float) else self._text(line, called)

    def _text(self, line: Line, column: str) -> str:
        number, values = line
        value = values.get(column)
        if value is None:
            raise broken(self.path, number, f"no {column!r}; the columns are {listed([*values])}")
        if isinstance(value, str) and not is_text(value):
            raise broken(self.path, number, f"{column!r} holds half of a character (a lone surrogate): {shown(value)}")
        if isinstance(value, str):
            return value
        raise broken(self.path, number, f"{column!r} is {shown(value)}, not text")


def table_lines(path: Path) -> Iterator[Line]:
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
        if line.strip():
            yield number, json_line(path, number, line)
