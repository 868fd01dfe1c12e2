"""The forms that a report is written in. Markdown is the document; the other forms are made of it.

    from reports.formats import FORMATS
    FORMATS["html"].write(document)

Sections write markdown, so that a section from outside the repository stands in every format by itself. A plugin adds
a format as it adds a section: `FORMATS.add(Format("txt", "report.txt", write))`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from reports.ledger.names import to_write
from reports.results import Results
from trainables.registry import Registry, load


@dataclass(frozen=True)
class Part:
    """A section as it was written: markdown without any HTML."""

    name: str
    """The section's."""
    heading: str
    """Empty for what stands right under the title."""
    content: str
    """Markdown under the heading. A picture is named by its path within the results folder."""
    folded: bool

    @property
    def markdown(self) -> str:
        """With its heading, within a fold where it is folded: the only HTML of a report in markdown."""
        head = f"## {self.heading}" if self.heading else ""
        if self.folded:
            return f"<details><summary>\n\n{head}\n\n</summary>\n\n{self.content}\n\n</details>"
        return f"{head}\n\n{self.content}" if head else self.content


@dataclass(frozen=True)
class Document:
    """A report before it has a form."""

    results: Results
    title: str
    """Plain text, not markdown."""
    parts: tuple[Part, ...]
    """Its sections in order, as markdown. They name pictures by their path within the results folder."""
    sentences: Path | None = None
    """A SentEval data folder whose sentences may be put into the page; without one, items go by their numbers."""


@dataclass(frozen=True)
class Format:
    """A form of the report."""

    name: str
    file: str
    """The file, or folder, within the results folder that it is written to."""
    writer: Callable[[Document, Path], None] | str
    """The function that writes a document to that path, or `"module:function"`."""

    def write(self, document: Document) -> Path:
        """Write the document into its results folder; returns the path."""
        path = to_write(document.results.folder, self.file)
        load(self.writer)(document, path)
        return path


FORMATS = Registry(
    "format of a report",
    Format("md", "report.md", "reports.formats.markdown_file:write"),
    Format("html", "report.html", "reports.formats.page:write"),
    Format("json", "report.json", "reports.formats.data:write"),
    Format("csv", "tables", "reports.formats.tables_csv:write"),
)
