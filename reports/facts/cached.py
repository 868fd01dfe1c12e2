"""A decorator that computes a value once per object and stores it in the object."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

Item = TypeVar("Item")
Further = ParamSpec("Further")
Made = TypeVar("Made")


def cached(make: Callable[Concatenate[Item, Further], Made]) -> Callable[Concatenate[Item, Further], Made]:
    """Decorate a method, or a function of an object, to compute once per object and (hashable) further arguments."""

    @functools.wraps(make)
    def lookup(item: Item, /, *further: Further.args, **named: Further.kwargs) -> Made:
        values: dict[Any, Made] = vars(item).setdefault("_cached", {})
        key = make, further, tuple(named.items())
        if key not in values:
            values[key] = make(item, *further, **named)
        return values[key]

    return lookup
