"""Examples in splits, which readers make from a task's files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from trainables.errors import UserError

Target = Literal["classes", "scores", "images", "documents"]
"""The label of an example: a class, a score of a pair of sentences, the image of a caption, or the documents that are
relevant to a query."""

MOST_LINES, MOST_LETTERS = 10_000_000, 2_000_000_000
"""Limits of one file of an own task, which is read into memory: MS MARCO's passages fit."""


class FileLimit:
    """Counts lines and letters of a file in memory. Raises `UserError` at the limits, before the memory is full."""

    def __init__(self, path: Path) -> None:
        self.path, self.lines, self.letters = path, 0, 0

    def add(self, letters: int) -> None:
        """Count one more line of this many letters."""
        self.lines, self.letters = self.lines + 1, self.letters + letters
        if self.lines > MOST_LINES or self.letters > MOST_LETTERS:
            raise UserError(
                f"{self.path}, line {self.lines:,}: a dev or test file may have {MOST_LINES:,} lines and "
                f"{MOST_LETTERS:,} letters, as it is held in memory; give a part of it"
            )


@dataclass(frozen=True)
class JudgedDocuments:
    """Documents that queries are compared with, and their judgements."""

    texts: list[str]
    """The documents' texts. Of documents that are equally near to a query the first is ranked first."""
    judged: Sequence[Mapping[int, int]]
    """For each query: document numbers and their grades; only grades above 0 are relevant."""
    own: np.ndarray  # (queries,) int64: the document that is the query itself, which its search skips; or -1

    @property
    def relevant(self) -> np.ndarray:
        """Number of relevant documents of each query, (queries,)."""
        return np.array([sum(grade > 0 for grade in judged.values()) for judged in self.judged], dtype=np.int64)


@dataclass(frozen=True)
class Split:
    """Examples of one split, in the reader's order. `right` is None if an example is a single sentence or a query."""

    left: list[str]
    right: list[str] | None
    labels: np.ndarray  # (examples,) int64 classes or float64 scores; for captions the image of each
    images: np.ndarray | None = None  # (images, 2048) float32, captions only
    documents: JudgedDocuments | None = None
    """Documents that queries are compared with; the label of a query is its number of relevant documents."""

    def __len__(self) -> int:
        return len(self.left)

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest label of the examples, for labels that are scores."""
        return float(self.labels.min()), float(self.labels.max())

    def items(self) -> Iterator[tuple[str, ...]]:
        """Return the texts of each example: one sentence, two, or a query."""
        return zip(*([self.left] if self.right is None else [self.left, self.right]), strict=True)

    def select(self, kept: np.ndarray) -> Split:
        """Return a split with only the sentences or pairs at the indices `kept`."""
        right = None if self.right is None else [self.right[number] for number in kept]
        return replace(self, left=[self.left[number] for number in kept], right=right, labels=self.labels[kept])

    def copy(self) -> Split:
        """Return a copy that may be changed. Texts and documents are shared."""
        right, images = self.right, self.images
        return replace(
            self,
            left=list(self.left),
            right=None if right is None else list(right),
            labels=self.labels.copy(),
            images=None if images is None else images.copy(),
        )


@dataclass(frozen=True)
class TaskData:
    """The splits of a task, in the order of its kind; for STS one split per sub-corpus."""

    splits: Mapping[str, Split]
    classes: int = 0
    """Number of classes; 0 if labels are no classes."""
    left_out: tuple[str, ...] = ()
    """Messages with counts of the rows of the files that are no examples."""
    class_names: tuple[str, ...] = ()
    """Class names in a user's own files, in their order; empty for other tasks."""

    def copy(self) -> TaskData:
        """Return a copy that may be changed."""
        return replace(self, splits={name: split.copy() for name, split in self.splits.items()})

    def sentences(self, documents: bool = True) -> list[str]:
        """Return all sentences, with repetitions, with or without the documents of searches."""
        return [
            text
            for split in self.splits.values()
            for side in (split.left, split.right or [], split.documents.texts if documents and split.documents else [])
            for text in side
        ]

    def documents(self) -> list[str]:
        """Return all documents of searches, with repetitions."""
        return [text for split in self.splits.values() if split.documents for text in split.documents.texts]


def sentence(tokens: Sequence[str]) -> str:
    """Return tokens joined by single spaces; an empty sentence becomes "."."""
    return " ".join(tokens) or "."
