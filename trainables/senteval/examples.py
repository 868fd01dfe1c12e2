"""What a reader makes of a task's files: examples, in splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Split:
    """Examples in a reader's order. `right` is None where an example is a single sentence."""

    left: list[str]
    right: list[str] | None
    labels: np.ndarray  # (examples,) int64 classes or float64 scores; for captions the image of each
    images: np.ndarray | None = None  # (images, 2048) float32, captions only

    def __len__(self) -> int:
        return len(self.left)


@dataclass(frozen=True)
class TaskData:
    """The splits of a task, in the order that its kind asks for; for STS one for each sub-corpus."""

    splits: Mapping[str, Split]
    classes: int = 0
    """How many classes there are; 0 where examples are labelled with something else."""

    def sentences(self) -> list[str]:
        """All sentences, repeated ones too."""
        return [text for split in self.splits.values() for side in (split.left, split.right or []) for text in side]


def sentence(tokens: Sequence[str]) -> str:
    """Tokens joined by single spaces; an empty sentence becomes "."."""
    return " ".join(tokens) or "."
