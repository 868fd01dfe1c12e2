"""The content of a report before it is written in a format: typed blocks in sections. Each block has its markdown.

    [DataTable(["Row", "mean"], [["`a`", "66.06"]]), Bullets(["first", "second"])]

A paragraph is a string. Words of all blocks are inline markdown (`reports.words.markdown`): emphasis, code and links.
Other formats match on the types of blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from reports.words.markdown import text


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    words: str

    @property
    def markdown(self) -> str:
        return f"### {self.words}"


@dataclass(frozen=True)
class Bullets:
    """A bulleted list. Without items it is left out of the report."""

    items: Sequence[str]

    def __bool__(self) -> bool:
        return bool(self.items)

    @property
    def markdown(self) -> str:
        return "\n".join(f"- {item}" for item in self.items)


@dataclass(frozen=True)
class CodeBlock:
    """Lines that are shown unchanged, such as a command."""

    lines: str
    language: str = "sh"

    @property
    def markdown(self) -> str:
        """The lines in a fence that is longer than any run of backticks in them."""
        fence = "`" * max([3, *(len(ticks) + 1 for ticks in re.findall("`+", self.lines))])
        return f"{fence}{self.language}\n{self.lines}\n{fence}"


@dataclass(frozen=True)
class DataTable:
    """A table. Its first `left` columns are text, the others are numbers."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1

    @property
    def markdown(self) -> str:
        """The table as markdown with columns of equal widths, readable as plain text."""
        lines = [[cell.replace("|", "\\|").replace("\n", " ") for cell in row] for row in (self.head, *self.rows)]
        widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
        rule = ["-" * width if n < self.left else "-" * (width - 1) + ":" for n, width in enumerate(widths)]
        lines.insert(1, rule)
        return "\n".join(f"| {' | '.join(self._aligned(line, widths))} |" for line in lines)

    def _aligned(self, line: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
        for column, (cell, width) in enumerate(zip(line, widths, strict=True)):
            yield cell.ljust(width) if column < self.left else cell.rjust(width)


@dataclass(frozen=True)
class Picture:
    """A picture that was written to a file in a subfolder of the results folder."""

    path: Path
    title: str
    """The title as plain text, not markdown."""

    @property
    def name(self) -> str:
        """Path of the file within the results folder."""
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def markdown(self) -> str:
        return f"![{text(self.title)}]({self.name})"


@dataclass(frozen=True)
class SideBySide:
    """Small pictures side by side. Without pictures the block is left out."""

    pictures: Sequence[Picture]

    def __bool__(self) -> bool:
        return bool(self.pictures)

    @property
    def markdown(self) -> str:
        return "\n".join(picture.markdown for picture in self.pictures)


Block: TypeAlias = str | Heading | Bullets | CodeBlock | DataTable | Picture | SideBySide
"""A block of a report. A string is a paragraph; an empty one is left out."""


def markdown(blocks: Iterable[Block]) -> str:
    """Return the markdown of all blocks that are not empty, with empty lines between."""
    return "\n\n".join(block if isinstance(block, str) else block.markdown for block in blocks if block)


@dataclass(frozen=True)
class WrittenSection:
    """A section of a report with its blocks written."""

    name: str
    heading: str
    """The section's heading; empty for the text directly below the report's title."""
    blocks: Sequence[Block]
    folded: bool
    """Whether the section is in the appendix."""

    @property
    def markdown(self) -> str:
        """The section with its heading. Folded sections use the only HTML in a markdown report."""
        head, content = f"## {self.heading}" if self.heading else "", markdown(self.blocks)
        if self.folded:
            return f"<details><summary>\n\n{head}\n\n</summary>\n\n{content}\n\n</details>"
        return markdown([head, content])
