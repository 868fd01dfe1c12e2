"""Finds where a stored file of a report differs from the newly written one: words, numbers, tags and shapes.

    for problem in differences(text, expected, "report.html"):  # report.html, line 96, says 45.93, but the folder ...

Texts are compared line by line, pages and pictures tag by tag. Generated names within a file are replaced by their
order of appearance. Coordinates may differ by `COORDINATE_TOLERANCE`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile, zip_longest
from typing import Any

from reports.words.markdown import DASH

MARKUP = (".html", ".svg")
COORDINATE_TOLERANCE = 0.01
"""Largest allowed difference between two coordinates, in a picture's points. Rounding may cause it."""
FULL_PRECISION_LENGTH = 15
"""Numbers with at least this many characters are written with all of their digits."""
MAX_SHOWN_LENGTH = 120
"""Largest number of characters that a message shows of a line, tag or text."""
_VALUE = re.compile(rf"(?:(?<![\w.])[+-])?\d+(?:,\d{{3}})*(?:\.\d+)?|{DASH}")
_RULE = set("|-: ")
"""Characters of the rule below the head of a markdown table. The rule's length depends on the widths of the numbers."""
_COORDINATES = re.compile(r'(?<=\s)(?:d|x|y|x1|x2|y1|y2|width|height|points|transform|viewBox)="([^"]*)"')
"""Finds attributes that hold coordinates."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_NAME = re.compile(r'(?<=\sid=")[^"]+|(?<=href="#)[^"]+|(?<=url\(#)[^)]+')
_DATA = '<script type="application/json"'
_NOT_COMPARED = ("sentences", "notes")
"""Entries of the page's data that are not compared unless the page was written again with the same sentences."""


@dataclass(frozen=True)
class _Piece:
    where: str
    """The position as messages name it: `, line 3 (Rows)`."""
    words: str
    shape: str
    """The words without numbers, spaces and rules. Pieces of equal shape may differ only in numbers."""
    row: str = ""
    """The first cell if the piece is a line of a table; otherwise empty."""
    coordinates: tuple[float, ...] = ()


def differences(stored: str, again: str, name: str, sentences: bool = False) -> Iterator[str]:
    """Yield a sentence for each difference between the stored text and the newly written text `again` of the file
    `name`. `sentences`: whether to compare the sentences in a page's data."""
    drawn, moved = name.endswith(MARKUP), False
    old, new = ([*(_of_markup(text, sentences) if drawn else _of_text(text))] for text in (stored, again))
    for kind, firsts, seconds in _matched(old, new):
        for first, second in zip_longest(firsts, seconds):
            if first is None:
                yield f"{name} lacks {_short(second)}, which the folder gives."
            elif second is None:
                yield f"{name}{first.where}, has {_short(first)}, which the folder does not give."
            elif kind == "replace" or (drawn and first.words != second.words):
                yield f"{name}{first.where}, says {_short(first)}, but the folder gives {_short(second)}."
            else:
                yield from _numbers(f"{name}{first.where},{first.row}", first.words, second.words)
                if not moved and not _near(first.coordinates, second.coordinates):
                    moved = True
                    other = "elsewhere than the folder gives it (so may another version of matplotlib)"
                    yield f"{name}{first.where}, draws {_short(first)} {other}."


def _matched(old: Sequence[_Piece], new: Sequence[_Piece]) -> Iterator[tuple[str, Sequence[_Piece], Sequence[_Piece]]]:
    """Pair the pieces of both files. The slow matching is used only between their common start and their common end."""
    pairs = [*zip(old, new, strict=False)], [*zip(reversed(old), reversed(new), strict=False)]
    begin, end = (sum(1 for _ in takewhile(lambda pair: pair[0].shape == pair[1].shape, own)) for own in pairs)
    end = min(end, len(old) - begin, len(new) - begin)
    first, second = old[begin : len(old) - end], new[begin : len(new) - end]
    yield "equal", old[:begin], new[:begin]
    shapes = SequenceMatcher(None, [piece.shape for piece in first], [piece.shape for piece in second])
    for kind, low, high, new_low, new_high in shapes.get_opcodes():
        yield kind, first[low:high], second[new_low:new_high]
    yield "equal", old[len(old) - end :], new[len(new) - end :]


