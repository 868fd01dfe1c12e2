"""`tables/SECTION-N.csv`: every table of the report as a file for spreadsheets and scripts; a dash is an empty cell."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from markdown_it.token import Token

from reports.formats import Document
from reports.formats.parsed import Table, parse, plain, tables
from reports.markdown import DASH
from reports.trials_csv import inert
from trainables.files import write_whole


def write(document: Document, path: Path) -> None:
    """Write all tables into the folder `path`; tables of an earlier report go."""
    contents = {
        f"{part.name}-{number}.csv": as_csv(found)
        for part in document.parts
        for number, found in enumerate(tables(parse(part.content)), start=1)
    }
    for old in path.glob("*.csv"):
        if old.name not in contents:
            old.unlink()
    for name, content in contents.items():
        write_whole(path / name, content)


def as_csv(found: Table) -> str:
    """The table, a line a row."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([_cell(cell) for cell in row] for row in (found.head, *found.rows))
    return text.getvalue()


def _cell(token: Token) -> str:
    """A cell's words, which no spreadsheet runs."""
    words = plain(token).strip()
    return "" if words == DASH else inert(words)
