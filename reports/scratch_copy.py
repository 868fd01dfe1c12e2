"""A copy of a results folder in which a report can be written without touching the one that is there."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reports.answer import FILE
from reports.formats import FORMATS
from reports.report import PICTURES, TRIALS


@contextlib.contextmanager
def scratch_copy(results: Path) -> Iterator[Path]:
    """A temporary folder of the same name, which holds links to everything but what a report writes."""
    written = {PICTURES, TRIALS, FILE, *(form.file for form in FORMATS.values())}
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / results.resolve().name
        copy.mkdir()
        for item in results.resolve().iterdir():
            if item.name not in written:
                (copy / item.name).symlink_to(item)
        yield copy
