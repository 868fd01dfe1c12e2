"""A copy of a results folder in which a report can be written without touching the one that is there."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reports.answer import FILE
from reports.formats import FORMATS
from reports.ledger import PLUGINS, StudyInfo
from reports.ledger.own_code import SPACE_FILE
from reports.report import PICTURES, TRIALS


@contextlib.contextmanager
def scratch_copy(results: Path) -> Iterator[Path]:
    """A temporary folder of the same name, which holds the study's code, and links to all else but what a report
    writes. `UserError` for code that is itself a link."""
    code = StudyInfo.load(results).code(results)
    left_out = {SPACE_FILE, PLUGINS, *written()}
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / results.resolve().name
        copy.mkdir()
        for item in results.resolve().iterdir():
            if item.name not in left_out:
                (copy / item.name).symlink_to(item)
        for name, text in code.items():  # no links: what a link leads to does not run
            (copy / name).parent.mkdir(exist_ok=True)
            (copy / name).write_text(text, encoding="utf-8")
        yield copy


def written() -> set[str]:
    """The files and folders that writing a report makes, in all of its forms."""
    return {PICTURES, TRIALS, FILE, *(form.file for form in FORMATS.values())}
