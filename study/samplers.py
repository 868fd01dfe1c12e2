"""The samplers that `--sampler` names: how `--search optuna` chooses what it tries next.

A sampler of your own is a function from a seed to one of Optuna's, in a file given by `--plugin`:

    SAMPLERS.add(SamplerEntry("gp", lambda seed: optuna.samplers.GPSampler(seed=seed), "a Gaussian process"))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trainables.registry import Registry, load

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


@dataclass(frozen=True)
class SamplerEntry:
    """A sampler by name."""

    name: str
    builder: Any
    """A function, or `"module:function"`, from a seed to an Optuna sampler. The seed is the number of trials that
    Optuna knows already, so that a continued study does not repeat its first random draws."""
    meaning: str
    several_goals: bool = True
    """Whether it can search for several goals at once."""
    conditional: bool = True
    """Whether it can search domains that are asked for only under a condition."""

    def build(self, seed: int) -> BaseSampler:
        """The Optuna sampler, new."""
        sampler: BaseSampler = load(self.builder)(seed)
        return sampler


SAMPLERS = Registry(
    "sampler",
    SamplerEntry(
        "tpe", "study.journal:tpe", "a tree-structured Parzen estimator, which learns from finished trials (default)"
    ),
    SamplerEntry("random", "study.journal:random", "independent draws"),
)
