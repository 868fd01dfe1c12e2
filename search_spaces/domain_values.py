"""Values of a domain: whether one lies in it, where on its scale, and what it is called wherever its files lie."""

from __future__ import annotations

import math
from typing import Any

from search_spaces.space import Domain
from trainables.fingerprints import identity
from trainables.recipe import keys


def portable(domain: Domain, value: Any) -> Any:
    """The value; a file or folder by what it holds, so that it stays the same where it was moved."""
    key = keys().get(domain.key)  # a table of another's has other keys
    return identity(value, key.holds) if key is not None and key.place and isinstance(value, str) else value


def portable_choices(domain: Domain) -> list[Any]:
    """The choices, each as `portable` has it."""
    return [portable(domain, choice) for choice in domain.choices]


def contains(domain: Domain, value: Any) -> bool:
    """Whether a recipe's value lies in the domain."""
    if domain.choices:
        return portable(domain, value) in portable_choices(domain)
    assert domain.low is not None
    assert domain.high is not None
    whole = isinstance(domain.low, int) and isinstance(domain.high, int)
    return isinstance(value, int if whole else int | float) and domain.low <= value <= domain.high


def inside(domain: Domain, value: Any) -> Any:
    """The value, or one of the domain where it is outside."""
    return value if contains(domain, value) else (*domain.grid_values, domain.low)[0]


def scaled(domain: Domain, value: Any) -> float:
    """A value on its domain's scale: the number of a choice, or from 0 to 1 between low and high; NaN for none."""
    if domain.choices:
        choices, value = portable_choices(domain), portable(domain, value)
        return float(choices.index(value)) if value in choices else math.nan
    if not isinstance(value, int | float):
        return math.nan
    assert domain.low is not None
    assert domain.high is not None
    low, high, place = (math.log(part) if domain.log else part for part in (domain.low, domain.high, value))
    return (place - low) / (high - low)
