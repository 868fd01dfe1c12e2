"""Makes a report from a results folder: its sections in order (`reports/sections`), in any of `reports/formats`.

A report is made of `study.json`, the ledger and the stored predictions, without Ray or torch. The same folder gives the
same text.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from reports.document import WrittenSection
from reports.facts.answer import FILE, Answer
from reports.facts.guards import GUARDS
from reports.facts.looks import record_look
from reports.facts.recipe_names import recipe_names
from reports.facts.results import Results
from reports.formats import FORMATS, Document
from reports.formats.trials_csv import write_trials_csv
from reports.ledger import PLUGINS, StudyInfo
from reports.ledger.names import writable_path
from reports.ledger.own_code import SPACE_FILE
from reports.sections import in_order
from trainables.files import write_whole

PICTURES = "pictures"
TRIALS = "trials.csv"


def sections(results: Results) -> list[WrittenSection]:
    """Return every section with content, in order. Pictures are written to the results folder."""
    pictures = writable_path(results.folder, PICTURES)
    written = [section.written(results, pictures) for section in in_order()]
    return [section for section in written if section.blocks]


def write_report(
    folder: Path, formats: Sequence[str] = ("md",), *, across: Sequence[str] = (), sentences: Path | None = None
) -> Path:
    """Write the report, its pictures and `trials.csv` into the results folder; return the path of the first format.

    A report that may hold verdicts is recorded as a look at the study (`facts.looks`). `across`: guards whose flags do
    not forbid verdicts. `sentences`: a SentEval data folder whose sentences the page may show. Raise `UserError` for a
    folder that is not a study's, without any finished trial, and for an unknown format or guard.
    """
    record_look(write_unrecorded(folder, formats, across=across, sentences=sentences), folder)
    return folder / FORMATS[formats[0]].file


def write_unrecorded(
    folder: Path, formats: Sequence[str], *, across: Sequence[str] = (), sentences: Path | None = None
) -> Results:
    """Write the report as `write_report` does, but without recording a look; return the results it was made of."""
    chosen = [FORMATS[name] for name in formats]
    results = Results.load(folder)
    if across:
        guards = [*results.info.across, *(GUARDS[name].name for name in across)]
        results = replace(results, info=replace(results.info, across=guards))
    document = Document(results, results.space.title, tuple(sections(results)), sentences)
    for form in chosen:
        form.write(document)
    content = json.dumps(Answer.of(results).as_json(), indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(writable_path(folder, FILE), content + "\n")
    every = [*results.trials_and_soups, *results.differently_evaluated]
    write_trials_csv(writable_path(folder, TRIALS), every, results.labels, recipe_names(results), results.goals)
    return results


@contextlib.contextmanager
def scratch_copy(results: Path) -> Iterator[Path]:
    """Yield a temporary folder of the same name, with the study's code and links to everything that no report writes.
    Raise `UserError` for code that is a link."""
    code = StudyInfo.load(results).code(results)
    left_out = {SPACE_FILE, PLUGINS, *report_files()}
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / results.resolve().name
        copy.mkdir()
        for item in results.resolve().iterdir():
            if item.name not in left_out:
                (copy / item.name).symlink_to(item)
        for name, text in code.items():  # copied, as linked code does not run
            (copy / name).parent.mkdir(exist_ok=True)
            (copy / name).write_text(text, encoding="utf-8")
        yield copy


def report_files() -> set[str]:
    """Return the files and folders that reports write, in all formats."""
    return {PICTURES, TRIALS, FILE, *(form.file for form in FORMATS.values())}
