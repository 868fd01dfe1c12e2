"""`report.html`: the report as one page that needs no other file and no network.

Its policy allows the one script and the one style that stand in it, known by their digests, and pictures written into
it; nothing else can run or load, whatever a label or a note holds. `page.html`, `page.css` and `page.js` beside this
file are what it is made of.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from markdown_it.token import Token

from reports.formats import Document, Part
from reports.formats.page_data import main_rows, page_data
from reports.formats.parsed import is_number, parse, parser, plain, read_table
from reports.formats.pictures import inline
from trainables.files import write_whole

HERE = Path(__file__).parent
MAIN = "rows"
"""The section whose tables can be filtered, and whose rows can be compared."""
FEWEST = 3
"""A table of fewer rows is not worth sorting."""
CARDS = frozenset({"finals", MAIN})
"""Sections whose tables a narrow screen shows row under row, each number with its column's name: nothing to scroll."""
WIDE = 440.0
"""A picture of more points than this is too small to read on a narrow screen: there it scrolls in a box of its own."""


def write(document: Document, path: Path) -> None:
    """Write the report as a page."""
    write_whole(path, page(document))


def page(document: Document) -> str:
    """The whole page."""
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    policy = {
        "default-src": "'none'",
        "script-src": _digest(script),
        "style-src": _digest(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    values = {
        "policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
        "title": escape(document.title),
        "style": style,
        "body": body(document),
        "data": _as_data(page_data(document)),
        "script": script,
    }
    template = (HERE / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)  # once: a value's own braces stay


def body(document: Document) -> str:
    """The contents and every section, as HTML; those of the appendix under a heading of their own."""
    pictures = _Pictures(document.results.folder)
    rows = {label: number for number, label in enumerate(main_rows(document.results))}
    links, sections = "", {False: "", True: ""}
    for part in document.parts:
        sections[part.folded] += _section(part, document.title, pictures, rows) + "\n"
        if part.heading and not part.folded:
            links += f'<li><a href="#{escape(part.name)}">{escape(part.heading)}</a></li>'
    appendix = sections[True] and f'<div id="appendix"><h2>Appendix</h2>\n{sections[True]}</div>'
    links += '<li><a href="#appendix">Appendix</a></li>' if appendix else ""
    return f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n{sections[False]}{appendix}'


class _Pictures:
    """Puts the pictures of a results folder into a page, and counts them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.count = 0

    def element(self, name: str, title: str) -> str:
        """The picture as HTML; its title in words where there is no such picture within the folder."""
        self.count += 1
        path = (self.folder / name).resolve()
        there = path.is_relative_to(self.folder) and path.is_file()
        if there and path.suffix == ".png":
            content = base64.b64encode(path.read_bytes()).decode()
            return f'<img alt="{escape(title)}" src="data:image/png;base64,{content}">'
        picture = (inline(path, title, self.count) if there else "") or f"<em>{escape(title)}</em>"
        size = re.search(r'viewBox="0 0 ([\d.]+) ', picture)
        return f"{_box(escape(title))}{picture}</div>" if size and float(size[1]) > WIDE else picture


def _section(part: Part, title: str, pictures: _Pictures, rows: Mapping[str, int]) -> str:
    tokens = parse(part.content)
    if part.name == MAIN:
        _number_rows(tokens, rows)
    content = _html(tokens, part.heading or title, pictures, cards=part.name in CARDS)
    level = 3 if part.folded else 2
    heading, name = f"<h{level}>{escape(part.heading)}</h{level}>", escape(part.name)
    if part.folded:
        content = re.sub(r"<(/?)h3>", r"<\1h4>", content)
        return f'<section id="{name}"><details><summary>{heading}</summary>\n{content}</details></section>'
    return f'<section id="{name}">{heading if part.heading else ""}\n{content}</section>'


def _html(tokens: list[Token], heading: str, pictures: _Pictures, cards: bool) -> str:
    """Tokens as HTML: markdown-it's own, but for tables, pictures, and styles, which become classes."""
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            heading = plain(tokens[place + 1])
        elif token.type == "table_open":
            _prepare_table(tokens, place, heading, cards)
        elif token.type == "paragraph_open" and _is_picture(tokens[place + 1]):
            token.tag = tokens[place + 2].tag = "figure"
        elif token.type == "inline":
            for child in token.children or []:
                if child.type == "image":
                    child.type, child.content = (
                        "html_inline",
                        pictures.element(str(child.attrGet("src")), child.content),
                    )
    return str(parser().renderer.render(tokens, parser().options, {}))


def _number_rows(tokens: Sequence[Token], rows: Mapping[str, int]) -> None:
    """Mark the lines of the section's tables with the numbers that their rows have in the page's data."""
    for line, cell, words in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if (line.type, cell.type) == ("tr_open", "td_open") and plain(words) in rows:
            line.attrSet("data-row", str(rows[plain(words)]))


def _is_picture(inline_token: Token) -> bool:
    """Or several, side by side where there is room."""
    return {child.type for child in inline_token.children or []} - {"softbreak"} == {"image"}


def _prepare_table(tokens: list[Token], start: int, caption: str, cards: bool) -> None:
    """A box that scrolls, a caption, headings with their scope, classes for numbers, and whether rows may be sorted.

    Rows whose first cell is empty belong to the row above, so such a table keeps its order. For cards each cell bears
    its column's name.
    """
    end = next(place for place in range(start, len(tokens)) if tokens[place].type == "table_close")
    body_from = next((p for p in range(start, end) if tokens[p].type == "tbody_open"), end)
    rows, whole, column = 0, True, 0
    heads = [plain(head) for head in read_table(tokens, start).head]
    for place in range(start, end):
        token = tokens[place]
        if token.type not in ("th_open", "td_open"):
            continue
        column = 0 if tokens[place - 1].type == "tr_open" else column + 1
        if cards and column and token.type == "td_open":
            token.attrSet("data-name", heads[column])
        if is_number(token):
            token.attrSet("class", "number")
        token.attrs.pop("style", None)
        if token.type == "th_open":
            token.attrSet("scope", "col")
        elif place > body_from and tokens[place - 1].type == "tr_open":
            rows += 1
            if tokens[place + 1].content:
                token.tag = tokens[place + 2].tag = "th"
                token.attrSet("scope", "row")
            else:
                whole = False
    kind = "sortable" if whole and rows >= FEWEST else "fixed"
    tokens[start].attrSet("class", f"{kind} cards" if cards else kind)
    tokens[start].tag = "table"
    tokens[start].meta["caption"] = caption


def _table_open(renderer: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    caption, kind = escape(tokens[place].meta["caption"]), tokens[place].attrGet("class")
    return f'{_box(caption)}<table class="{kind}"><caption>{caption}</caption>\n'


def _box(name: str) -> str:
    """The start of a box that scrolls sideways where its content is wider than the page."""
    return f'<div class="box" role="region" aria-label="{name}" tabindex="0">'


def _table_close(renderer: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    return "</table></div>\n"


parser().add_render_rule("table_open", _table_open)
parser().add_render_rule("table_close", _table_close)


def _as_data(data: Any) -> str:
    """JSON that cannot end the element that it stands in."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
