"""The lines of an answer: a head, and a sentence of at most `MAX_WORDS` words with at most one bracket."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

Escape = Callable[[object], str]
"""Makes words from outside safe to show: escaped for markdown, or printable for a console."""

MAX_WORDS = 29
"""Largest number of words in a line of an answer, without its head."""


@dataclass(frozen=True)
class Line:
    """One line of an answer: `Use temperature 0.05, batch size 128`, with the head `Use`."""

    head: str
    words: str
    """The words after the head, already made safe by `Escape`. A command is kept as typed."""
    command: bool = False


def in_lines(head: str, parts: Iterable[str]) -> list[Line]:
    """Join parts with semicolons into lines. A part that would make its line too long begins the next line."""
    written: list[str] = []
    for part in parts:
        if written and fits(longer := f"{written[-1]}; {part}"):
            written[-1] = longer
        else:
            written.append(part)
    return [Line(head, words) for words in written]


def fits(words: str) -> bool:
    return len(words.split()) <= MAX_WORDS and words.count("(") <= 1


def first_few(named: Sequence[str], most: int, before: str = "") -> list[str]:
    """Return the first names, at most `most` and as many as fit in a line after `before`, then `and 3 more`."""
    room = MAX_WORDS - 2 - len(before.split())
    shown = [name for index, name in enumerate(named[:most]) if len(" ".join(named[: index + 1]).split()) <= room]
    return [*shown, *([f"and {len(named) - len(shown)} more"] if len(named) > len(shown) else [])]


def as_text(answer: Sequence[Line]) -> list[str]:
    """Return the lines for a console, with heads of equal width."""
    return [f"{line.head:<6} {line.words}" for line in answer]