def _numbers(where: str, first: str, second: str) -> Iterator[str]:
    """Yield a sentence for each number that differs between two pieces of the same shape."""
    for mine, other in zip(_VALUE.findall(first), _VALUE.findall(second), strict=True):
        if mine != other and not _rounded_alike(mine, other):
            yield f"{where} says {mine}, but the folder gives {other}."


def _rounded_alike(mine: str, other: str) -> bool:
    """Return whether two long numbers agree in all but the last digits, which machines round differently."""
    if min(len(mine), len(other)) < FULL_PRECISION_LENGTH or DASH in (mine, other):
        return False
    first, second = (float(number.replace(",", "")) for number in (mine, other))
    return math.isclose(first, second, rel_tol=1e-12)


def _near(first: Sequence[float], second: Sequence[float]) -> bool:
    return len(first) == len(second) and all(
        abs(a - b) <= COORDINATE_TOLERANCE for a, b in zip(first, second, strict=True)
    )


def _short(piece: _Piece) -> str:
    return repr(piece.words if len(piece.words) <= MAX_SHOWN_LENGTH else f"{piece.words[: MAX_SHOWN_LENGTH - 3]}...")


def _of_text(text: str) -> Iterator[_Piece]:
    """Yield a piece for each line that is not empty, with the heading above the line."""
    heading = ""
    for number, line in enumerate(text.splitlines(), start=1):
        heading = f" ({line.lstrip('# ')})" if line.startswith("#") else heading
        words, is_rule = " ".join(line.split()), line.startswith("|") and set(line) <= _RULE
        shape = "|" * line.count("|") if is_rule else " ".join(_VALUE.sub("#", words.replace("**", "")).split())
        cells = words.strip("| ").split(" | ") if line.startswith("|") else []
        if words:
            yield _Piece(
                f", line {number}{heading}",
                "" if is_rule else words,
                shape,
                f" row {cells[0].strip('*` ')}," if len(cells) > 1 else "",
            )


def _of_markup(text: str, sentences: bool) -> Iterator[_Piece]:
    """Yield a piece for each tag and for each text between tags, without regard to the nesting of elements."""
    names: dict[str, int] = {}
    named = _NAME.sub(lambda name: f"name {names.setdefault(name[0], len(names))}", text)
    line, before = 1, ""
    for token in re.findall(r"<[^>]*>|[^<]+", named):
        coordinates: tuple[float, ...] = ()
        parts = [token]
        if token.startswith("<"):
            coordinates = tuple(
                float(coordinate) for own in _COORDINATES.findall(token) for coordinate in _NUMBER.findall(own)
            )
            parts = [_COORDINATES.sub(lambda own: _NUMBER.sub("#", own[0]), token)]
        elif before.startswith(_DATA):
            parts = [*_entries(token, sentences)]
        for words in filter(None, (" ".join(part.split()) for part in parts)):
            yield _Piece(f", line {line}", words, _VALUE.sub("#", words), coordinates=coordinates)
        line, before = line + token.count("\n"), token


def _entries(data: str, sentences: bool) -> Iterator[str]:
    """Yield a line for each value of the page's data, which is JSON; yield `data` itself if it is not JSON."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        yield data
        return
    if isinstance(content, dict) and not sentences:
        content = {name: value for name, value in content.items() if name not in _NOT_COMPARED}
    yield from _values(content, "")


def _values(value: Any, path: str) -> Iterator[str]:
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield f"{path}: {f'{value:.9g}' if isinstance(value, float) else json.dumps(value, ensure_ascii=False)}"
        return
    yield f"{path}: {len(value)} entries"
    for name, item in inner:
        yield from _values(item, f"{path}.{name}" if path else str(name))
