"""`report.md`: the sections' markdown as it is, one after the other, what is folded under a heading of its own."""

from __future__ import annotations

from pathlib import Path

from reports.formats import Document
from reports.markdown import text
from trainables.files import write_whole


def write(document: Document, path: Path) -> None:
    """Write the report as markdown."""
    body, appendix = ([part.markdown for part in document.parts if part.folded is folded] for folded in (False, True))
    parts = [f"# {text(document.title)}", *body, *(["# Appendix", *appendix] if appendix else [])]
    write_whole(path, "\n\n".join(parts) + "\n")
