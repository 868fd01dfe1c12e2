"""Lines of a file that anybody may have written: of bounded length, and text. And how a message quotes them."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO

from trainables.errors import UserError

LONGEST_LINE = 16 * 2**20
"""Bytes. A longer line is refused by every reader, so that a file without line ends cannot fill the memory."""

_ORDINARY = re.compile(r"[\w .'#-]{1,60}")
_LISTED = 8
_LONGEST = 200
_quotes = reprlib.Repr()
_quotes.maxstring = _quotes.maxother = 60


def bounded_lines(stream: BinaryIO, refuse: Callable[[int, str], UserError]) -> Iterator[tuple[int, bytes]]:
    """The number of each line, from 1, and the line with its end.

    `refuse` makes the error for a number and a problem: a line longer than `LONGEST_LINE`, or one with a NUL byte,
    which is in no text of UTF-8 or Latin-1, but in every one of UTF-16.
    """
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise refuse(number, f"longer than {LONGEST_LINE >> 20} MiB, the most that a line may have")
        if b"\0" in line:
            raise refuse(number, "a NUL byte in it; text must be saved as UTF-8")
        yield number, line


def is_text(text: str) -> bool:
    """Whether a text can be written down. JSON can name half of a character, a lone surrogate, which no file holds."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(value: object) -> str:
    """A value from a file as a message quotes it: on one line, and its middle left out where it is long."""
    return _quotes.repr(value)


def listed(names: Sequence[object]) -> str:
    """Names from a file, as columns are, for a message: the first few, and how many more there are."""
    first = [str(name) if _ORDINARY.fullmatch(str(name)) else shown(name) for name in names[:_LISTED]]
    return ", ".join([*first, *([f"{len(names) - _LISTED:,} more"] if len(names) > _LISTED else [])]) or "none"


def first_line(error: BaseException) -> str:
    """What an error of a library says, cut to one line that can be printed: it may quote a whole file."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0].replace("\t", " ")
    line = line if len(line) <= _LONGEST else line[:_LONGEST] + " ..."
    return line if line.isprintable() else ascii(line)
