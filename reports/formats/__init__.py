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
    """A report before it is written in a format."""

    results: Results
    title: str
    """Plain text, not markdown."""
    sections: tuple[WrittenSection, ...]
    """In order. Their pictures are in the results folder."""
    sentences: Path | None = None
    """A SentEval data folder whose sentences the page may show; None: the page shows items by number."""


@dataclass(frozen=True)
class Format:
    """A format of the report."""

    name: str
    file: str
    """The file or folder to write, within the results folder."""
    writer: Callable[[Document, Path], None] | str
    """The function that writes a document to that path, or `"module:function"`."""

    def write(self, document: Document) -> Path:
        """Write the document into its results folder and return the path."""
        path = writable_path(document.results.folder, self.file)
        load(self.writer)(document, path)
        return path


def write_markdown(document: Document, path: Path) -> None:
    """Write the markdown of all sections; folded ones follow under their own heading."""
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
