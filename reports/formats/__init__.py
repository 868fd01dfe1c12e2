"""The formats of a report, each made from the blocks of its sections (`reports.document`).

    from reports.formats import FORMATS
    FORMATS["html"].write(document)

A plugin adds a format as it adds a section: `FORMATS.add(Format("txt", "report.txt", write))`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reports.document import WrittenSection
from reports.facts.results import Results
from reports.ledger.names import writable_path
from reports.words.markdown import text
from trainables.files import write_whole
from trainables.registry import Registry, load


@dataclass(frozen=True)
class Document:
    """The content of a report, before a format writes it."""

    results: Results
    title: str
    """The title as plain text, not markdown."""
    sections: tuple[WrittenSection, ...]
    """The sections with content, in order. Their pictures are in the results folder."""
    sentences: Path | None = None
    """A SentEval data folder whose sentences the page may show; None: the page shows items by number."""


@dataclass(frozen=True)
class Format:
    """A format in which reports are written."""

    name: str
    file: str
    """Name of the file or folder that the format writes in the results folder."""
    writer: Callable[[Document, Path], None] | str
    """The function that writes a document to a path, or its location as `"module:function"`."""

    def write(self, document: Document) -> Path:
        """Write the document into its results folder and return the path."""
        path = writable_path(document.results.folder, self.file)
        load(self.writer)(document, path)
        return path


def write_markdown(document: Document, path: Path) -> None:
    """Write all sections as markdown. Sections of the appendix follow the others, under a heading of the appendix."""
    body = [section.markdown for section in document.sections if not section.folded]
    appendix = [section.markdown for section in document.sections if section.folded]
    parts = [f"# {text(document.title)}", *body, *(["# Appendix", *appendix] if appendix else [])]
    write_whole(path, "\n\n".join(parts) + "\n")


FORMATS = Registry(
    "format of a report",
    Format("md", "report.md", write_markdown),
    Format("html", "report.html", "reports.formats.page:write"),
    Format("json", "report.json", "reports.formats.data:write"),
    Format("csv", "tables", "reports.formats.tables_csv:write"),
)
