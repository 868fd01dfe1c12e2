"""Markdown of paragraphs and cells as HTML and as plain words. Any HTML in it is text."""

from __future__ import annotations

from html import escape

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark", {"html": False})
"""Of CommonMark, where `<` is a letter like any other; a picture is its title, since pictures are blocks."""
_PARSER.add_render_rule("image", lambda renderer, tokens, n, *_: f"<em>{escape(tokens[n].content)}</em>")


def paragraphs(words: str) -> str:
    """A string of a report as HTML: one paragraph, or whatever else its markdown makes."""
    return _PARSER.render(words)


def as_html(words: str) -> str:
    """Inline markdown as HTML."""
    return _PARSER.renderInline(words)


def plain(words: str) -> str:
    """Inline markdown without its marks."""
    [line] = _PARSER.parseInline(words)
    breaks = ("softbreak", "hardbreak")
    return "".join(" " if token.type in breaks else token.content for token in line.children or [])
