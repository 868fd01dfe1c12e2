"""Text files without columns, read as records with `title`, `heading` and `text`.

.md                 one document: its first heading of the first level, else the `title` of its front matter (`---` to
                    `---`), is the title; other headings begin sections
.txt                documents separated by blank lines; without a blank line, each line is a document
a folder of these   each file is a document, also in subfolders
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path

from trainables.corpora.tables import OpenTable, Record
from trainables.delimited import delimiter_of, outside_quotes
from trainables.text_lines import numbered_lines

LINES = (".txt", ".txt.gz")
MARKDOWN = (".md", ".markdown")
_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*\s*")
_FRONT_MATTER, _KEY = "---", re.compile(r"([\w.-]+)\s*:(?:\s+(.*))?")
_FENCE = re.compile(r"\s*(```|~~~)")


def is_text_file(path: Path) -> bool:
    return path.name.lower().endswith((*LINES, *MARKDOWN))


def is_table(path: Path) -> bool:
    """Whether a `.txt` file has columns: a known name in its first line, and a second line with equally many fields."""
    if not path.name.lower().endswith(LINES):
        return False
    first = [*islice(filter(None, (line.strip() for _, line in numbered_lines(path))), 2)]
    delimiter = delimiter_of(first[0]) if len(first) == 2 else None
    return delimiter is not None and len({outside_quotes(line).count(delimiter) for line in first}) == 1


def text_files(folder: Path) -> list[Path]:
    """Return the text files below a folder, except hidden ones."""
    return sorted(
        path
        for path in folder.rglob("*")
        if is_text_file(path) and path.is_file() and not any(part[0] == "." for part in path.relative_to(folder).parts)
    )


def open_texts(path: Path) -> OpenTable:
    """Return a file or a folder as a table without columns, with a record for each document."""
    return OpenTable(str(path), (), str(path), lambda _: _documents(path))


def _documents(path: Path) -> Iterator[tuple[str, Record]]:
    """Yield location and record of each document of a file or a folder. `UserError` for a file that is not UTF-8."""
    for file in text_files(path) if path.is_dir() else [path]:
        if file.name.lower().endswith(MARKDOWN):
            record = _markdown(file)
            if record["text"]:
                yield str(file), record
        elif path.is_dir():
            text = " ".join(" ".join(line for _, line in numbered_lines(file)).split())
            if text:
                yield str(file), {"text": text}
        else:
            yield from _blocks(file)


def _blocks(file: Path) -> Iterator[tuple[str, Record]]:
    lines = _stripped_lines(file)
    divided = any(not line for _, line in lines)
    for (filled, _), group in groupby(lines, key=lambda each: (bool(each[1]), None if divided else each[0])):
        block = list(group)
        if filled:
            yield f"{file}, line {block[0][0]}", {"text": " ".join(line for _, line in block)}


def _stripped_lines(file: Path) -> list[tuple[int, str]]:
    """Return the number and the text of each line, without blank lines at the end."""
    lines = [(number, line.strip()) for number, line in numbered_lines(file)]
    while lines and not lines[-1][1]:
        lines.pop()
    return lines


def _markdown(file: Path) -> dict[str, object]:
    title, code = "", False
    sections: list[tuple[str, list[str]]] = [("", [])]
    lines = [line for _, line in numbered_lines(file)]
    front = _front_matter(lines)
    for line in lines[len(front) :]:
        code ^= _FENCE.match(line) is not None
        heading = None if code else _HEADING.fullmatch(line.rstrip("\r\n"))
        if heading is None:
            sections[-1][1].extend(line.split())
        elif not title and len(heading[1]) == 1:
            title = heading[2]
        else:
            sections.append((heading[2], []))
    filled = [(heading, " ".join(words)) for heading, words in sections if words]
    keys = {key[1]: key[2] or "" for line in front if (key := _KEY.fullmatch(line.rstrip()))}
    title = title or keys.get("title", "").strip("\"'")
    return {"title": title, "heading": [heading for heading, _ in filled], "text": [text for _, text in filled]}


def _front_matter(lines: Sequence[str]) -> Sequence[str]:
    """Return the first lines from `---` to the next `---`, if the second sets a key and none is blank; else nothing."""
    plain = [line.rstrip() for line in lines]
    if plain[:1] != [_FRONT_MATTER] or _FRONT_MATTER not in plain[1:] or not _KEY.fullmatch(plain[1]):
        return []
    end = plain.index(_FRONT_MATTER, 1) + 1
    return lines[:end] if all(plain[:end]) else []


def divided(file: Path) -> str:
    """Return how blank lines divide a `.txt` file: `160 lines in 8 documents, divided by blank lines`; empty if they do
    not, and for a folder and other files."""
    if not (file.is_file() and file.name.lower().endswith(LINES)):
        return ""
    filled = [bool(line) for _, line in _stripped_lines(file)]
    lines, documents = sum(filled), sum(own for own, _ in groupby(filled))
    if all(filled) or lines == documents:
        return ""
    return f"{lines:,} lines in {documents:,} documents, divided by blank lines"
