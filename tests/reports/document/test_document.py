"""Blocks of a report: their markdown is read back as what they are, whatever their words are."""

from __future__ import annotations

from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from reports.document import (
    Block,
    Bullets,
    CodeBlock,
    DataTable,
    Heading,
    Picture,
    SideBySide,
    WrittenSection,
    markdown,
)
from reports.document.inline import as_html, paragraphs, plain
from reports.words.markdown import text

HOSTILE = text("# a | <b> `c` [d](e) ![f](g) *h* ```")
PICTURE = Picture(Path("study/pictures/a.svg"), "Scores [a] of *b*")
KINDS: list[tuple[Block, str]] = [
    (HOSTILE, "paragraph_open"),
    (Heading(HOSTILE), "heading_open"),
    (Bullets([HOSTILE, HOSTILE]), "bullet_list_open"),
    (CodeBlock("```\n# a\n````"), "fence"),
    (DataTable([HOSTILE, "b"], [[HOSTILE, "1"]]), "table_open"),
    (PICTURE, "paragraph_open"),
    (SideBySide([PICTURE, PICTURE]), "paragraph_open"),
]


@pytest.mark.parametrize(("block", "kind"), KINDS, ids=lambda value: type(value).__name__)
def test_a_block_is_read_back_as_its_kind(block: Block, kind: str) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown([block]))
    assert [token.type for token in tokens if token.level == 0 and token.nesting >= 0] == [kind]
    inside = [child.type for token in tokens for child in token.children or []]
    assert inside.count("image") == {Picture: 1, SideBySide: 2}.get(type(block), 0)
    assert {*inside} <= {"text", "text_special", "image", "softbreak"}


def test_a_table_can_be_read_as_text() -> None:
    table = DataTable(["a", "b"], [["x|y", "1"]])
    assert table.markdown.splitlines() == ["| a    |   b |", "| ---- | --: |", "| x\\|y |   1 |"]


def test_what_is_empty_is_left_out() -> None:
    assert markdown(["", "first", Bullets([]), SideBySide([]), "second"]) == "first\n\nsecond"
    assert WrittenSection("name", "", ["words"], False).markdown == "words"


def test_inline_markdown_as_html_and_as_words() -> None:
    words = "**a** `b_c` [d](https://e.org) \\*f\\* <g>"
    assert plain(words) == "a b_c d *f* <g>"
    assert as_html(words).startswith('<strong>a</strong> <code>b_c</code> <a href="https://e.org">d</a> *f* &lt;g&gt;')
    assert paragraphs("![a <b>](c.svg)") == "<p><em>a &lt;b&gt;</em></p>\n"
