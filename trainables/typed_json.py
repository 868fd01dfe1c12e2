"""JSON from a file that others may have written, as Python values that are what their types say.

    content = parse_json(text)                # ValueError: no JSON, nested too deep, a key that stands there twice
    info = read_fields(StudyInfo, content)    # ValueError: "seeds[1] must be a whole number, not '2'"

The types of a dataclass' fields are the whole description. `Annotated[int, at_least(0)]` adds a check of
`trainables.keys` to a type. A `TypedDict` stays a dictionary, in its order; its `__extra_items__` is the type of the
entries that it does not name (Python 3.15 has a word for it), which are else of any type.
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

DEEPEST = 50
"""No file of ours, and no row of data, nests objects and lists so deep."""
LARGEST = 1e15
"""No count, time or size that a file of ours holds is larger."""
EXTRA = "__extra_items__"
_TOO_DEEP = f"it is nested more than {DEEPEST} deep"

T = TypeVar("T")
Count = Annotated[int, at_least(0)]


def parse_json(text: str | bytes) -> Any:
    """The value. `ValueError` says what is wrong: bytes that are no UTF-8 too, and a key that an object has twice."""
    text = text if isinstance(text, str) else text.decode()
    if text.startswith("\ufeff"):
        raise json.JSONDecodeError("Unexpected UTF-8 BOM (decode using utf-8-sig)", text, 0)
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > DEEPEST and _deeper(value, DEEPEST):
        raise ValueError(_TOO_DEEP)
    return value


def read_fields(kind: type[T], content: Any, where: str = "") -> T:
    """An instance of the dataclass out of a JSON object. Entries that it does not know are passed over: files of older
    and newer versions may hold others. `ValueError` names the first field that is missing, or not of its type."""
    if not isinstance(content, Mapping):
        raise ValueError(f"{where or 'it'} must be an object, not {shown(content)}")
    hints, values = _hints(kind), {}  # type: ignore[arg-type]
    for item in dataclasses.fields(kind):  # type: ignore[arg-type]
        place = f"{where}.{item.name}" if where else item.name
        if item.name in content:
            values[item.name] = _reader(hints[item.name])(content[item.name], place)
        elif item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING:
            raise ValueError(f"{place} is missing")
    return kind(**values)


def check_types(item: Any, where: str) -> None:
    """`UserError` for the first field of a dataclass' instance that is not of its type, as far as that is one of text,
    numbers, objects and dataclasses, alone or in tuples: for what a person writes as Python."""
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
    """For `Annotated[str, ...]`: the whole text is of this pattern; `what` says what it must be."""
    whole = re.compile(pattern, re.ASCII)
    return lambda value: None if whole.fullmatch(value) else f"must be {what}"


def named_by(names: Callable[[], Collection[str]]) -> Check:
    """For an object, or a list of texts: every name in it is one of these."""

    def check(value: Iterable[str]) -> str | None:
        unknown = [name for name in value if name not in names()]
        return f"names {shown(unknown[0])}, which is unknown" if unknown else None

    return check


def unusable(value: Any) -> str:
    """Why no file of ours holds this text or number; empty where it may."""
    if isinstance(value, str):
        return "" if value.isascii() or is_text(value) else "is no text that can be written"
    if not isinstance(value, (int, float)) or -LARGEST <= value <= LARGEST:
        return ""
    if isinstance(value, float) and not math.isfinite(value):
        return f"is {value}, which is no number"
    return "is larger than anything here can be"


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


Reader = Callable[[Any, str], Any]
"""Of a value and the words for where it stands; `ValueError` where it is not of its type."""


@functools.cache
def _reader(hint: Any) -> Reader:
    """What reads values of a type. It is made once: of a record's many values most are text, numbers or null."""
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
    """What reads a value of that type's kind; `origin` and `parts` are what the type is made of."""
    if origin is Annotated:
        return functools.partial(_read_checked, _reader(parts[0]), parts[1:])
    if origin in (Union, types.UnionType):
        options = [(_kind(part), _reader(part)) for part in parts]
        return lambda value, where: next(read for is_kind, read in options if is_kind(value))(value, where)
    if origin is list:
        read = _reader(parts[0])
        return lambda value, where: [read(item, f"{where}[{place}]") for place, item in enumerate(value)]
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
    """The text or number; `ValueError` where no file of ours holds it."""
    problem = unusable(value)
    if problem:
        raise ValueError(f"{part}{where} {problem}")
    return value


@functools.cache
def _kind(hint: Any) -> Callable[[Any], bool]:
    """Tells whether a value is of the type's kind, whatever it holds."""
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
    """Whether objects and lists are nested within one another more often than that."""
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


_DECODER = json.JSONDecoder(object_pairs_hook=_once_each)  # `json.loads` would make one for each line of a file
