"""Checks a results folder: the scores against the predictions, and the report against the folder.

    problems = check(Path("results/scl_ablation"))     # an empty list if all is right

Every number of the ledger that follows from predictions and gold labels is computed again. Then the report is written
again to a temporary folder, in each format that the folder has, and compared number by number: texts, the page, tables,
pictures and `trials.csv`. Numbers that predictions cannot give (see `TaskKind.numbers`: for example, development scores
of classifiers), and those of trials without predictions, are checked only in the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from reports.differences import differences
from reports.facts.guards import GUARDS
from reports.facts.results import Results
from reports.formats import FORMATS
from reports.ledger import Record
from reports.report import report_files, scratch_copy, write_unrecorded
from reports.words.commands import report_command
from trainables.errors import UserError

REPORT_FORM = "md"
REPORT = FORMATS[REPORT_FORM].file
EXACT = 1e-6
"""Largest allowed difference, in points, between a stored number and the same number computed again."""
_ACROSS = re.compile(r"Judged all the same, as `+ ?--across ([\w-]+)")
"""Finds in a report the guards that it was told to ignore (the line is written by `reports/sections/trust.py`)."""


def check(results: Path, sentences: Path | None = None) -> list[str]:
    """Return every problem as a sentence that names the position and both numbers; empty if there is none.

    The report is written again in the formats that the folder has, with the same guards ignored. `sentences` is the
    SentEval folder of `write_report`; without it the sentences in the page are not checked. Raise `UserError` if the
    folder is not a study's, or if no trial is finished.
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
            for number, value in results.predictions.recomputed(record, task).items():
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
    """Return the differences between a newly written report and the files of the report in the folder."""
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
        items = [item for name in report_files() for item in (copy / name, *(copy / name).rglob("*"))]
        made = sorted(item for item in items if item.is_file())
        return [problem for file in made for problem in _file(results, copy, file, sentences is not None)]


def _file(results: Path, copy: Path, made: Path, sentences: bool) -> Iterator[str]:
    name = made.relative_to(copy).as_posix()
    path = results / name
    if not path.is_file():
        yield f"{results} holds no {name}, which its report is written with."
    elif (stored := path.read_bytes()) != (again := made.read_bytes()):
        yield from differences(stored.decode(errors="replace"), again.decode(errors="replace"), name, sentences)
