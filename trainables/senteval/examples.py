"""What a reader makes of a task's files: examples, in splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        return float(self.labels.min()), float(self.labels.max())

    def copy(self) -> Split:
        """One that may be changed; the texts themselves, which cannot be, are shared."""
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

    def copy(self) -> TaskData:
        """One that may be changed."""
        return replace(self, splits={name: split.copy() for name, split in self.splits.items()})

    def sentences(self) -> list[str]:
        """All sentences, repeated ones too."""
        return [text for split in self.splits.values() for side in (split.left, split.right or []) for text in side]


def sentence(tokens: Sequence[str]) -> str:
    """Tokens joined by single spaces; an empty sentence becomes "."."""
    return " ".join(tokens) or "."
