"""Points of a search space: the values of the domains that apply, taken from recipes or from Optuna's trials."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from statistics import fmean

from search_spaces.domain_values import contains
from search_spaces.space import Domain
from trainables.recipe import Recipe, Value, deciding_keys, existing_keys


def applying(domains: Sequence[Domain], drawn: Mapping[str, Value], flat: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values of a trial that belong to its recipe: without domains whose condition does not hold, and
    without keys that the recipe does not have. `drawn`: the trial's values; `flat`: the base recipe."""
    chosen = dict(drawn)
    for domain in in_order(domains):  # a domain that does not apply decides about no other
        recipe = {**flat, **chosen}
        if not domain.is_asked(recipe):
            chosen.pop(domain.key, None)
    return chosen


def in_order(domains: Sequence[Domain]) -> tuple[Domain, ...]:
    """Return the domains, each after the domains that decide whether it applies."""
    left, ordered = list(domains), list[Domain]()
    while left:
        waiting = {domain.key for domain in left}
        following = next((domain for domain in left if not (domain.decided_by - {domain.key}) & waiting), left[0])
        left.remove(following)
        ordered.append(following)
    return tuple(ordered)


def grid(domains: Sequence[Domain], flat: Mapping[str, Value]) -> list[dict[str, Value]]:
    """Return every combination of the domains' grid values, each once, in order. A key with a condition is included
    only if the condition holds. `flat`: the base recipe."""
    points: dict[tuple[tuple[str, Value], ...], None] = {}
    for values in itertools.product(*(domain.grid_values for domain in domains)):
        drawn = {domain.key: value for domain, value in zip(domains, values, strict=True)}
        points[tuple(applying(domains, drawn, flat).items())] = None
    return [dict(chosen) for chosen in points]


def reachable(key: str, base: Mapping[str, Value], domains: Sequence[Domain]) -> bool:
    """Whether a search over the domains from the flat recipe `base` may make a recipe that has this key."""
    deciders = [
        dataclasses.replace(domain, choices=_ends(domain), low=None, high=None, log=False, when=None)
        for domain in domains
        if domain.key in deciding_keys(key)
    ]
    return any(key in existing_keys({**base, **chosen}) for chosen in grid(deciders, base))


def _ends(domain: Domain) -> tuple[Value, ...]:
    return domain.grid_values or tuple(end for end in (domain.low, domain.high) if end is not None)


def point(recipe: Recipe, base: Recipe, domains: Sequence[Domain]) -> dict[str, Value] | None:
    """Return a recipe as the values of the domains that apply; None if a search from this base cannot make it."""
    chosen, flat = dict[str, Value](), recipe.flat()
    values = {**base.flat(), **{domain.key: flat[domain.key] for domain in domains if domain.key in flat}}
    for domain in domains:
        if domain.is_asked(values):
            if domain.key not in flat or not contains(domain, flat[domain.key]):
                return None
            chosen[domain.key] = flat[domain.key]
    return chosen if base.override(chosen) == recipe else None


def means(values: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean over seeds of each goal's values; `values` has one row per seed and one column per goal."""
    return [fmean(each) for each in zip(*values, strict=True)]
