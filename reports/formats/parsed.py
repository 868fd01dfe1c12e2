"""A report's markdown as tokens, and the tables in it. HTML in it is text: a report's markdown has none."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token


@functools.cache
def parser() -> MarkdownIt:
    """Of CommonMark with tables, where `<` is a letter like any other."""
    return MarkdownIt("commonmark", {"html": False}).enable("table")


def parse(markdown: str) -> list[Token]:
    """The tokens of a section's markdown."""
    return parser().parse(markdown)


@dataclass(frozen=True)
class Table:
    """A table of a section: cells as inline tokens."""

    head: Sequence[Token]
    rows: Sequence[Sequence[Token]]


def is_number(token: Token) -> bool:
    """Whether a cell (`th_open`, `td_open`) stands in a column of numbers."""
    return token.attrGet("style") == "text-align:right"


def tables(tokens: Sequence[Token]) -> list[Table]:
    """Every table among the tokens, in order."""
    return [read_table(tokens, place) for place, token in enumerate(tokens) if token.type == "table_open"]


def read_table(tokens: Sequence[Token], start: int) -> Table:
    """The table whose `table_open` is the token number `start`."""
    lines: list[list[Token]] = []
    for place, token in _until(tokens, start, "table_close"):
        if token.type == "tr_open":
            lines.append([])
        elif token.type in ("th_open", "td_open"):
            lines[-1].append(tokens[place + 1])
    return Table(lines[0], lines[1:])


def _until(tokens: Sequence[Token], start: int, end: str) -> Iterator[tuple[int, Token]]:
    for place in range(start, len(tokens)):
        if tokens[place].type == end:
            return
        yield place, tokens[place]


def plain(inline: Token) -> str:
    """The words of an inline token without their marks; a picture by its name."""
    said = []
    for token in inline.children or []:
        if token.type in ("softbreak", "hardbreak"):
            said.append(" ")
        else:
            said.append(token.content)
    return "".join(said)
