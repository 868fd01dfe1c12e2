"""The samplers that `--sampler` names: how `--search optuna` chooses what it tries next.

A sampler of your own is a function from a seed to one of Optuna's, in a file given by `--plugin`:

    SAMPLERS.add(SamplerEntry("evenly", lambda seed: optuna.samplers.QMCSampler(seed=seed), "points that lie evenly"))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from trainables.registry import Registry, load

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


@dataclass(frozen=True)
class SamplerEntry:
    """A sampler by name."""

    name: str
    builder: str | Callable[[int], BaseSampler]
    """A function, or `"module:function"`, from a seed to an Optuna sampler. The seed is the number of trials that
    Optuna knows already, so that a continued study does not repeat its first random draws."""
    meaning: str
    conditional: bool = True
    """Whether it understands domains that are asked for only under a condition. Where it does not, it is asked for all
    domains in every trial, and what does not apply is left out of the recipe."""
    forgetful: bool = False
    """Whether it knows nothing between two draws but its seed and the trials: then each recipe is drawn by a new one
    with a seed of the recipe's number, and a study that was killed asks for what it would have asked for."""

    def build(self, seed: int) -> BaseSampler:
        """The Optuna sampler, new."""
        sampler: BaseSampler = load(self.builder)(seed)
        return sampler

    def drawing(self, number: int, attempt: int = 0) -> BaseSampler | None:
        """The one that draws the recipe of that number, after so many that cannot run; None where one sampler draws
        all."""
        seed = np.random.SeedSequence([number, attempt]).generate_state(1)[0]
        return self.build(int(seed)) if self.forgetful else None


DEFAULT_SAMPLER = "tpe"
"""What chooses where nobody names a sampler, and a study's journal does not either."""

SAMPLERS = Registry(
    "sampler",
    SamplerEntry(
        "tpe",
        "study.search.optuna_samplers:tpe",
        "Optuna's tree-structured Parzen estimator (default)",
        forgetful=True,
    ),
    SamplerEntry("random", "optuna.samplers:RandomSampler", "independent draws", forgetful=True),
)
