"""The protocols: how classifiers are fitted and chosen, an entry each. A score without its protocol is not a number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trainables.registry import Registry


@dataclass(frozen=True)
class Fit:
    """Settings of one fit: training runs `epoch_size` epochs between two scores on held-out data.

    A fit ends once more than `tenacity` scores, in total and not in a row, have failed to improve, or with the
    first score at which more than `max_epochs` epochs have been run. The best scored weights are kept.
    """

    optimiser: Literal["adam", "rmsprop"]
    batch: int
    tenacity: int
    epoch_size: int
    max_epochs: int = 200


@dataclass(frozen=True)
class Protocol:
    """How many folds there are, how a classifier is fitted, and among which L2 values held-out folds choose.

    It has no keys: a score is known by task, protocol and data. Other settings are another protocol.
    """

    name: str
    """Another name for other settings: scores are known by it."""
    folds: int
    """As many as the largest class has examples, where these are fewer."""
    fit: Fit
    decays: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2)
    """L2 values, given to the optimiser as its weight decay."""
    meaning: str = ""
    """What it is for, as `--keys` prints it."""


PROTOCOLS = Registry(
    "SentEval protocol",
    Protocol("full", 10, Fit("adam", batch=64, tenacity=5, epoch_size=4), meaning="that of the papers"),
    Protocol("fast", 5, Fit("rmsprop", batch=128, tenacity=3, epoch_size=2), meaning="for prototyping"),
)
"""The values of `evaluation.protocol`."""
