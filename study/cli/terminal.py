"""Words on their way to a person's terminal or a job's log."""

from __future__ import annotations


def say(text: str) -> None:
    """A line on the console, at once."""
    print(text, flush=True)


def printable(text: str) -> str:
    """The text in one line, with whatever could steer a terminal written out: `\\x1b`, `\\n`."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)
