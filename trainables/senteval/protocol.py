"""The protocols: how classifiers are fitted and chosen, one entry each. A score means nothing without its protocol."""

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
    """The number of folds, the settings of a fit, and the L2 values from which held-out folds choose.

    A protocol has no keys: task, protocol and data identify a score. Other settings are another protocol.
    """

    name: str
    """Name of the protocol. Records identify scores by it, so other settings need another name."""
    folds: int
    """Number of folds; fewer if the largest class has fewer examples."""
    fit: Fit
    decays: tuple[float, ...] = (1e-5, 1e-4, 1e-3, 1e-2)
    """L2 values to choose from; each is a weight decay of the optimiser."""
    meaning: str = ""
    """Description of the protocol's purpose, which `--keys` prints."""


PROTOCOLS = Registry(
    "SentEval protocol",
    Protocol("full", 10, Fit("adam", batch=64, tenacity=5, epoch_size=4), meaning="that of the papers"),
    Protocol("fast", 5, Fit("rmsprop", batch=128, tenacity=3, epoch_size=2), meaning="for prototyping"),
)
"""The values of `evaluation.protocol`."""
