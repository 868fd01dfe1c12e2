"""The lines of an answer: a head, and a sentence of at most `LONGEST` words with at most one bracket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Say = Callable[[object], str]
"""Makes words from outside fit to be shown: escaped for markdown, printable for a console."""

LONGEST = 29
"""Words of a line, without its head."""


@dataclass(frozen=True)
class Line:
    """`Use    temperature 0.05, batch size 128`."""

    head: str
    words: str
    """Already made fit by `Say`; a command is as it is typed."""
    command: bool = False


def in_lines(head: str, parts: Iterable[str]) -> list[Line]:
    """The parts of a sentence with semicolons between; what would make it too long begins a line of its own."""
    written: list[str] = []
    for part in parts:
        if written and fits(longer := f"{written[-1]}; {part}"):
            written[-1] = longer
        else:
            written.append(part)
    return [Line(head, words) for words in written]


def fits(words: str) -> bool:
    return len(words.split()) <= LONGEST and words.count("(") <= 1


def first_few(named: Sequence[str], most: int, before: str = "") -> list[str]:
    """So many of them, as far as a line has room for them, and how many more there are."""
    room = LONGEST - 2 - len(before.split())
    shown = [name for place, name in enumerate(named[:most]) if len(" ".join(named[: place + 1]).split()) <= room]
    return [*shown, *([f"and {len(named) - len(shown)} more"] if len(named) > len(shown) else [])]


def as_text(answer: Sequence[Line]) -> list[str]:
    """For a console: heads of one width."""
    return [f"{line.head:<6} {line.words}" for line in answer]
