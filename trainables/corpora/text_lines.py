"""Lines of text files, with their numbers."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainables.errors import UserError


def numbered_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Each line, with its end, and its number from 1; a `.gz` file is unpacked on the way.

    Raises `UserError` with file and line where a line is not UTF-8, or the file cannot be unpacked.
    """
    number = 0
    try:
        with gzip.open(file, "rb") if file.suffix.lower() == ".gz" else file.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{file}, line {number}: not UTF-8 ({error.reason})") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{file}, after line {number}: not a readable gzip file ({error})") from None


def json_object(text: str, where: str) -> dict[str, Any]:
    """The JSON object that a text is; `UserError` that says where it stands if it is none."""
    try:
        record = json.loads(text)
    except ValueError as error:
        raise UserError(f"{where}: not a JSON object ({error})") from None
    return check_object(record, where)


def check_object(record: Any, where: str) -> dict[str, Any]:
    """A JSON value that must be an object; `UserError` that says where it stands if it is none."""
    if not isinstance(record, dict):
        raise UserError(f"{where}: not a JSON object but {type(record).__name__}")
    return record
