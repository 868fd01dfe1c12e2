"""Words on their way to a person's terminal or a job's log."""

from __future__ import annotations

from collections.abc import Iterable


def say(text: str) -> None:
    """A line on the console, at once."""
    print(text, flush=True)


def say_lines(lines: Iterable[str]) -> None:
    """Lines that may hold what a person's data hold, each at once."""
    for line in lines:
        say(printable(line))


def printable(text: str) -> str:
    """The text in one line, with whatever could steer a terminal written out: `\\x1b`, `\\n`."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
