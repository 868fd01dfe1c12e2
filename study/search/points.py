"""Points of a search space: the values of the domains that apply, as recipes and as Optuna's trials have them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from statistics import fmean

from search_spaces.domain_values import contains
from search_spaces.space import Domain
from trainables.recipe import Recipe, Value, deciding, existing


def applying(domains: Sequence[Domain], drawn: Mapping[str, Value], flat: Mapping[str, Value]) -> dict[str, Value]:
    """What of the values that a trial drew is part of its recipe: all but domains whose condition does not hold, and
    keys that the recipe has not. `flat` is the base recipe."""
    chosen = dict(drawn)
    for domain in in_order(domains):  # one that does not apply decides nothing
        recipe = {**flat, **chosen}
        if not domain.is_asked(recipe):
            chosen.pop(domain.key, None)
    return chosen


def in_order(domains: Sequence[Domain]) -> tuple[Domain, ...]:
    """The domains, each after those that decide whether it is asked for."""
    left, ordered = list(domains), list[Domain]()
    while left:
        waiting = {domain.key for domain in left}
        following = next((domain for domain in left if not (domain.decided_by - {domain.key}) & waiting), left[0])
        left.remove(following)
        ordered.append(following)
    return tuple(ordered)


def grid(domains: Sequence[Domain], flat: Mapping[str, Value]) -> list[dict[str, Value]]:
    """Every combination of the domains' grid values, each once, in their order; a conditional key only where its
    condition holds. `flat` is the base recipe."""
    points: dict[tuple[tuple[str, Value], ...], None] = {}
    for values in itertools.product(*(domain.grid_values for domain in domains)):
        drawn = {domain.key: value for domain, value in zip(domains, values, strict=True)}
        points[tuple(applying(domains, drawn, flat).items())] = None
    return [dict(chosen) for chosen in points]


def reachable(key: str, base: Mapping[str, Value], domains: Sequence[Domain]) -> bool:
    """Whether a search over the domains may make a recipe of the flat base that has this key."""
    deciders = [
        dataclasses.replace(domain, choices=_ends(domain), low=None, high=None, log=False, when=None)
        for domain in domains
        if domain.key in deciding(key)
    ]
    return any(key in existing({**base, **chosen}) for chosen in grid(deciders, base))


def _ends(domain: Domain) -> tuple[Value, ...]:
    return domain.grid_values or tuple(end for end in (domain.low, domain.high) if end is not None)


def point(recipe: Recipe, base: Recipe, domains: Sequence[Domain]) -> dict[str, Value] | None:
    """A recipe as the values of the domains that apply; None where a search over them from this base cannot make it."""
    chosen, flat = dict[str, Value](), recipe.flat()
    values = {**base.flat(), **{domain.key: flat[domain.key] for domain in domains if domain.key in flat}}
    for domain in domains:
        if domain.is_asked(values):
            if domain.key not in flat or not contains(domain, flat[domain.key]):
                return None
            chosen[domain.key] = flat[domain.key]
    return chosen if base.override(chosen) == recipe else None


def means(values: Sequence[Sequence[float]]) -> list[float]:
    """The mean over seeds of every goal."""
    return [fmean(each) for each in zip(*values, strict=True)]
