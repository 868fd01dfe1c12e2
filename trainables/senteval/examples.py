"""What a reader makes of a task's files: examples, in splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from trainables.errors import UserError

Target = Literal["classes", "scores", "images", "documents"]
"""What an example is labelled with: a class, a number (its sentences are then a pair), the image of a caption, or the
documents that are relevant to a query."""

MOST_LINES, MOST_LETTERS = 10_000_000, 2_000_000_000
"""Of one file of a person's own task, which is held as a whole: MS MARCO's passages fit."""


class FileLimit:
    """Counts what is held of a file; `UserError` beyond what is sound, before the memory is full."""

    def __init__(self, path: Path) -> None:
        self.path, self.lines, self.letters = path, 0, 0

    def add(self, letters: int) -> None:
        """One line more."""
        self.lines, self.letters = self.lines + 1, self.letters + letters
        if self.lines > MOST_LINES or self.letters > MOST_LETTERS:
            raise UserError(
                f"{self.path}, line {self.lines:,}: a dev or test file may have {MOST_LINES:,} lines and "
                f"{MOST_LETTERS:,} letters, as it is held in memory; give a part of it"
            )


@dataclass(frozen=True)
class JudgedDocuments:
    """Texts that queries are held against, and what was judged of them."""

    texts: list[str]
    """In the order in which those come that lie equally near to a query."""
    judged: Sequence[Mapping[int, int]]
    """Of each query: the number of a document, and how relevant it is; 0 and below is not."""
    own: np.ndarray  # (queries,) int64: the number of the document that is the query itself, which is not found; or -1

    @property
    def relevant(self) -> np.ndarray:
        """(queries,) How many documents are relevant to each."""
        return np.array([sum(grade > 0 for grade in judged.values()) for judged in self.judged], dtype=np.int64)


@dataclass(frozen=True)
class Split:
    """Examples in a reader's order. `right` is None where an example is a single sentence, or a query."""

    left: list[str]
    right: list[str] | None
    labels: np.ndarray  # (examples,) int64 classes or float64 scores; for captions the image of each
    images: np.ndarray | None = None  # (images, 2048) float32, captions only
    documents: JudgedDocuments | None = None
    """Of queries, whose labels say how many documents are relevant to each."""

    def __len__(self) -> int:
        return len(self.left)

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        return float(self.labels.min()), float(self.labels.max())

    def items(self) -> Iterator[tuple[str, ...]]:
        """The texts of each example: one sentence, or two, or a query."""
        return zip(*([self.left] if self.right is None else [self.left, self.right]), strict=True)

    def only(self, kept: np.ndarray) -> Split:
        """Of sentences or pairs those of these numbers."""
        right = None if self.right is None else [self.right[number] for number in kept]
        return replace(self, left=[self.left[number] for number in kept], right=right, labels=self.labels[kept])

    def copy(self) -> Split:
        """One that may be changed; the texts themselves, which cannot be, are shared, and so are documents."""
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
    """The splits of a task, in the order that its kind asks for; for STS one for each sub-corpus."""

    splits: Mapping[str, Split]
    classes: int = 0
    """How many classes there are; 0 where examples are labelled with something else."""
    left_out: tuple[str, ...] = ()
    """What of the files is no example, a sentence each, with how many."""
    class_names: tuple[str, ...] = ()
    """As a person's own files name the classes, in their order; empty for others."""

    def copy(self) -> TaskData:
        """One that may be changed."""
        return replace(self, splits={name: split.copy() for name, split in self.splits.items()})

    def sentences(self, documents: bool = True) -> list[str]:
        """All sentences, repeated ones too; with the documents that queries are held against, or without."""
        return [
            text
            for split in self.splits.values()
            for side in (split.left, split.right or [], split.documents.texts if documents and split.documents else [])
            for text in side
        ]

    def documents(self) -> list[str]:
        """All texts that queries are held against, repeated ones too."""
        return [text for split in self.splits.values() if split.documents for text in split.documents.texts]


def sentence(tokens: Sequence[str]) -> str:
    """Tokens joined by single spaces; an empty sentence becomes "."."""
    return " ".join(tokens) or "."
