"""Whether a results folder holds together: scores against predictions, and the report against the folder.

    problems = check(Path("results/scl_ablation"))     # an empty list: all is right

Every number of the ledger that predictions and right answers give is computed again. Then the report is written anew in
a temporary folder, in each of the forms that the folder holds, and compared number by number: texts, the page, tables,
pictures and `trials.csv`. What a task's kind cannot tell from predictions (`TaskKind.numbers`: development scores of
classifiers, for instance), and trials without predictions cannot be computed again: of these only what is written is
checked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path

from reports import markup
from reports.commands import report_command
from reports.formats import FORMATS
from reports.guards import GUARDS
from reports.ledger import Record
from reports.markdown import DASH
from reports.report import write_unrecorded
from reports.results import Results
from reports.scratch_copy import scratch_copy, written
from trainables.errors import UserError

REPORT_FORM = "md"
REPORT = FORMATS[REPORT_FORM].file
EXACT = 1e-6
"""So far, in points, two computations of one number may lie apart."""
FULL = 15
"""Characters from which on a number is written with all of its digits."""

_MARKUP, _TEXT = (".html", ".svg"), (".md", ".csv", ".txt", ".json")
_ACROSS = re.compile(r"Judged all the same, as `+ ?--across ([\w-]+)")
"""What a report says of each guard that it was told to judge across (`reports/sections/trust.py`)."""
_VALUE = re.compile(rf"(?:(?<![\w.])[+-])?\d+(?:,\d{{3}})*(?:\.\d+)?|{DASH}")
_RULE = set("|-: ")
"""What the line under a table's head is made of; its length follows from the widths of the numbers."""


def check(results: Path, sentences: Path | None = None) -> list[str]:
    """Every problem in a sentence that names the place and both numbers; none where the folder holds together.

    The report is written anew in the forms that the folder holds, across the guards that it names. `sentences` as in
    `write_report`; without it the page's sentences are not checked. Raises `UserError` for a folder that is no study's,
    or where nothing is finished.
    """
    read = Results.load(results)
    aside = (f"The record {name} was set aside: {reason}." for name, reason in read.set_aside.items())
    return [*aside, *_scores(read), *_written(results, sentences)]


# Scores


def _scores(results: Results) -> Iterator[str]:
    for record in results.trials_and_soups:
        name = _name(results, record)
        for file in record.predictions:
            if not (results.folder / file).is_file():
                yield f"{name} should have predictions in {file}, but that file is not there."
        for task, numbers in record.scores.items():
            for number, value in results.predictions.again(record, task).items():
                stored = numbers.get(number)
                if number not in numbers:  # a record of another version
                    continue
                if value is None:
                    yield f"{name}: {number} of {task} is {stored} in the ledger, but its predictions cannot give it."
                elif not isinstance(stored, int | float) or not abs(stored - value) <= EXACT:
                    ledger = f"{stored:.4f}" if isinstance(stored, int | float) else repr(stored)
                    yield f"{name}: {number} of {task} is {ledger} in the ledger, but its predictions give {value:.4f}."
        problem = results.predictions.problems.get(record.key)
        if problem:
            yield f"{name}: {problem}."


def _name(results: Results, record: Record) -> str:
    row = results.labels.get(record.recipe_hash)
    return f"The trial {record.key}" + (f" (row {row}, seed {record.seed})" if row else "")


# What was written


def _written(results: Path, sentences: Path | None) -> list[str]:
    """Every file that writing the report makes, beside the one that stands in the folder."""
    path = results / REPORT
    if not path.is_file():
        return [f"{results} holds no {REPORT}; `{report_command(results)}` writes one."]
    across = _ACROSS.findall(path.read_text(encoding="utf-8", errors="replace"))
    forms = [
        REPORT_FORM,
        *(form.name for form in FORMATS.values() if form.name != REPORT_FORM and (results / form.file).exists()),
    ]
    with scratch_copy(results) as copy:
        try:
            write_unrecorded(
                copy, forms, across=[name for name in dict.fromkeys(across) if name in GUARDS], sentences=sentences
            )
        except UserError as error:
            return [f"{REPORT} cannot be written again: {error}."]
        made = sorted(file for name in written() for file in _files(copy / name))
        return [problem for file in made for problem in _file(results, copy, file, sentences is not None)]


