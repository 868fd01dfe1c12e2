"""A space's domains in Optuna's form: the only place where one is turned into the other."""

from __future__ import annotations

import math
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces.space import Domain


def distribution(domain: Domain) -> BaseDistribution:
    """Optuna's form of a domain."""
    if domain.choices:
        return CategoricalDistribution(domain.choices)
    assert domain.low is not None
    assert domain.high is not None
    if isinstance(domain.low, int) and isinstance(domain.high, int):
        return IntDistribution(domain.low, domain.high, log=domain.log)
    return FloatDistribution(float(domain.low), float(domain.high), log=domain.log)


def suggest(trial: optuna.Trial, domain: Domain) -> Any:
    """What an Optuna trial takes from a domain."""
    match distribution(domain):
        case CategoricalDistribution(choices=choices):
            return trial.suggest_categorical(domain.key, choices)
        case IntDistribution(low=low, high=high, log=log):
            return int(trial.suggest_int(domain.key, low, high, log=log))  # some samplers give numpy's own numbers
        case FloatDistribution(low=low, high=high, log=log):
            return float(trial.suggest_float(domain.key, low, high, log=log))
    raise TypeError(f"{domain.key} has a distribution that Optuna cannot suggest from")


def contains(domain: Domain, value: Any) -> bool:
    """Whether a recipe's value lies in the domain."""
    if domain.choices:
        return value in domain.choices
    assert domain.low is not None
    assert domain.high is not None
    return isinstance(value, int | float) and domain.low <= value <= domain.high


def scaled(domain: Domain, value: Any) -> float:
    """A value on its domain's scale: the number of a choice, or from 0 to 1 between low and high; NaN for none."""
    if domain.choices:
        return float(domain.choices.index(value)) if value in domain.choices else math.nan
    if not isinstance(value, int | float):
        return math.nan
    assert domain.low is not None
    assert domain.high is not None
    low, high, here = (math.log(part) if domain.log else part for part in (domain.low, domain.high, value))
    return (here - low) / (high - low)
