"""Reading of JSON from untrusted files as Python values of declared types.

    content = parse_json(text)                # ValueError: no JSON, nested too deep, or with a repeated key
    info = read_fields(StudyInfo, content)    # ValueError: "seeds[1] must be a whole number, not '2'"

The types of a dataclass' fields are the schema. `Annotated[int, at_least(0)]` adds a check of `trainables.keys` to a
type. A `TypedDict` stays a dictionary, in the file's order. Its `__extra_items__` is the type of entries that it does
not name (Python 3.15 has a keyword for this); without it they have any type.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import types
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints, is_typeddict

from trainables.errors import UserError, choices, is_text, shown
from trainables.keys import Check, at_least

MAX_DEPTH = 50
"""Most levels of nested objects and lists in a valid text. This project's files and rows of data have fewer."""
LARGEST_NUMBER = 1e15
"""Largest number in a valid file. Counts, times and sizes in this project's files are smaller."""
EXTRA = "__extra_items__"
_TOO_DEEP = f"it is nested more than {MAX_DEPTH} deep"

T = TypeVar("T")
Count = Annotated[int, at_least(0)]


def parse_json(text: str | bytes) -> Any:
    """Return the JSON value. Raises `ValueError`, also for bytes that are not UTF-8 and a repeated key in an object."""
    text = text if isinstance(text, str) else text.decode()
    if text.startswith("\ufeff"):
        raise json.JSONDecodeError("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0)
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > MAX_DEPTH and _deeper(value, MAX_DEPTH):
        raise ValueError(_TOO_DEEP)
    return value


def read_fields(kind: type[T], content: Any, where: str = "") -> T:
    """Return an instance of a dataclass from a JSON object. Unknown entries are skipped, as files of older and newer
    versions may have others. Raises `ValueError` for the first field that is missing or has a wrong type."""
    if not isinstance(content, Mapping):
        raise ValueError(f"{where or 'it'} must be an object, not {shown(content)}")
    hints, values = _hints(kind), {}  # type: ignore[arg-type]
    for item in dataclasses.fields(kind):  # type: ignore[arg-type]
        location = f"{where}.{item.name}" if where else item.name
        if item.name in content:
            values[item.name] = _reader(hints[item.name])(content[item.name], location)
        elif item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
            raise ValueError(f"{location} is missing")
    return kind(**values)


def check_types(item: Any, where: str) -> None:
    """Raise `UserError` for the first field of a dataclass instance with a wrong type, for instances from a user's
    Python code. Checks text, numbers, objects and dataclasses, alone or in tuples."""
    for name, hint in _hints(type(item)).items():  # type: ignore[arg-type]
        origin, parts = get_origin(hint), get_args(hint)
        value = getattr(item, name)
        kind, values = (parts[0], value) if origin is tuple and parts[1:] == (...,) else (hint, (value,))
        if not isinstance(values, tuple | list) or not all(_is_plainly(kind, part) for part in values):
            many = "several, each " if values is value else ""
            raise UserError(f"{where}: {name} must be {many}{_in_words(kind)}, not {shown(value)}")


def _is_plainly(hint: Any, value: Any) -> bool:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(_is_plainly(option, value) for option in get_args(hint))
    if hint in (str, int, float, bool, type(None)):
        return _kind(hint)(value) and not unusable(value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    return not dataclasses.is_dataclass(hint) or isinstance(value, hint)  # type: ignore[arg-type]


def matching(pattern: str, what: str) -> Check:
    """Return a check for `Annotated[str, ...]`: the whole text matches the pattern. `what`: the pattern in words."""
    whole = re.compile(pattern, re.ASCII)
    return lambda value: None if whole.fullmatch(value) else f"must be {what}"


def named_by(names: Callable[[], Collection[str]]) -> Check:
    """Return a check for an object or a list of texts: every name in it is one of `names()`."""

    def check(value: Iterable[str]) -> str | None:
        unknown = [name for name in value if name not in names()]
        return f"names {shown(unknown[0])}, which is unknown" if unknown else None

    return check


def unusable(value: Any) -> str:
    """Return why a text or number is invalid in this project's files; empty if it is valid."""
    if isinstance(value, str):
        return "" if value.isascii() or is_text(value) else "is no text that can be written"
    if not isinstance(value, (int, float)) or -LARGEST_NUMBER <= value <= LARGEST_NUMBER:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return f"is {value}, which is no number"
    return "is larger than anything here can be"


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


Reader = Callable[[Any, str], Any]
"""Reads a value. The second argument is its location, for messages. Raises `ValueError` for a value of a wrong type."""


@functools.cache
def _reader(hint: Any) -> Reader:
    """Return the reader of a type. Text, numbers and null, which are most values of a record, are read fast."""
    if hint is Any:
        return _read_any
    origin, parts = get_origin(hint), get_args(hint)
    options = {*parts} if origin in (Union, types.UnionType) else {hint}
    plain = options & {str, int, float, bool, types.NoneType} | ({int} if float in options else set())
    is_kind, inside = _kind(hint), _inside(hint, origin, parts)

    def read(value: Any, where: str) -> Any:
        if type(value) in plain:
            return _usable(value, where)
        if origin is not Annotated and not is_kind(value):
            raise ValueError(f"{where} must be {_in_words(hint)}, not {shown(value)}")
        return inside(value, where)

    return read


def _inside(hint: Any, origin: Any, parts: tuple[Any, ...]) -> Reader:
    """Return a reader of values that `_kind` accepts. `origin`, `parts`: `get_origin` and `get_args` of the type."""
    if origin is Annotated:
        return functools.partial(_read_checked, _reader(parts[0]), parts[1:])
    if origin in (Union, types.UnionType):
        options = [(_kind(part), _reader(part)) for part in parts]
        return lambda value, where: next(read for is_kind, read in options if is_kind(value))(value, where)
    if origin is list:
        read = _reader(parts[0])
        return lambda value, where: [read(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if origin is dict:
        return functools.partial(_read_entries, {}, _reader(parts[1]), frozenset())
    if is_typeddict(hint):
        readers = {name: _reader(kind) for name, kind in _hints(hint).items()}
        return functools.partial(_read_entries, readers, readers.get(EXTRA, _read_any), hint.__required_keys__)
    if dataclasses.is_dataclass(hint):
        return lambda value, where: read_fields(hint, value, where)  # type: ignore[arg-type]
    return _usable


def _read_checked(read: Reader, checks: tuple[Check, ...], value: Any, where: str) -> Any:
    inner = read(value, where)
    for problem in (check(inner) for check in checks):
        if problem:
            raise ValueError(f"{where} {problem}" + ("" if isinstance(value, list | dict) else f", not {shown(value)}"))
    return inner


def _read_entries(
    readers: Mapping[str, Reader], other: Reader, required: frozenset[str], value: Any, where: str
) -> dict[str, Any]:
    for key in value:
        _usable(key, where, "a name in ")
    for key in readers:
        if key in required and key not in value:
            raise ValueError(f"{where}.{key} is missing")
    return {key: readers.get(key, other)(item, f"{where}.{key}") for key, item in value.items()}


def _read_any(value: Any, where: str) -> Any:
    if isinstance(value, dict):
        return _read_entries({}, _read_any, frozenset(), value, where)
    return [_read_any(item, where) for item in value] if isinstance(value, list) else _usable(value, where)


def _usable(value: Any, where: str, part: str = "") -> Any:
    """Return the text or number. Raises `ValueError` if it is invalid (`unusable`)."""
    problem = unusable(value)
    if problem:
        raise ValueError(f"{part}{where} {problem}")
    return value


@functools.cache
def _kind(hint: Any) -> Callable[[Any], bool]:
    """Return a function that tests whether a value has the type. It does not test the content of lists and objects."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _kind(parts[0])
    if origin in (Union, types.UnionType):
        kinds = [*map(_kind, parts)]
        return lambda value: any(kind(value) for kind in kinds)
    if origin is Literal:
        return lambda value: isinstance(value, str) and value in parts
    if hint is Any or hint is bool:
        return lambda value: hint is Any or isinstance(value, bool)
    if origin in (list, dict) or dataclasses.is_dataclass(hint) or is_typeddict(hint):
        return lambda value: isinstance(value, list if origin is list else (dict, Mapping))
    return lambda value: isinstance(value, (int, float) if hint is float else hint) and not isinstance(value, bool)


def _in_words(hint: Any) -> str:
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false", type(None): "null"}
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _in_words(parts[0])
    if origin in (Union, types.UnionType):
        return choices(map(_in_words, parts))
    if origin is Literal:
        return choices(map(repr, parts))
    return names.get(hint) or ("a list" if origin is list else "an object")


def _deeper(value: Any, levels: int) -> bool:
    """Return whether objects and lists are nested deeper than `levels`."""
    level: list[Any] = [[value]]
    for _ in range(levels + 1):
        inside = (part.values() if isinstance(part, dict) else part for part in level)
        level = [inner for part in inside for inner in part if isinstance(inner, dict | list)]
    return bool(level)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"it says {shown(twice)} twice")
    return content


_DECODER = json.JSONDecoder(object_pairs_hook=_once_each)  # `json.loads` would make a new one for each line