def _files(item: Path) -> list[Path]:
    return [file for file in (item, *item.rglob("*")) if file.is_file()]


def _file(results: Path, copy: Path, made: Path, sentences: bool) -> Iterator[str]:
    name = made.relative_to(copy).as_posix()
    path = results / name
    if not path.is_file():
        yield f"{results} holds no {name}, which its report is written with."
        return
    stored, again = path.read_bytes(), made.read_bytes()
    if stored == again:
        return
    if made.suffix not in (*_MARKUP, *_TEXT):
        yield f"{name} is not the file that the folder gives."
        return
    texts = stored.decode(errors="replace"), again.decode()
    if made.suffix in _MARKUP:
        yield from (f"{problem}." for problem in markup.differences(*texts, name, sentences))
    else:
        yield from differences(*texts, name)


def differences(stored: str, again: str, name: str = REPORT) -> Iterator[str]:
    """Where a text that stands in a folder differs from the one that the folder gives, in sentences."""
    old, new = stored.splitlines(), again.splitlines()
    places = list(_places(old))
    lines = SequenceMatcher(None, [_words(line) for line in old], [_words(line) for line in new], autojunk=False)
    for kind, low, high, new_low, new_high in lines.get_opcodes():
        for number, (first, second) in enumerate(zip_longest(old[low:high], new[new_low:new_high]), low):
            if first is None:
                if second.strip():
                    yield f"{name} lacks a line that the folder gives: {_short(second)}"
            elif second is None:
                if first.strip():
                    yield f"{_at(name, places, number)} has a line that the folder does not give: {_short(first)}"
            elif kind == "replace":
                yield f"{_at(name, places, number)} says {_short(first)}, but the folder gives {_short(second)}"
            else:
                yield from _numbers(_at(name, places, number), first, second)


def _numbers(place: str, first: str, second: str) -> Iterator[str]:
    """Two lines of the same words, cell by cell where they are a table's."""
    row = _cells(first)[0] if len(_cells(first)) > 1 else ""
    where = f"{place} row {row.strip('*` ')}," if row else place
    for mine, other in zip(_VALUE.findall(first), _VALUE.findall(second), strict=True):
        if mine != other and not _rounded_alike(mine, other):
            yield f"{where} says {mine}, but the folder gives {other}."


def _rounded_alike(mine: str, other: str) -> bool:
    """Of numbers that are written in full: another machine may round the last of sixteen digits otherwise."""
    if min(len(mine), len(other)) < FULL or DASH in (mine, other):
        return False
    first, second = (float(number.replace(",", "")) for number in (mine, other))
    return math.isclose(first, second, rel_tol=1e-12)


def _words(line: str) -> str:
    """A line without its numbers, and without the spaces and rules that follow from their widths."""
    if line.startswith("|") and set(line) <= _RULE:
        return "|" * line.count("|")
    return " ".join(_VALUE.sub("#", line.replace("**", "")).split())


def _places(lines: list[str]) -> Iterator[str]:
    """The heading under which each line stands."""
    heading = ""
    for line in lines:
        heading = line.lstrip("# ") if line.startswith("#") else heading
        yield heading


def _at(name: str, places: list[str], number: int) -> str:
    under = f" ({places[number]})" if places[number] else ""
    return f"{name}, line {number + 1}{under},"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("| ").split("|")] if line.startswith("|") else []


def _short(line: str) -> str:
    text = " ".join(line.split())
    return f"{text!r}" if len(text) <= 120 else f"{text[:117] + '...'!r}"
