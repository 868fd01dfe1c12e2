"""Numbers and tables as markdown. A missing number is a dash."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from reports.statistics import Measured

DASH = "—"


def number(value: float | None, digits: int = 2) -> str:
    """`66.06`, or a dash."""
    return DASH if value is None else f"{value:,.{digits}f}"


def signed(value: float | None, digits: int = 2) -> str:
    """`+2.83`, or a dash; what rounds to zero has no sign."""
    if value is None:
        return DASH
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text


def spread(value: Measured | None, digits: int = 2) -> str:
    """`66.06 ± 0.31`: the mean and the sample standard deviation over seeds, if there are several."""
    if value is None:
        return DASH
    return number(value.mean, digits) + ("" if value.std is None else f" ± {value.std:.{digits}f}")


def code(value: object) -> str:
    """A recipe's value as it is written in `--set`."""
    text = ",".join(value) if isinstance(value, tuple | list) else "none" if value is None else str(value)
    return f"`{short_paths(text)}`"


def short_paths(text: str) -> str:
    """Absolute paths by their last two names; `study.json` has them whole."""
    parts = [f"…/{'/'.join(Path(part).parts[-2:])}" if part.startswith("/") else part for part in text.split(",")]
    return ",".join(parts)


def count(how_many: int, noun: str) -> str:
    """`1 row`, `3 rows`."""
    return f"{how_many:,} {noun}{'' if how_many == 1 else 's'}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A markdown table whose first `left` columns are text and whose others are numbers."""
    lines = [[escape(cell) for cell in row] for row in (head, *rows)]
    widths = [max(3, *(len(line[index]) for line in lines)) for index in range(len(head))]
    rule = ["-" * width if index < left else "-" * (width - 1) + ":" for index, width in enumerate(widths)]
    aligned = [
        [
            cell.ljust(width) if index < left else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        for line in lines
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in (aligned[0], rule, *aligned[1:]))


def bullets(items: Iterable[str]) -> str:
    """A markdown list."""
    return "\n".join(f"- {item}" for item in items)


def escape(cell: str) -> str:
    """A cell without line breaks and column marks, which would end it."""
    return cell.replace("|", "\\|").replace("\n", " ")
