"""Text files of tasks, line by line. A broken file raises `UserError` with the file and the line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from trainables.errors import UserError, choices, shown
from trainables.lines import bounded_lines
from trainables.text_lines import refusal

_NAMED, _LENGTH = 12, 40
"""A message names the classes of a task only up to this number of classes, and of letters in each name."""


def read_text(path: Path, encoding: str = "utf-8-sig") -> str:
    """Return the whole file. Raises `UserError` if it is empty, not of this encoding, or has too long a line."""
    try:
        with path.open("rb") as file:
            for _ in bounded_lines(file, partial(refusal, path)):
                pass
        content = path.read_text(encoding=encoding)
    except UnicodeDecodeError as error:
        line = len((path.read_bytes()[: error.start] + b"?").splitlines())
        raise refusal(path, line, f"not {encoding.removesuffix('-sig')} text (byte {error.start})") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    if not content.strip():
        raise UserError(f"{path} is empty")
    return content


def read_lines(path: Path, encoding: str = "utf-8-sig") -> list[tuple[int, str]]:
    """Return the lines of a file, each with its number from 1."""
    lines = read_text(path, encoding).split("\n")
    return list(enumerate(lines[:-1] if not lines[-1] else lines, start=1))


def read_fields(
    path: Path, columns: int, header: bool = False, further_columns: bool = False
) -> list[tuple[int, list[str]]]:
    """Return line numbers and fields between tabs; `header` skips the first line, `further_columns` allows more."""
    rows = []
    for number, line in read_lines(path)[1 if header else 0 :]:
        fields = line.strip().split("\t")
        if len(fields) < columns or (len(fields) > columns and not further_columns):
            raise refusal(path, number, f"expected {columns} columns with tabs between them, found {len(fields)}")
        rows.append((number, fields))
    return rows


def class_number(labels: Sequence[str], label: str, path: Path, line: int) -> int:
    """Return the number of the class that a label names; raise `UserError` if `labels` lacks it."""
    if label not in labels:
        short = len(labels) <= _NAMED and all(len(name) <= _LENGTH and name.isprintable() for name in labels)
        known = choices(labels) if short else f"the {len(labels):,} classes"
        raise refusal(path, line, f"label {shown(label)} is none of {known}")
    return labels.index(label)
