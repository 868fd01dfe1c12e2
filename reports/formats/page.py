"""`report.html`: the report as one page that needs no other file and no network.

Its policy permits only its own script and style, identified by digests, and embedded pictures. Nothing else can run or
load, whatever labels and notes contain. The page is made of `page.html`, `page.css` and `page.js` in this folder.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from reports.document import Bullets, CodeBlock, DataTable, Heading, Picture, SideBySide, WrittenSection
from reports.document.inline import as_html, paragraphs, plain
from reports.formats import Document
from reports.formats.page_data import page_data
from reports.formats.pictures import inline
from trainables.files import write_whole

FILES = Path(__file__).parent
MAIN = "rows"
"""Name of the section with the table of rows, which a reader can filter and whose rows can be compared."""
MIN_SORTABLE_ROWS = 3
"""Fewest rows with which a table can be sorted."""
CARDS = frozenset({"finals", "changed", MAIN})
"""Sections whose table rows become cards on a narrow screen: numbers below each other, each with its column's name."""
WIDE_POINTS = 440.0
"""A picture wider than this many points scrolls in a box on a narrow screen, where it would be too small as a whole."""


def write(document: Document, path: Path) -> None:
    """Write the report as a page."""
    write_whole(path, page(document))


def page(document: Document) -> str:
    """Return the whole HTML page."""
    style, script = ((FILES / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
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
    template = (FILES / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: values[match[1]], template)  # one pass: braces in values stay


def body(document: Document) -> str:
    """Return the contents and every section as HTML; sections of the appendix follow under their own heading."""
    pictures = _Pictures(document.results.folder)
    rows = {label: number for number, label in enumerate(document.results.asked_rows)}
    links, sections = "", {False: "", True: ""}
    for section in document.sections:
        sections[section.folded] += _section(section, document.title, pictures, rows) + "\n"
        if section.heading and not section.folded:
            links += f'<li><a href="#{escape(section.name)}">{escape(section.heading)}</a></li>'
    appendix = sections[True] and f'<div id="appendix"><h2>Appendix</h2>\n{sections[True]}</div>'
    links += '<li><a href="#appendix">Appendix</a></li>' if appendix else ""
    contents = links and f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
    return f"{contents}{sections[False]}{appendix}"


class _Pictures:
    """Embeds the pictures of a results folder in a page, and counts them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.count = 0

    def figure(self, pictures: Sequence[Picture]) -> str:
        """Return the pictures as HTML, side by side if the page has room."""
        elements = "\n".join(map(self._element, pictures))
        return f"<figure>{elements}</figure>\n"

    def _element(self, picture: Picture) -> str:
        """Return the picture as HTML; if the folder has no such picture, its title."""
        self.count += 1
        path, title = (self.folder / picture.name).resolve(), escape(picture.title)
        is_inside = path.is_relative_to(self.folder) and path.is_file()
        if is_inside and path.suffix == ".png":
            return f'<img alt="{title}" src="data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}">'
        element = (inline(path, picture.title, self.count) if is_inside else "") or f"<em>{title}</em>"
        size = re.search(r'viewBox="0 0 ([\d.]+) ', element)
        return f"{_box(title)}{element}</div>" if size and float(size[1]) > WIDE_POINTS else element


def _section(section: WrittenSection, title: str, pictures: _Pictures, rows: Mapping[str, int]) -> str:
    level = 3 if section.folded else 2
    heading, name = f"<h{level}>{escape(section.heading)}</h{level}>", escape(section.name)
    content = "".join(_blocks(section, title, pictures, rows))
    if section.folded:
        return f'<section id="{name}"><details><summary>{heading}</summary>\n{content}</details></section>'
    return f'<section id="{name}">{heading if section.heading else ""}\n{content}</section>'


def _blocks(section: WrittenSection, title: str, pictures: _Pictures, rows: Mapping[str, int]) -> Iterator[str]:
    caption, level = section.heading or title, 4 if section.folded else 3
    for block in section.blocks:
        match block:
            case str():
                yield paragraphs(block)
            case Heading():
                caption = plain(block.words)
                yield f"<h{level}>{as_html(block.words)}</h{level}>\n"
            case Bullets():
                items = "".join(f"<li>{as_html(item)}</li>\n" for item in block.items)
                yield f"<ul>\n{items}</ul>\n"
            case CodeBlock():
                yield f'<pre><code class="language-{block.language}">{escape(block.lines)}\n</code></pre>\n'
            case DataTable():
                numbered = rows if section.name == MAIN else {}
                yield _table(block, caption, cards=section.name in CARDS, rows=numbered)
            case Picture():
                yield pictures.figure([block])
            case SideBySide():
                yield pictures.figure(block.pictures)


def _table(table: DataTable, caption: str, cards: bool, rows: Mapping[str, int]) -> str:
    """Return a table as HTML, in a box that scrolls, with `caption`.

    A row whose first cell is empty belongs to the row above, so a table with such a row cannot be sorted. If `cards`,
    cells have their column's name. `rows` maps first cells to the numbers of rows in the page's data.
    """
    kinds = ["" if column < table.left else ' class="number"' for column in range(len(table.head))]
    names = [f' data-name="{escape(plain(words))}"' if cards else "" for words in table.head]
    head = "".join(
        f'<th{kind} scope="col">{as_html(words)}</th>\n' for words, kind in zip(table.head, kinds, strict=True)
    )
    lines = ""
    for first, *cells in table.rows:
        number = rows.get(plain(first))
        lines += "<tr>\n" if number is None else f'<tr data-row="{number}">\n'
        lines += f'<th{kinds[0]} scope="row">{as_html(first)}</th>\n' if first else f"<td{kinds[0]}></td>\n"
        for cell, kind, name in zip(cells, kinds[1:], names[1:], strict=True):
            lines += f"<td{name}{kind}>{as_html(cell)}</td>\n"
        lines += "</tr>\n"
    whole = len(table.rows) >= MIN_SORTABLE_ROWS and all(row[0] for row in table.rows)
    style = ("sortable" if whole else "fixed") + " cards" * cards
    label = escape(caption)
    return (
        f'{_box(label)}<table class="{style}"><caption>{label}</caption>\n<thead>\n<tr>\n{head}</tr>\n</thead>\n'
        f"<tbody>\n{lines}</tbody>\n</table></div>\n"
    )


def _box(name: str) -> str:
    """Return the start tag of a box that scrolls sideways if its content is wider than the page."""
    return f'<div class="box" role="region" aria-label="{name}" tabindex="0">'


def _as_data(data: Any) -> str:
    """Return the data as JSON that cannot end the HTML element around it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
