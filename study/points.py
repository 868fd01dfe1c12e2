"""Points of a search space: the values of the domains that apply, as recipes and as Optuna's trials have them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from reports.distributions import contains
from search_spaces.space import Domain
from trainables.idle import deciding
from trainables.recipe import Recipe, Value


def applying(
    domains: Iterable[Domain], drawn: Mapping[str, Value], flat: Mapping[str, Value], *, idle: bool = False
) -> dict[str, Value]:
    """What of the values that a trial drew is part of its recipe: all but domains whose condition does not hold, and,
    unless `idle` is asked for, keys that nothing in the recipe reads. `flat` is the base recipe."""
    chosen = dict(drawn)
    for domain in domains:
        recipe = {**flat, **chosen}
        if not (domain.holds(recipe) if idle else domain.is_asked(recipe)):
            chosen.pop(domain.key, None)
    return chosen


def in_order(domains: Sequence[Domain]) -> tuple[Domain, ...]:
    """The domains, each after those that decide whether it is asked for."""
    left, found = list(domains), list[Domain]()
    while left:
        waiting = {domain.key for domain in left}
        following = next((domain for domain in left if not (_deciding(domain) - {domain.key}) & waiting), left[0])
        left.remove(following)
        found.append(following)
    return tuple(found)


def _deciding(domain: Domain) -> frozenset[str]:
    return deciding(domain.key) | ({domain.when[0]} if domain.when else set())


def grid(domains: Sequence[Domain], flat: Mapping[str, Value]) -> list[dict[str, Value]]:
    """Every combination of the domains' grid values, each once, in their order; a conditional key only where its
    condition holds. `flat` is the base recipe."""
    found: dict[tuple[tuple[str, Value], ...], None] = {}
    for values in itertools.product(*(domain.grid_values for domain in domains)):
        drawn = {domain.key: value for domain, value in zip(domains, values, strict=True)}
        found[tuple(applying(domains, drawn, flat).items())] = None
    return [dict(chosen) for chosen in found]


def point(recipe: Mapping[str, Value], base: Recipe, domains: Sequence[Domain]) -> dict[str, Value] | None:
    """A flat recipe as the values of the domains that apply; None where one lies outside its domain."""
    chosen = dict[str, Value]()
    there = {**base.flat(), **{domain.key: recipe[domain.key] for domain in domains}}
    for domain in domains:
        if domain.is_asked(there):
            if not contains(domain, recipe[domain.key]):
                return None
            chosen[domain.key] = recipe[domain.key]
    return chosen


def inside(domain: Domain, value: Value) -> Value:
    """The value, or one of the domain where it is outside."""
    return value if contains(domain, value) else (*domain.grid_values, domain.low)[0]


def means(values: Sequence[Sequence[float]]) -> list[float]:
    """The mean over seeds of every goal."""
    return [sum(each) / len(each) for each in zip(*values, strict=True)]
