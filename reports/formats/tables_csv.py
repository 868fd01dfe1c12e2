"""`tables/SECTION-N.csv`: every table of the report, for spreadsheets and scripts. A dash becomes an empty cell."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from reports.document import DataTable
from reports.document.inline import plain
from reports.formats import Document
from reports.formats.trials_csv import escape_formula
from reports.words.markdown import DASH
from trainables.files import write_whole


def write(document: Document, path: Path) -> None:
    """Write all tables into the folder `path`, and delete the tables of an earlier report."""
    contents: dict[str, str] = {}
    for section in document.sections:
        tables = [block for block in section.blocks if isinstance(block, DataTable)]
        contents |= {f"{section.name}-{number}.csv": as_csv(table) for number, table in enumerate(tables, start=1)}
    for old in path.glob("*.csv"):
        if old.name not in contents:
            old.unlink()
    for name, content in contents.items():
        write_whole(path / name, content)


def as_csv(table: DataTable) -> str:
    """Return the table as CSV, a line for each row."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_cell(cell) for cell in row] for row in (table.head, *table.rows))
    return text.getvalue()


def _cell(words: str) -> str:
    """Return a cell's text without markdown, in a form that no spreadsheet runs as a formula."""
    words = plain(words).strip()
    return "" if words == DASH else escape_formula(words)
