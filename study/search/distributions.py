"""A space's domains in Optuna's form: the only place where one is turned into the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from search_spaces.domain_values import inside, portable, portable_choices
from search_spaces.space import Domain
from trainables.recipe import Value, keys


def distribution(domain: Domain) -> CategoricalDistribution | IntDistribution | FloatDistribution:
    """Optuna's form of a domain. Files and folders are known to it by what they hold (`portable`), so that a search
    goes on where they were moved."""
    if domain.choices:
        return CategoricalDistribution(portable_choices(domain))
    assert domain.low is not None
    assert domain.high is not None
    if isinstance(domain.low, int) and isinstance(domain.high, int):
        return IntDistribution(domain.low, domain.high, log=domain.log)
    return FloatDistribution(float(domain.low), float(domain.high), log=domain.log)


def drawn(domains: Iterable[Domain], params: Mapping[str, Any]) -> dict[str, Value]:
    """Optuna's parameters as values of the domains."""
    originals = {domain.key: dict(zip(portable_choices(domain), domain.choices, strict=True)) for domain in domains}
    return {key: originals.get(key, {}).get(value, value) for key, value in params.items()}


def parameters(
    domains: Sequence[Domain], chosen: Mapping[str, Value], flat: Mapping[str, Value], conditional: bool
) -> dict[str, Any]:
    """Optuna's parameters of a recipe that it has not asked for: `chosen` where domains apply, and else, where every
    one is asked for (not `conditional`), a value near that of the flat base recipe."""
    values = {**{domain.key: keys()[domain.key].default for domain in domains}, **flat, **chosen}
    return {
        domain.key: portable(domain, chosen.get(domain.key, inside(domain, values[domain.key])))
        for domain in domains
        if domain.key in chosen or not conditional
    }


def suggest(trial: optuna.Trial, domain: Domain) -> Any:
    """What an Optuna trial takes from a domain."""
    match distribution(domain):
        case CategoricalDistribution(choices=choices):
            return domain.choices[choices.index(trial.suggest_categorical(domain.key, choices))]
        case IntDistribution(low=low, high=high, log=log):
            return int(trial.suggest_int(domain.key, low, high, log=log))  # some samplers give numpy's own numbers
        case FloatDistribution(low=low, high=high, log=log):
            return float(trial.suggest_float(domain.key, low, high, log=log))
