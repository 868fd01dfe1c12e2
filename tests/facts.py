"""Looks for sentences where facts should stand."""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

SENTENCE = re.compile(r"[a-z]+ [a-z]+ [a-z]+")
"""Three English words in a row."""
FROM_OUTSIDE = {"Claim", "Column", "Table"}
"""What a space says of itself."""
NAMES = {
    ("Findings", "missing"),
    ("Answer", "explored"),
    ("Finalist", "name"),
    ("Ship", "name"),
    ("RowsAnswer", "explored"),
    ("RowsAnswer", "best"),
}
"""Reasons, as the study kept them, and what people call recipes."""


def sentences(value: Any) -> list[str]:
    """Every string within it that reads like one, by where it is: `Answer.warnings.Flag.kind: text`. What can only be
    some words (`Literal`) is a name."""
    return [f"{where}: {text}" for where, text in _strings(value, "") if SENTENCE.search(text)]


def _strings(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        if kind.__name__ not in FROM_OUTSIDE:
            types = typing.get_type_hints(kind)
            for item in dataclasses.fields(kind):
                if "Literal[" not in str(types[item.name]) and (kind.__name__, item.name) not in NAMES:
                    yield from _strings(getattr(value, item.name), f"{where}.{kind.__name__}.{item.name}".lstrip("."))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _strings(key, f"{where} key")
            yield from _strings(item, f"{where}.{key}")
    elif isinstance(value, Sequence | Set):
        for item in value:
            yield from _strings(item, where)
