"""Converts inline markdown, as in paragraphs and cells, to HTML and to plain text. HTML tags in it become text."""

from __future__ import annotations

from html import escape

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark", {"html": False})
"""Parser for CommonMark without HTML. A picture becomes its title, because pictures are separate blocks."""
_PARSER.add_render_rule("image", lambda renderer, tokens, n, *_: f"<em>{escape(tokens[n].content)}</em>")


def paragraphs(words: str) -> str:
    """Return a paragraph block as HTML. Its markdown may also have several paragraphs or a list."""
    return _PARSER.render(words)


def as_html(words: str) -> str:
    """Return inline markdown as HTML."""
    return _PARSER.renderInline(words)


def plain(words: str) -> str:
    """Return inline markdown as plain text."""
    [line] = _PARSER.parseInline(words)
    breaks = ("softbreak", "hardbreak")
    return "".join(" " if token.type in breaks else token.content for token in line.children or [])
