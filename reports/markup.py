"""Where a page or a picture differs from the one that a results folder gives: words and numbers, tags and shapes.

    for problem in differences(text, expected, "report.html"):  # report.html, line 96, says '45.93', but the folder ...

Both are read piece by piece: a tag with its attributes, a text, an entry of the page's data. Names that are made for a
file's own use count by the order in which they appear, and coordinates may lie `NEAR` each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from itertools import zip_longest
from typing import Any

NEAR = 0.01
"""Of a picture's points: so far two drawings of one picture may lie apart by rounding."""
SHORT = 120
"""Characters of a piece that a sentence shows."""
_PLACES = frozenset({"d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "points", "transform", "viewbox"})
"""Attributes that hold coordinates."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
_REFERENCE = re.compile(r"(?<=url\(#)[\w.:-]+")
_NOT_COMPARED = ("sentences", "notes")
"""Of the page's data, where no sentences are given to write it anew."""


@dataclass(frozen=True)
class _Piece:
    line: int
    words: str
    """What must be equal."""
    places: tuple[float, ...] = ()
    """What must be near."""


def differences(text: str, expected: str, name: str, sentences: bool = False) -> Iterator[str]:
    """In sentences that begin with the file's name. The last one is that of the first piece whose like is missing:
    what follows it stands beside something else. `sentences`: whether those of the page's data are compared."""
    moved = False
    for first, second in zip_longest(_pieces(text, sentences), _pieces(expected, sentences)):
        if first is None:
            yield f"{name} lacks {_short(second)}, which the folder gives"
            return
        if second is None:
            yield f"{name}, line {first.line}, has {_short(first)}, which the folder does not give"
            return
        if first.words != second.words:
            yield f"{name}, line {first.line}, says {_short(first)}, but the folder gives {_short(second)}"
            if _NUMBER.sub("#", first.words) != _NUMBER.sub("#", second.words):
                return
        elif not moved and not _near(first.places, second.places):
            moved = True
            yield (
                f"{name}, line {first.line}, draws {_short(first)} elsewhere than the folder gives it (so may another "
                "version of matplotlib)"
            )


def _near(first: Sequence[float], second: Sequence[float]) -> bool:
    return len(first) == len(second) and all(abs(a - b) <= NEAR for a, b in zip(first, second, strict=True))


def _short(piece: _Piece) -> str:
    return repr(piece.words if len(piece.words) <= SHORT else f"{piece.words[: SHORT - 3]}...")


def _pieces(text: str, sentences: bool) -> list[_Piece]:
    parser = _Parser(sentences)
    parser.feed(text)
    parser.close()
    return parser.pieces


class _Parser(HTMLParser):
    """Reads XML of pictures as well: nothing depends on how elements are nested."""

    def __init__(self, sentences: bool) -> None:
        super().__init__()
        self.pieces: list[_Piece] = []
        self._sentences = sentences
        self._names: dict[str, int] = {}
        self._in_data = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_data = (tag, dict(attrs).get("type")) == ("script", "application/json")
        words, places = [tag], list[float]()
        for name, value in attrs:
            content = self._named(name, value or "")
            if name in _PLACES:
                places += map(float, _NUMBER.findall(content))
                content = _NUMBER.sub("#", content)
            words.append(f"{name}={' '.join(content.split())}")
        self._add(" ".join(words), tuple(places))

    def handle_endtag(self, tag: str) -> None:
        self._in_data = False
        self._add(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if self._in_data:
            for entry in _entries(data, self._sentences):
                self._add(entry)
        elif words := " ".join(data.split()):
            self._add(words)

    def handle_comment(self, data: str) -> None:
        self._add(f"comment {data}")

    def handle_decl(self, decl: str) -> None:
        self._add(decl)

    def handle_pi(self, data: str) -> None:
        self._add(data)

    def _add(self, words: str, places: tuple[float, ...] = ()) -> None:
        self.pieces.append(_Piece(self.getpos()[0], words, places))

    def _named(self, name: str, value: str) -> str:
        """With the names of this file's own elements by their number."""
        if name == "id":
            return self._number(value)
        if name.rpartition(":")[2] == "href" and value.startswith("#"):
            return f"#{self._number(value[1:])}"
        return _REFERENCE.sub(lambda match: self._number(match[0]), value)

    def _number(self, name: str) -> str:
        return f"name {self._names.setdefault(name, len(self._names))}"


def _entries(data: str, sentences: bool) -> Iterator[str]:
    """A line for each value of the page's data; the text itself where it is no JSON."""
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        yield data
        return
    if isinstance(content, dict) and not sentences:
        content = {name: value for name, value in content.items() if name not in _NOT_COMPARED}
    yield from _values(content, "")


def _values(value: Any, place: str) -> Iterator[str]:
    inner = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield f"{place}: {f'{value:.9g}' if isinstance(value, float) else json.dumps(value, ensure_ascii=False)}"
        return
    yield f"{place}: {len(value)} entries"
    for name, item in inner:
        yield from _values(item, f"{place}.{name}" if place else str(name))
