"""What a recipe says of each of its keys, how a value is read from text, and how it is checked.

    temperature: float = key(1.0, "tau, which divides every similarity.", above(0.0), alias="tau")

`describe(Recipe)` gives every flat key (`objective.temperature`) with its type, default and the rest. The lists that
other parts need (which keys are paths, which may differ in a population, what a table calls them) are read from here.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from trainables.errors import UserError, choices, meant, shown
from trainables.registry import Registry, load

Value = Union[str, int, float, bool, None, tuple[str, ...]]
Check = Callable[[Any], "str | None"]
"""A value to what is wrong with it, or None."""


@dataclass(frozen=True)
class Key:
    """One key of a recipe. `name` is the flat key; the rest is said where the field is defined, by `key`."""

    name: str
    type: Any
    default: Value
    meaning: str
    check: Check | None
    label: str
    """What tables and axes call it."""
    alias: str | None
    """Another name on the command line, as the papers write it."""
    place: bool
    """Whether it names a file, a folder or a hub id."""
    since: int
    """The version of the recipe that brought it: 0 is the first. A later key enters a recipe's hash only where it
    differs from its default, so that recipes, and with them finished trials, from before keep their hash."""
    together: bool
    """Whether trials that differ in it can train together in a population."""
    measures: bool
    """Whether it decides what is measured, not only where data lies or how it is computed."""
    exact: bool
    """Whether blanks at the ends of its text count."""
    registry: str | None
    """Where the names are registered that it can have, as `"module:REGISTRY"`."""

    @property
    def names(self) -> Registry[Any] | None:
        """The registry of its names, if it has one."""
        found: Registry[Any] | None = load(self.registry) if self.registry else None
        return found

    @functools.cached_property
    def options(self) -> tuple[Any, ...]:
        """The types that a value may have."""
        return get_args(self.type) if get_origin(self.type) in (Union, types.UnionType) else (self.type,)

    @functools.cached_property
    def literals(self) -> tuple[Any, ...]:
        """The values that its type names."""
        return tuple(value for kind in self.options if get_origin(kind) is Literal for value in get_args(kind))

    @property
    def kind(self) -> str:
        """Its type in words: `a number or none`, or the names to choose from."""
        names = self.names
        return choices(map(repr, names)) if names is not None else _describe(self)


def key(
    default: Any,
    meaning: str,
    check: Check | None = None,
    *,
    label: str | None = None,
    alias: str | None = None,
    place: bool = False,
    since: int = 0,
    together: bool = False,
    measures: bool = True,
    exact: bool = False,
    registry: str | None = None,
) -> Any:
    """A field of a recipe's section; see `Key`. `check` is asked of every value but None and names of its own."""
    return field(
        default=default,
        metadata={
            "meaning": meaning,
            "check": check,
            "label": label,
            "alias": alias,
            "place": place,
            "since": since,
            "together": together,
            "measures": measures,
            "exact": exact,
            "registry": registry,
        },
    )


def at_least(low: float) -> Check:
    return lambda value: None if value >= low else f"must be at least {low:g}"


def above(low: float) -> Check:
    return lambda value: None if value > low else f"must be above {low:g}"


def between(low: float, high: float) -> Check:
    return lambda value: None if low <= value <= high else f"must lie between {low:g} and {high:g}"


@functools.cache
def describe(recipe: type) -> Mapping[str, Key]:
    """Every flat key of a dataclass of sections, in the order of their definition."""
    found = {}
    for section, config in get_type_hints(recipe).items():
        hints = get_type_hints(config)
        for item in dataclasses.fields(config):
            said = dict(item.metadata)
            said["label"] = said["label"] or item.name.replace("_", " ")
            name = f"{section}.{item.name}"
            default: Any = item.default
            found[name] = Key(name, hints[item.name], default, **said)
    return found


def find(recipe: type, name: str) -> Key:
    """The key of that flat name or alias; `UserError` with the nearest if there is none."""
    known = describe(recipe)
    if name in known:
        return known[name]
    for item in known.values():
        if item.alias == name:
            return item
    hint = meant(name, known).rstrip() or "`--keys` prints them all"
    raise UserError(f"{shown(name)} is not a key of a recipe; {hint}")


def parse(item: Key, raw: str) -> Value:
    """A value from text: `none` is None, lists of names split at commas."""
    if raw.strip().lower() == "none" and type(None) in item.options:
        return None
    if raw in item.literals:
        return raw
    if tuple in [get_origin(option) for option in item.options]:
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    for kind in (int, float):
        if kind in item.options:
            try:
                return kind(raw)
            except ValueError:
                raise UserError(f"{item.name} must be {item.kind}, not {shown(raw)}") from None
    return raw


def validate(item: Key, value: Any) -> Any:
    """The value, whole numbers as floats where the key is one; `UserError` where it is none of the key's values."""
    if float in item.options and type(value) is int:
        value = _as_float(value)  # 1 and 1.0 must hash alike
    if not _fits(value, item):
        raise UserError(f"{item.name} must be {item.kind}, not {shown(value)}")
    named = value is None or value in item.literals  # a check is for numbers
    problem = item.check(value) if item.check and not named else None
    if problem:
        raise UserError(f"{item.name} {problem}, not {shown(value)}")
    names = item.names if value != item.default else None  # a default is known, and loads nothing
    if names is not None and value not in names:
        hint = f"; {meant(value, names)}".rstrip("; ")
        raise UserError(f"{item.name} must be {item.kind}, not {shown(value)}{hint}")
    return value


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf  # which no key may be


def _describe(item: Key) -> str:
    names = {int: "a whole number", float: "a number", str: "text", type(None): "none"}
    rest = [names[option] for option in item.options if option in names]
    tuples = ["a list of names" for option in item.options if get_origin(option) is tuple]
    return choices([*map(repr, item.literals), *rest, *tuples])


def _fits(value: Any, item: Key) -> bool:
    if isinstance(value, bool):
        return bool in item.options
    if isinstance(value, tuple):
        return any(get_origin(option) is tuple for option in item.options) and all(isinstance(v, str) for v in value)
    if value in item.literals:
        return True
    if isinstance(value, float) and not math.isfinite(value):
        return False
    return type(value) in item.options
