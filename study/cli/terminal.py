"""Words on their way to a person's terminal or a job's log."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


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


@contextmanager
def last_words(sentence: str) -> Iterator[None]:
    """Have the sentence said on stderr where this process ends within, in whatever way but by an exception.

    Where Ray's head dies, Ray's own C++ ends the study's process on the spot, with words about its inner parts alone;
    no code of ours runs then. So a shell waits beside it.
    """
    waits = ["sh", "-c", 'read -r _ || printf "\\n%s\\n" "$0" >&2', sentence]  # till a line comes, or the pipe's end
    with subprocess.Popen(waits, stdin=subprocess.PIPE, start_new_session=True) as shell:
        try:
            yield
        finally:
            shell.communicate(b"\n")
