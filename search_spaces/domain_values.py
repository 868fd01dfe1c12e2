"""Functions on values of a domain: whether a value is in the domain, where it is in the domain's range, and a form of
the value that does not depend on paths."""

from __future__ import annotations

import math
from typing import Any

from search_spaces.space import Domain
from trainables.fingerprints import identity
from trainables.recipe import keys


def portable(domain: Domain, value: Any) -> Any:
    """Return the value. A file or folder is replaced by an identity of its content, which stays the same if the file or
    folder is moved."""
    key = keys().get(domain.key)  # a table of another project has other keys
    return identity(value, key.subfolder) if key is not None and key.is_path and isinstance(value, str) else value


def portable_choices(domain: Domain) -> list[Any]:
    """Return the domain's choices, each in the form that `portable` returns."""
    return [portable(domain, choice) for choice in domain.choices]


def contains(domain: Domain, value: Any) -> bool:
    """Return whether a recipe's value is in the domain."""
    if domain.choices:
        return portable(domain, value) in portable_choices(domain)
    assert domain.low is not None
    assert domain.high is not None
    whole = isinstance(domain.low, int) and isinstance(domain.high, int)
    return isinstance(value, int if whole else int | float) and domain.low <= value <= domain.high


def inside(domain: Domain, value: Any) -> Any:
    """Return the value if it is in the domain, otherwise a fixed value of the domain."""
    return value if contains(domain, value) else (*domain.grid_values, domain.low)[0]


def scaled(domain: Domain, value: Any) -> float:
    """Return the value as a number: the index of a choice, or the position in a range, 0 at its low end and 1 at its
    high end. NaN for a value that is no choice, or no number."""
    if domain.choices:
        choices, value = portable_choices(domain), portable(domain, value)
        return float(choices.index(value)) if value in choices else math.nan
    if not isinstance(value, int | float):
        return math.nan
    assert domain.low is not None
    assert domain.high is not None
    low, high, position = (math.log(part) if domain.log else part for part in (domain.low, domain.high, value))
    return (position - low) / (high - low)
