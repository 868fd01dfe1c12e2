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
    """Class names in the order of their numbers; empty where the layout writes numbers or the data decides."""
    groups: tuple[str, ...] = ()
    """Names, beside its own and `all`, under which it is asked for together with others."""
    metric: str = ""
    """The number that stands for the task in an average, unless a paper says otherwise; empty takes its kind's."""
    chance: float | None = None
    f1: bool = False
    """Whether `test_f1`, the F1 of the second of two classes, is reported, too."""
    both_embeddings: bool = False
    """Whether a pair's classifier sees the two embeddings beside their difference and product."""
    epoch_size: int | None = None
    """Epochs between two scores of a fit; None leaves it to the protocol, as with the two that follow."""
    max_epochs: int | None = None
    decays: tuple[float, ...] | None = None
    """L2 values to choose from."""
    parts: tuple[str, ...] = ()
    """The splits that it has, in the order of its kind's; empty: all that its kind needs."""
    scale: tuple[float, float] | None = None
    """Of relatedness: the scores that stand for the first and the last bin of its regressor; None takes the lowest and
    the highest of the training part."""
