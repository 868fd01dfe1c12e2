"""Numbers and words as inline markdown. A missing number is a dash.

All words from outside (labels, notes, reasons, commands, claims, paths) must go through `text` or `code`: these escape
headings, HTML, links and ends of table cells.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from reports.statistics import Measured
from trainables.lines import one_line

DASH = "—"


def number(value: float | None, digits: int = 2) -> str:
    """Return `66.06`, or a dash for None; numbers that round to zero have no sign."""
    if value is None:
        return DASH
    printed = f"{value:,.{digits}f}"
    return printed.lstrip("-") if not printed.strip("-0.") else printed


def signed(value: float | None, digits: int = 2) -> str:
    """Return `+2.83`, or a dash for None; numbers that round to zero have no sign."""
    if value is None:
        return DASH
    printed = f"{value:+.{digits}f}"
    return printed[1:] if float(printed) == 0 else printed


def percent(share: float | None) -> str:
    """Return a share in percent, `80 %`, or a dash for None."""
    return f"{number(None if share is None else 100 * share, 0)} %"


def spread(value: Measured | None, digits: int = 2) -> str:
    """Return `66.06 ± 0.31`: a mean over seeds and, for several seeds, their sample standard deviation."""
    if value is None:
        return DASH
    return number(value.mean, digits) + ("" if value.std is None else f" ± {value.std:.{digits}f}")


_MARKS = re.compile(r"[\\\\`*\[\]<>|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|:(?=//)|(?<=www)\.|@")
"""Characters with a meaning in a line of markdown: emphasis, code, links, HTML, columns, formulas."""
_START = re.compile(r"^(\d*)([.)](?=\s|$)|[#+=-])")
"""Starts of a line that markdown takes for those of a heading, a list or a rule."""


def text(value: object) -> str:
    """Return words from outside on one line, escaped so that markdown shows them unchanged."""
    return _START.sub(r"\1\\\2", _MARKS.sub(r"\\\g<0>", one_line(value)))


def code(value: object) -> str:
    """Return a code span of a recipe's value, as written in `--set`, or of any text, which cannot end the span.

    Absolute paths are shortened (`short_paths`); `verbatim` keeps them.
    """
    if isinstance(value, tuple | list):
        value = ",".join(map(str, value))
    return verbatim(short_paths("none" if value is None else str(value)))


def verbatim(value: object) -> str:
    """Return a code span of the unchanged text, for commands."""
    line = one_line(value) or "''"
    ticks = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    pad = " " * (line.startswith("`") or line.endswith("`"))
    return f"{ticks}{pad}{line}{pad}{ticks}"


def short_paths(value: str) -> str:
    """Shorten absolute paths in a text to their last two names. `study.json` has the full paths."""
    parts = [f"…/{'/'.join(Path(part).parts[-2:])}" if part.startswith("/") else part for part in value.split(",")]
    return ",".join(parts)


def count(how_many: int, noun: str) -> str:
    """Return a number with its noun: `1 row` or `3 rows`."""
    return f"{how_many:,} {noun}{'' if how_many == 1 else 's'}"


def span(values: Collection[float]) -> str:
    """Return `0.13 to 0.72`, the smallest and largest of the values; one number if both look equal."""
    return " to ".join(dict.fromkeys(map(number, (min(values), max(values)))))


def duration(seconds: float) -> str:
    """Return `40 s`, `3 min`, `2 h 5 min` or `3 days 4 h`."""
    minutes, hours = round(seconds / 60), int(seconds // 3600)
    if seconds < 100:
        return f"{max(0, round(seconds))} s"
    if minutes < 100:
        return f"{minutes} min"
    if hours < 48:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{hours // 24} days {hours % 24} h"


def time_left(seconds: float) -> str:
    """Return the time left in words: `about 3 min left`."""
    return f"about {duration(seconds)} left" if seconds >= 1 else "about to end"
