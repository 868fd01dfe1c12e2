"""Output to a person's terminal or a job's log."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


def say(text: str) -> None:
    """Print a line at once, without buffering."""
    print(text, flush=True)


def say_lines(lines: Iterable[str]) -> None:
    """Print lines that may contain a person's data (`printable`), each at once."""
    for line in lines:
        say(printable(line))


def printable(text: str) -> str:
    """Return the text in one line, with characters that could control a terminal escaped: `\\x1b`, `\\n`."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


@contextmanager
def say_if_killed(sentence: str) -> Iterator[None]:
    """Print the sentence on stderr if this process ends within the block in any way other than by an exception.

    If Ray's head dies, Ray's C++ code ends the study's process at once, with a message only about Ray's internals; none
    of our code runs then. So a shell waits beside the process.
    """
    waits = ["sh", "-c", 'read -r _ || printf "\\n%s\\n" "$0" >&2', sentence]  # waits for a line, or the pipe's end
    with subprocess.Popen(waits, stdin=subprocess.PIPE, start_new_session=True) as shell:
        try:
            yield
        finally:
            shell.communicate(b"\n")
