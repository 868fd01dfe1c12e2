"""Lines of text files, with their numbers."""

from __future__ import annotations

import codecs
import gzip
import re
import shlex
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from trainables.errors import UserError, reason
from trainables.lines import bounded_lines
from trainables.typed_json import parse_json

_UNPACKED, _FREE = 200, 16 * 2**20
"""A packed file may unpack to `_UNPACKED` times its size plus `_FREE` bytes. Text is packed to a third or a tenth."""
LONGEST_ARRAY = 256 * 2**20
"""Most bytes of a JSON array."""
_HEAD = 2**16
_LINE_OF_TEXTS = re.compile(rb'\[\s*"')
_UNREADABLE = (gzip.BadGzipFile, EOFError, zlib.error)


def numbered_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the number of each line, from 1, and the line with its end. A `.gz` file is unpacked.

    Raises `UserError` with file and line if a line is not UTF-8 or too long, or if the file cannot be unpacked.
    """
    number, unpacked = 0, 0
    most = most_unpacked(file) if _is_packed(file) else None
    try:
        with _open(file) as stream:
            for number, line in bounded_lines(stream, lambda at, problem: refusal(file, at, problem)):
                unpacked += len(line)
                if most is not None and unpacked > most:
                    raise UserError(f"{file}, after line {number}: {TOO_MUCH_UNPACKED}")
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise refusal(file, number, _not_utf8(file, error)) from None
    except _UNREADABLE as error:
        raise UserError(f"{file}, after line {number}: not a readable gzip file ({error})") from None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from None


def json_array(file: Path) -> list[Any] | None:
    """Return the JSON array of a file, which may be packed as `.gz`. None if the file does not start with `[`, or if it
    starts with `["`, as lines that are arrays of texts do.

    The file is read at once. Raises `UserError` for more than `LONGEST_ARRAY` bytes.
    """
    try:
        with _open(file) as stream:
            head = stream.read(_HEAD).removeprefix(codecs.BOM_UTF8).lstrip()
            if not head.startswith(b"[") or _LINE_OF_TEXTS.match(head):
                return None
            content = head + stream.read(LONGEST_ARRAY)
        if len(content) > LONGEST_ARRAY:
            raise UserError(f"{file}: a JSON array of more than {LONGEST_ARRAY >> 20} MiB; write it as JSON lines")
        records: list[Any] = json_value(content.decode(), str(file), "a JSON array")
    except UnicodeDecodeError as error:
        raise refusal(file, content.count(b"\n", 0, error.start) + 1, _not_utf8(file, error)) from None
    except _UNREADABLE as error:
        raise UserError(f"{file}: not a readable gzip file ({error})") from None
    return records


def most_unpacked(file: Path) -> int:
    """Return the most bytes that a packed file may unpack to, so that a small file cannot fill the memory."""
    return _FREE + _UNPACKED * file.stat().st_size


def _not_utf8(file: Path, error: UnicodeDecodeError) -> str:
    """Return the problem, with a command that converts a file from Windows."""
    if _is_packed(file):
        return f"not UTF-8 ({error.reason})"
    old, new = shlex.quote(str(file)), shlex.quote(str(file.with_stem(f"{file.stem}_utf8")))
    return f"not UTF-8 ({error.reason}); one from Windows is mended by: iconv -f WINDOWS-1252 -t UTF-8 {old} > {new}"


TOO_MUCH_UNPACKED = f"it unpacks to more than {_UNPACKED} times its size, which no text does"


def _is_packed(file: Path) -> bool:
    return file.suffix.lower() == ".gz"


def _open(file: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(file, "rb")) if _is_packed(file) else file.open("rb")


def refusal(file: Path, number: int, problem: str) -> UserError:
    """Return the error for a problem in a line of a file, with file and line number in its message."""
    return UserError(f"{file}, line {number}: {problem}")


def json_object(text: str, where: str) -> dict[str, Any]:
    """Return the JSON object in a text. Raises `UserError` for anything else. `where`: the location for its message."""
    return check_object(json_value(text, where, "a JSON object"), where)


def json_value(text: str, where: str, what: str) -> Any:
    """Return the JSON value in a text. Raises `UserError` with location (`where`) and expected kind (`what`)."""
    try:
        return parse_json(text)
    except ValueError as error:
        raise UserError(f"{where}: not {what} ({reason(error)})") from None


def check_object(record: Any, where: str) -> dict[str, Any]:
    """Return the value if it is a JSON object; otherwise raise `UserError`. `where`: the location for its message."""
    if not isinstance(record, dict):
        raise UserError(f"{where}: not a JSON object but {type(record).__name__}")
    return record
