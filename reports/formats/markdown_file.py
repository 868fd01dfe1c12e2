"""`report.md`: the sections' markdown as it is, one after the other."""

from __future__ import annotations

from pathlib import Path

from reports.formats import Document
from reports.markdown import text
from trainables.files import write_whole


def write(document: Document, path: Path) -> None:
    """Write the report as markdown."""
    parts = [f"# {text(document.title)}", *(part.markdown for part in document.parts)]
    write_whole(path, "\n\n".join(parts) + "\n")
