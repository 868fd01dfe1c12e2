"""The samplers that `--sampler` names: how `--search optuna` chooses what it tries next.

A sampler of your own is a function from a seed to one of Optuna's, in a file given by `--plugin`:

    SAMPLERS.add(SamplerEntry("evenly", lambda seed: optuna.samplers.QMCSampler(seed=seed), "points that lie evenly"))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np

from search_spaces.space import Space
from trainables.errors import UserError
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
    several_goals: bool = True
    """Whether it can search for several goals at once."""
    conditional: bool = True
    """Whether it understands domains that are asked for only under a condition. Where it does not, it is asked for all
    domains in every trial, and what does not apply is left out of the recipe."""
    choices: bool = True
    """Whether it understands domains that are choices, and a single domain; else it needs two ranges of numbers."""
    needs_finished: bool = False
    """Whether it learns from finished trials only: those that are stopped early teach it nothing."""
    limits: bool = True
    """Whether it learns from trials that break a limit, and asks for fewer of them."""
    forgetful: bool = False
    """Whether it knows nothing between two draws but its seed and the trials: then each recipe is drawn by a new one
    with a seed of the recipe's number, and a study that was killed asks for what it would have asked for."""
    package: str = ""
    """A Python package that it needs beyond those that are always there."""

    def build(self, seed: int) -> BaseSampler:
        """The Optuna sampler, new."""
        sampler: BaseSampler = load(self.builder)(seed)
        return sampler

    def drawing(self, number: int, attempt: int = 0) -> BaseSampler | None:
        """The one that draws the recipe of that number, after so many that cannot run; None where one sampler draws
        all."""
        seed = np.random.SeedSequence([number, attempt]).generate_state(1)[0]
        return self.build(int(seed)) if self.forgetful else None

    def check(self, space: Space) -> None:
        """`UserError` where it makes no sense in that space, or lacks its package."""
        if self.package and find_spec(self.package) is None:
            raise UserError(f"--sampler {self.name} needs the package {self.package}; pip install {self.package}")
        if len(space.goals) > 1 and not self.several_goals:
            raise UserError(f"--sampler {self.name} searches for one goal, and {space.name!r} has several")
        listed = [domain.key for domain in space.domains if domain.choices]
        if listed and not self.choices:
            raise UserError(
                f"--sampler {self.name} searches ranges of numbers, and {space.name!r} has choices; give each a value "
                f"with --set ({', '.join(listed)}), or take another sampler"
            )
        if len(space.domains) < 2 and not self.choices:
            raise UserError(f"--sampler {self.name} needs two domains at least, and {space.name!r} has one")


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
    SamplerEntry("random", "study.search.optuna_samplers:random", "independent draws", limits=False, forgetful=True),
    SamplerEntry(
        "nsga2",
        "study.search.optuna_samplers:nsga2",
        "evolution by non-dominated sorting, in generations of 16 finished trials",
        conditional=False,
        needs_finished=True,
        forgetful=True,
    ),
    SamplerEntry(
        "cmaes",
        "study.search.optuna_samplers:cmaes",
        "evolution of a normal distribution (CMA-ES), for one goal and ranges of numbers",
        several_goals=False,
        conditional=False,
        choices=False,
        limits=False,
        forgetful=True,
        package="cmaes",
    ),
)
