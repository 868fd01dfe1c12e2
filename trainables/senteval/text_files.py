"""Text files of tasks, line by line. A broken one raises `UserError` with the file and the line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainables.errors import UserError, choices


def read_text(path: Path, encoding: str = "utf-8-sig") -> str:
    """The whole file; refused where it is empty or no text of that encoding."""
    try:
        content = path.read_text(encoding=encoding)
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise broken(path, line, f"not {encoding.removesuffix('-sig')} text (byte {error.start})") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    if not content.strip():
        raise UserError(f"{path} is empty")
    return content


def read_lines(path: Path, encoding: str = "utf-8-sig") -> list[tuple[int, str]]:
    """Line numbers from 1, and lines."""
    found = read_text(path, encoding).split("\n")
    return list(enumerate(found[:-1] if not found[-1] else found, start=1))


def read_fields(path: Path, columns: int, header: bool = False, more: bool = False) -> list[tuple[int, list[str]]]:
    """Line numbers and fields between tabs; `header` leaves out the first line, `more` admits further columns."""
    found = []
    for number, line in read_lines(path)[1 if header else 0 :]:
        fields = line.strip().split("\t")
        if len(fields) < columns or (len(fields) > columns and not more):
            raise broken(path, number, f"expected {columns} columns with tabs between them, found {len(fields)}")
        found.append((number, fields))
    return found


def class_number(labels: Sequence[str], label: str, path: Path, line: int) -> int:
    """Which of the classes a label names."""
    if label not in labels:
        raise broken(path, line, f"label {label!r} is none of {choices(labels)}")
    return labels.index(label)


def score_within(found: str, path: Path, line: int, scale: tuple[float, float]) -> float:
    """A number within a scale."""
    low, high = scale
    try:
        value = float(found)
    except ValueError:
        raise broken(path, line, f"score {found!r} is not a number") from None
    if not low <= value <= high:
        raise broken(path, line, f"score {found} is not between {low:g} and {high:g}")
    return value


def shown(line: str) -> str:
    """A line as a message quotes it."""
    return repr(line if len(line) <= 60 else line[:57] + "...")


def broken(path: Path, line: int, problem: str) -> UserError:
    """The one sentence about a line."""
    return UserError(f"{path}:{line}: {problem}")
