"""The samplers that `--sampler` names: how `--search optuna` chooses the next recipe.

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
    """A registered sampler."""

    name: str
    builder: str | Callable[[int], BaseSampler]
    """A function from a seed to an Optuna sampler, or its name `"module:function"`. The seed is the number of trials in
    Optuna's study, so that a continued study does not repeat its first random draws."""
    meaning: str
    conditional: bool = True
    """Whether the sampler supports domains that apply only under a condition. Otherwise every trial draws all domains,
    and values that do not apply are left out of the recipe."""
    stateless: bool = False
    """Whether the sampler keeps no state between draws except its seed and the trials. Then a new sampler, seeded with
    the recipe's number, draws each recipe, and a study that was killed asks for the same recipes as otherwise."""

    def build(self, seed: int) -> BaseSampler:
        """Return a new Optuna sampler."""
        sampler: BaseSampler = load(self.builder)(seed)
        return sampler

    def drawing(self, number: int, attempt: int = 0) -> BaseSampler | None:
        """Return a new sampler to draw the recipe of that number. `attempt`: how many recipes drawn before for this
        number could not run. None if one sampler draws all recipes."""
        seed = np.random.SeedSequence([number, attempt]).generate_state(1)[0]
        return self.build(int(seed)) if self.stateless else None


DEFAULT_SAMPLER = "tpe"
"""Name of the sampler if neither the request nor the study's journal names one."""

SAMPLERS = Registry(
    "sampler",
    SamplerEntry(
        "tpe",
        "study.search.optuna_samplers:tpe",
        "Optuna's tree-structured Parzen estimator (default)",
        stateless=True,
    ),
    SamplerEntry("random", "optuna.samplers:RandomSampler", "independent draws", stateless=True),
)
