"""Optuna's samplers as our studies need them; `study.search.samplers` names them. Each takes a seed."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import optuna
from optuna.samplers import BaseSampler, CmaEsSampler, NSGAIISampler, TPESampler

POPULATION = 16
"""Finished trials of a generation. Optuna's 50 would be random search in most studies."""


def tpe(seed: int) -> BaseSampler:
    """`group`: domains may be conditional; `constant_liar`: several trials run at once."""
    return _quietly(lambda: TPESampler(seed=seed, multivariate=True, group=True, constant_liar=True))


def random(seed: int) -> BaseSampler:
    """Each draw by itself."""
    return optuna.samplers.RandomSampler(seed=seed)


def nsga2(seed: int) -> BaseSampler:
    """It learns from nothing but finished trials."""
    return NSGAIISampler(seed=seed, population_size=POPULATION)


def cmaes(seed: int) -> BaseSampler:
    """A stopped trial counts with its score at its last rung; `with_margin`: whole numbers do not get stuck."""
    return _quietly(
        lambda: CmaEsSampler(seed=seed, with_margin=True, consider_pruned_trials=True, warn_independent_sampling=False)
    )


def _quietly(make: Callable[[], BaseSampler]) -> BaseSampler:
    """Optuna warns of each part of its own that it may still change; its version is fixed here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return make()
