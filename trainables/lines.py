"""Lines of files from untrusted sources, and text for one line of a page."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import BinaryIO

from trainables.errors import UserError

LONGEST_LINE = 16 * 2**20
"""Most bytes of a line. All readers refuse a longer line, so that a file without line ends cannot fill the memory."""
_UTF_16 = "text of UTF-16; `iconv -f UTF-16 -t UTF-8` makes UTF-8 of it"
_PAGE = "a page of the web and no data, as a download that went wrong leaves; download the file itself"
_BEGINS = {
    b"\xff\xfe": _UTF_16,
    b"\xfe\xff": _UTF_16,
    b"\x1f\x8b": "packed by gzip; then its name must end in .gz",
    b"pk\x03\x04": "a zip archive; unpack it",
    b"version https://git-lfs": "a pointer of Git LFS, not the file that it stands for; `git lfs pull` fetches that",
    b"<!doctype html": _PAGE,
    b"<html": _PAGE,
}
"""Kinds of files that are no text, by the first bytes of such files in lower case."""


def bounded_lines(stream: BinaryIO, refuse: Callable[[int, str], UserError]) -> Iterator[tuple[int, bytes]]:
    """Yield the number of each line, from 1, and the line with its end.

    Lines end with a line feed or, in a file without line feeds, with a carriage return. Raises
    `refuse(number, problem)` for a line longer than `LONGEST_LINE`, a first line of a file that is no text, and a NUL
    byte, which is in every text of UTF-16, but in none of UTF-8 or Latin-1.
    """
    for number, line in enumerate(_lines(stream), 1):
        if len(line) > LONGEST_LINE:
            raise refuse(number, f"longer than {LONGEST_LINE >> 20} MiB, the most that a line may have")
        what = other_file(line) if number == 1 else None
        if what or b"\0" in line:
            raise refuse(number, what or "a NUL byte in it; text must be saved as UTF-8")
        yield number, line


def other_file(head: bytes) -> str | None:
    """Return, from a file's first bytes, what it is instead of text, and what to do; None if it may be text."""
    head = head[:99].removeprefix(codecs.BOM_UTF8).lower()
    return next((what for begins, what in _BEGINS.items() if head.startswith(begins)), None)


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield the lines. A line longer than `LONGEST_LINE` is cut somewhere after that length."""
    part = stream.readline(LONGEST_LINE + 1)
    if part.endswith(b"\n") or b"\r" not in part:
        while part:
            yield part
            part = stream.readline(LONGEST_LINE + 1)
        return
    rest = b""
    while part and len(rest) <= LONGEST_LINE:
        *whole, rest = (rest + part).splitlines(keepends=True)
        yield from whole
        part = stream.readline(LONGEST_LINE + 1)
    if rest:
        yield rest


def one_line(value: object) -> str:
    """Return a value as text for a page, without line breaks and other unprintable characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in str(value)).split())
