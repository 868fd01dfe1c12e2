"""Commands that a reader can type, made from those that ran the study."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from fnmatch import fnmatchcase
from glob import escape
from pathlib import Path

from reports.ledger import StudyInfo
from reports.ledger.option_values import NumberRange
from reports.ledger.request import Request

WHY_MINUTES = 10
"""Limit, in minutes, of the command that explains a study's gain. It usually suffices."""


def study_command(info: StudyInfo, rows: Sequence[str] = (), seeds: int | None = None) -> str:
    """Return the study's last command; if given, only for these rows (labels or patterns), or with so many seeds."""
    request = info.request
    if rows:
        request = dataclasses.replace(request.without_search(), only=tuple(rows))
    if seeds is not None:
        request = dataclasses.replace(request, seeds=NumberRange(seeds, seeds))
    return request.command


def recipe_command(info: StudyInfo) -> str:
    """Return the command that trains the recipe to use; on own data with all rows, also those held out for tests."""
    data = {name: getattr(info.request, name) for name in ("train", "columns", "labels", "max_rows", "drop_leaks")}
    return Request(recipe=results_location(info), **data).command


def why_command(info: StudyInfo) -> str:
    """Return the command that explains why a study of own data gained, or what prevents a gain."""
    return Request(why=results_location(info), limit=(f"minutes={WHY_MINUTES}",)).command


def patterns(rows: Sequence[str], every: Sequence[str]) -> list[str]:
    """Return few words for `--only` that match these `rows` and no others of `every`: labels, or such as `*-SCL`."""
    uncovered, words = list(rows), list[str]()
    others = set(every) - set(rows)
    ends = [end for row in rows for n in range(1, len(row)) for end in (f"{escape(row[:n])}*", f"*{escape(row[n:])}")]
    free = [end for end in dict.fromkeys(ends) if not any(fnmatchcase(other, end) for other in others)]
    while uncovered:
        most = max(free, key=lambda end: (sum(fnmatchcase(row, end) for row in uncovered), len(end)), default="")
        own = [row for row in uncovered if fnmatchcase(row, most)]
        words.append(most if len(own) > 1 else uncovered[0])
        uncovered = [row for row in uncovered if row not in (own if len(own) > 1 else uncovered[:1])]
    return words


def results_location(info: StudyInfo) -> str:
    """Return the folder or URL of the study's results, as in its last command."""
    default = f"results/{info.space}"
    return info.request.results or (default if info.request.train else f"{default}-{info.scale}")


def report_command(results: Path, *options: str) -> str:
    """Return the command that writes the report of a results folder, with these options."""
    return shlex.join(["python", "-m", "reports", str(results), *options])
