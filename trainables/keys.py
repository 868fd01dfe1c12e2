"""The keys of a part of a recipe: definition, reading of values from text, and checks.

    class SCL(Options):
        section = "objective"
        weight: float = key(0.5, "lambda in Liao 2021, eq. 3.", between(0.0, 1.0), search=Range(0.0, 1.0))

A part is a section of the recipe, or a component that a key chooses: a frozen dataclass whose fields are its keys.
`keys_of(SCL)` returns each key as a `Key` with its flat name (`objective.weight`), type, default, check and label.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from trainables.errors import UserError, choices, did_you_mean, point_hint, shown
from trainables.registry import Registry, load

Value = Union[str, int, float, bool, None, tuple[str, ...]]
Check = Callable[[Any], "str | None"]
"""Returns the problem of a value; None if there is no problem."""


@dataclass(frozen=True)
class Range:
    """The interval of a number in a search. If both ends are whole numbers, only whole numbers are searched."""

    low: float | int
    high: float | int
    log: bool = False


@dataclass(frozen=True)
class Key:
    """One key of a recipe. `name` is the flat key; the function `key` sets the rest."""

    name: str
    type: Any
    default: Value
    meaning: str
    check: Check | None
    label: str
    """Name of the key in tables and on axes."""
    alias: str | None
    """Another name of the key on the command line, such as the symbol in the papers."""
    is_path: bool
    """Whether values are paths or hub ids. Hashes then use a file's content, not its path."""
    subfolder: str
    """If a value is a folder: the part of the folder that is read; empty: the whole folder."""
    together: bool
    """Whether trials with different values can train together in a population."""
    changes_results: bool
    """Whether the key changes results. Other keys only change the folder of data or the way of computation."""
    keep_blanks: bool
    """Whether blanks at the ends of a text value are kept."""
    registry: str | None
    """The registry of the components that the key chooses from, as `"module:REGISTRY"`."""
    search: Range | tuple[Value, ...] | None
    """The values that a search chooses from if a space's `Domain` of the key names no values."""
    when: tuple[str, Callable[[Any], Any]] | None
    """Another field of the part and a test: the key exists if the field's value passes. None: the key always exists."""

    @functools.cached_property
    def names(self) -> Registry[Any] | None:
        """The registry whose names are the possible values; None: there is no such registry."""
        registry: Registry[Any] | None = load(self.registry) if self.registry else None
        return registry

    @functools.cached_property
    def options(self) -> tuple[Any, ...]:
        """The types that a value may have."""
        return get_args(self.type) if get_origin(self.type) in (Union, types.UnionType) else (self.type,)

    @functools.cached_property
    def literals(self) -> tuple[Any, ...]:
        """The values that the `Literal` types of the key allow."""
        return tuple(value for kind in self.options if get_origin(kind) is Literal for value in get_args(kind))

    @property
    def values_in_words(self) -> str:
        """The possible values in words: `a number or none`, or the names to choose from."""
        names = self.names
        return choices(map(repr, names)) if names is not None else _describe(self)

    @property
    def full_meaning(self) -> str:
        """The meaning of the key, and of each possible name whose entry has a meaning."""
        meanings = {name: getattr(entry, "meaning", "") for name, entry in (self.names or {}).items()}
        listed = "; ".join(f"{name}: {meaning}" for name, meaning in meanings.items() if meaning)
        return f"{self.meaning} {listed}." if listed else self.meaning


def key(
    default: Any,
    meaning: str,
    check: Check | None = None,
    *,
    label: str | None = None,
    alias: str | None = None,
    is_path: bool = False,
    subfolder: str = "",
    together: bool = False,
    changes_results: bool = True,
    keep_blanks: bool = False,
    registry: str | None = None,
    search: Range | tuple[Value, ...] | None = None,
    when: tuple[str, Callable[[Any], Any]] | None = None,
) -> Any:
    """Define a field of a part; see `Key` for the arguments. `check` is applied to all values except None and the
    type's literals. A default must never change, since hashes leave defaults out."""
    metadata = {**locals()}
    return field(default=metadata.pop("default"), metadata=metadata)


@dataclass(frozen=True)
class Options:
    """A part of a recipe. Fields made by `key` are its keys; parts share a key by inheriting it."""

    section: ClassVar[str]
    """The first word in the flat names of the keys that the class defines."""
    meaning: ClassVar[str] = ""
    """Description of a component that a key chooses by name; `--keys` prints it."""

    def __post_init__(self) -> None:
        for name, item in keys_of(type(self)).items():
            value = getattr(self, name)
            valid = validate(item, value)
            if valid is not value:
                object.__setattr__(self, name, valid)


def at_least(low: float) -> Check:
    return lambda value: None if value >= low else f"must be at least {low:g}"


def above(low: float) -> Check:
    return lambda value: None if value > low else f"must be above {low:g}"


def between(low: float, high: float) -> Check:
    return lambda value: None if low <= value <= high else f"must lie between {low:g} and {high:g}"


def keys_of(part: type[Options]) -> Mapping[str, Key]:
    """Return the keys of a part by field name, in the order of definition."""
    return _keys_of(part)  # type: ignore[arg-type]


@functools.cache
def _keys_of(part: Any) -> Mapping[str, Key]:
    hints, items = get_type_hints(part), {}
    for item in dataclasses.fields(part):
        if not item.metadata:
            continue
        metadata = dict(item.metadata)
        metadata["label"] = metadata["label"] or item.name.replace("_", " ")
        owner: Any = next(base for base in part.__mro__ if item.name in inspect.get_annotations(base))
        name = f"{owner.section}.{item.name}"
        default: Any = item.default
        items[item.name] = Key(name, hints[item.name], default, **metadata)
    return items


def options_of(entry: Any) -> type[Options] | None:
    """Return the class that defines the keys of a registry entry: the entry or its `options`. None: it has no keys."""
    return entry if isinstance(entry, type) else getattr(entry, "options", None)


def parse(item: Key, raw: str) -> Value:
    """Return the value of a text: None for `none`, and a tuple for names between commas."""
    if raw.strip().lower() == "none" and type(None) in item.options:
        return None
    if raw in item.literals:
        return raw
    if tuple in [get_origin(option) for option in item.options]:
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    if bool in item.options:
        return {"true": True, "false": False}.get(raw.lower(), raw)
    for kind in (int, float):
        if kind in item.options:
            try:
                return kind(raw)
            except ValueError:
                hint = point_hint(raw) if float in item.options else ""
                raise UserError(f"{item.name} must be {item.values_in_words}, not {shown(raw)}{hint}") from None
    return raw


def validate(item: Key, value: Any) -> Any:
    """Return the value, as a float if the key is a float. Raises `UserError` for an invalid value."""
    if float in item.options and type(value) in (int, float):
        value = _as_float(value) + 0.0  # 1 and 1.0 must hash alike, and so must -0.0 and 0.0
    if not _fits(value, item):
        raise UserError(f"{item.name} must be {item.values_in_words}, not {shown(value)}")
    named = value is None or value in item.literals  # checks are for other values
    problem = item.check(value) if item.check and not named else None
    if problem:
        raise UserError(f"{item.name} {problem}, not {shown(value)}")
    names = item.names if value != item.default else None  # a default needs no check, so the registry is not loaded
    if names is not None and value not in names:
        hint = f"; {did_you_mean(value, names)}".rstrip("; ")
        raise UserError(f"{item.name} must be {item.values_in_words}, not {shown(value)}{hint}")
    return value


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf  # invalid for every key


def _describe(item: Key) -> str:
    names = {int: "a whole number", float: "a number", str: "text", bool: "true or false", type(None): "none"}
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
