"""A space's domains in Optuna's form: the only place where one is turned into the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces.space import Domain
from trainables.fingerprints import identity
from trainables.recipe import Value, keys


def distribution(domain: Domain) -> BaseDistribution:
    """Optuna's form of a domain. Files and folders are known to it by what they hold (`told`), so that a search goes on
    where they were moved."""
    if domain.choices:
        return CategoricalDistribution(_choices(domain))
    assert domain.low is not None
    assert domain.high is not None
    if isinstance(domain.low, int) and isinstance(domain.high, int):
        return IntDistribution(domain.low, domain.high, log=domain.log)
    return FloatDistribution(float(domain.low), float(domain.high), log=domain.log)


def told(domain: Domain, value: Any) -> Any:
    """A value of a domain, as Optuna is told of it."""
    key = keys().get(domain.key)  # a table of another's has other keys
    return identity(value, key.holds) if key is not None and key.place and isinstance(value, str) else value


def _choices(domain: Domain) -> list[Any]:
    return [told(domain, choice) for choice in domain.choices]


def drawn(domains: Iterable[Domain], params: Mapping[str, Any]) -> dict[str, Value]:
    """Optuna's parameters as values of the domains."""
    known = {domain.key: dict(zip(_choices(domain), domain.choices, strict=True)) for domain in domains}
    return {key: known.get(key, {}).get(value, value) for key, value in params.items()}


def suggest(trial: optuna.Trial, domain: Domain) -> Any:
    """What an Optuna trial takes from a domain."""
    match distribution(domain):
        case CategoricalDistribution(choices=choices):
            return domain.choices[choices.index(trial.suggest_categorical(domain.key, choices))]
        case IntDistribution(low=low, high=high, log=log):
            return int(trial.suggest_int(domain.key, low, high, log=log))  # some samplers give numpy's own numbers
        case FloatDistribution(low=low, high=high, log=log):
            return float(trial.suggest_float(domain.key, low, high, log=log))
    raise TypeError(f"{domain.key} has a distribution that Optuna cannot suggest from")


def contains(domain: Domain, value: Any) -> bool:
    """Whether a recipe's value lies in the domain."""
    if domain.choices:
        return told(domain, value) in _choices(domain)
    assert domain.low is not None
    assert domain.high is not None
    return isinstance(value, int | float) and domain.low <= value <= domain.high


def scaled(domain: Domain, value: Any) -> float:
    """A value on its domain's scale: the number of a choice, or from 0 to 1 between low and high; NaN for none."""
    if domain.choices:
        choices, value = _choices(domain), told(domain, value)
        return float(choices.index(value)) if value in choices else math.nan
    if not isinstance(value, int | float):
        return math.nan
    assert domain.low is not None
    assert domain.high is not None
    low, high, here = (math.log(part) if domain.log else part for part in (domain.low, domain.high, value))
    return (here - low) / (high - low)
