"""Conversion between the domains of a space and Optuna's distributions; no other module converts them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces.domain_values import inside, portable, portable_choices
from search_spaces.space import Domain
from trainables.recipe import Value, keys


def distribution(domain: Domain) -> CategoricalDistribution | IntDistribution | FloatDistribution:
    """Return Optuna's distribution of a domain. Files and folders are represented by their contents (`portable`), so
    that a search can go on after they were moved."""
    if domain.choices:
        return CategoricalDistribution(portable_choices(domain))
    assert domain.low is not None
    assert domain.high is not None
    if isinstance(domain.low, int) and isinstance(domain.high, int):
        return IntDistribution(domain.low, domain.high, log=domain.log)
    return FloatDistribution(float(domain.low), float(domain.high), log=domain.log)


def drawn(domains: Iterable[Domain], params: Mapping[str, Any]) -> dict[str, Value]:
    """Return Optuna's parameters as values of the domains."""
    originals = {domain.key: dict(zip(portable_choices(domain), domain.choices, strict=True)) for domain in domains}
    return {key: originals.get(key, {}).get(value, value) for key, value in params.items()}


def parameters(
    domains: Sequence[Domain], chosen: Mapping[str, Value], flat: Mapping[str, Value], conditional: bool
) -> dict[str, Any]:
    """Return Optuna's parameters of a recipe that Optuna has not proposed. `chosen`: values of the domains that apply.
    If the sampler draws all domains (not `conditional`), the others get a value near that of the flat base recipe."""
    values = {**{domain.key: keys()[domain.key].default for domain in domains}, **flat, **chosen}
    return {
        domain.key: portable(domain, chosen.get(domain.key, inside(domain, values[domain.key])))
        for domain in domains
        if domain.key in chosen or not conditional
    }


def suggest(trial: optuna.Trial, domain: Domain) -> Any:
    """Return the value that an Optuna trial draws from a domain."""
    match distribution(domain):
        case CategoricalDistribution(choices=choices):
            return domain.choices[choices.index(trial.suggest_categorical(domain.key, choices))]
        case IntDistribution(low=low, high=high, log=log):
            return int(trial.suggest_int(domain.key, low, high, log=log))  # some samplers return NumPy scalars
        case FloatDistribution(low=low, high=high, log=log):
            return float(trial.suggest_float(domain.key, low, high, log=log))
