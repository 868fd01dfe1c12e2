"""The fields of a task, which its kind reads; `tasks.py` checks that they fit together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TaskFields:
    """The fields of a `Task`.

    `files` are relative to the data folder or absolute, in the order that the layout's reader expects.
    `sizes` are the published numbers of examples, in the order (scored), (train, test) or (train, dev, test).
    `chance` is the accuracy of the most frequent class in percent where the published data gives it, else None.
    """

    name: str
    kind: str
    layout: str
    files: tuple[str, ...]
    sizes: tuple[int, ...] = ()
    labels: tuple[str, ...] = ()
    """Class names in the order of their numbers; empty if the layout writes numbers or the data decides."""
    groups: tuple[str, ...] = ()
    """Groups of tasks to which the task belongs, in addition to `all`."""
    metric: str = ""
    """Name of the score that represents the task in averages, unless a paper sets another; empty: that of its kind."""
    chance: float | None = None
    f1: bool = False
    """Whether `test_f1`, the F1 of the second of two classes, is reported, too."""
    both_embeddings: bool = False
    """Whether the features of a pair contain the two embeddings beside their difference and product."""
    epoch_size: int | None = None
    """Epochs between two scores of a fit. None: the protocol's number; the same holds for `max_epochs` and `decays`."""
    max_epochs: int | None = None
    decays: tuple[float, ...] | None = None
    """L2 values from which held-out examples choose."""
    parts: tuple[str, ...] = ()
    """The splits that the task has, in the order of its kind; empty: all that its kind needs."""
    scale: tuple[float, float] | None = None
    """For relatedness: the scores of the first and the last bin of the regressor; None: the lowest and the highest of
    the train split."""
