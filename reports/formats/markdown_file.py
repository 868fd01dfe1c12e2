"""`report.md`: the sections' markdown one after the other, what is folded under a heading of its own."""

from __future__ import annotations

from pathlib import Path

from reports.formats import Document
from reports.markdown import text
from trainables.files import write_whole


def write(document: Document, path: Path) -> None:
    """Write the report as markdown."""
    body = [section.markdown for section in document.sections if not section.folded]
    appendix = [section.markdown for section in document.sections if section.folded]
    parts = [f"# {text(document.title)}", *body, *(["# Appendix", *appendix] if appendix else [])]
    write_whole(path, "\n\n".join(parts) + "\n")
