"""`report.tex`: the report for pdflatex, with booktabs; nothing in it is a command but what this file writes.

pdflatex reads no SVG, so a picture is named, not shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from markdown_it.token import Token

from reports.formats import Document
from reports.formats.parsed import Table, parse, plain, read_table
from trainables.files import write_whole

PREAMBLE = r"""% Run pdflatex twice: the first run measures the columns of the tables.
\documentclass[a4paper,10pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{textcomp,amssymb,array,booktabs,longtable,lscape}
\usepackage[margin=18mm]{geometry}
\usepackage[hidelinks]{hyperref}
\setlength{\parindent}{0pt}
\setlength{\parskip}{5pt}
\setlength{\tabcolsep}{3pt}
\setlength{\LTleft}{0pt}
\emergencystretch=3em
"""
PORTRAIT, LANDSCAPE = 490.0, 730.0
"""The text's width in points."""
GAP = 6.0
"""Between two columns, in points."""
SIZES = (
    (PORTRAIT, 9, r"\small"), (PORTRAIT, 8, r"\footnotesize"), (PORTRAIT, 7, r"\scriptsize"),
    (PORTRAIT, 6, r"\fontsize{6}{7.2}\selectfont"), (LANDSCAPE, 8, r"\footnotesize"),
    (LANDSCAPE, 7, r"\scriptsize"), (LANDSCAPE, 5, r"\tiny"),
)  # fmt: skip
"""What a table is tried in, one after the other: the page's width, the letters' size in points, its command."""
LETTER, LONG = 0.55, 26
"""A letter's width as a share of its size. A column of words with a longer cell is wrapped."""

_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "'": r"\textquotesingle{}",
    "-": "-{}", ",": ",{}",  # else two of them would become another letter
    "[": "{[}", "]": "{]}", "*": "{*}",  # after the end of a table's line they would be its options
    "—": r"\textemdash{}", "–": r"\textendash{}", "…": r"\ldots{}", "‘": "`{}", "’": "'{}", "“": "``{}", "”": "''{}",
    "±": r"\textpm{}", "×": r"\texttimes{}", "·": r"\textperiodcentered{}", "°": r"\textdegree{}", "§": r"\S{}",
    "²": r"\texttwosuperior{}", "³": r"\textthreesuperior{}", "†": r"\dag{}", "‡": r"\ddag{}", "•": r"\textbullet{}",
    "⚠": r"\textbf{(!)}", "\u00a0": "~", "\ufe0f": "",
    "−": r"\ensuremath{-}", "≤": r"\ensuremath{\leq}", "≥": r"\ensuremath{\geq}", "≠": r"\ensuremath{\neq}",
    "≈": r"\ensuremath{\approx}", "∞": r"\ensuremath{\infty}", "→": r"\ensuremath{\rightarrow}",
    "←": r"\ensuremath{\leftarrow}", "↑": r"\ensuremath{\uparrow}", "↓": r"\ensuremath{\downarrow}",
    "✓": r"\ensuremath{\checkmark}", "α": r"\ensuremath{\alpha}", "β": r"\ensuremath{\beta}",
    "γ": r"\ensuremath{\gamma}", "λ": r"\ensuremath{\lambda}", "µ": r"\ensuremath{\mu}", "μ": r"\ensuremath{\mu}",
    "ρ": r"\ensuremath{\rho}", "σ": r"\ensuremath{\sigma}", "τ": r"\ensuremath{\tau}", "Δ": r"\ensuremath{\Delta}",
}  # fmt: skip
_LETTERS = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþÿ"
    "ĂăĄąĆćČčĎďĐđĒĘęĚěĞğİıŁłŃńŇňŐőŒœŔŕŘřŚśŞşŠšŢţŤťŮůŰűŸŹźŻżŽž"
)
"""Letters that the fonts have."""
_AROUND = {
    "strong_open": r"\textbf{", "strong_close": "}", "em_open": r"\emph{", "em_close": "}", "softbreak": " ",
    "hardbreak": r"\newline{}", "paragraph_open": "", "paragraph_close": "\n\n", "list_item_close": "\n",
    "bullet_list_open": "\\begin{itemize}\n", "bullet_list_close": "\\end{itemize}\n\n",
    "ordered_list_open": "\\begin{enumerate}\n", "ordered_list_close": "\\end{enumerate}\n\n",
    "list_item_open": r"\item{} ", "blockquote_open": "\\begin{quote}\n", "blockquote_close": "\\end{quote}\n\n",
    "heading_close": "}\n\n", "hr": "\\medskip\\hrule\\medskip\n\n",
}  # fmt: skip
_HEADINGS = {"h1": "section*", "h2": "section*", "h3": "subsection*"}


def write(document: Document, path: Path) -> None:
    """Write the report for LaTeX."""
    write_whole(path, latex(document))


def latex(document: Document) -> str:
    """The whole document."""
    parts = [PREAMBLE, "\\begin{document}\n", rf"{{\LARGE\bfseries {escape(document.title)}\par}}", "\n"]
    for part in document.parts:
        if part.heading:
            parts.append(f"\\section*{{{escape(part.heading)}}}\n")
        parts.append(_blocks(parse(part.content)))
    return "\n".join([*parts, "\\end{document}\n"])


def escape(text: str) -> str:
    """Text as LaTeX shows it; a letter that its fonts lack by its number."""
    return "".join(map(_letter, text))


def _letter(letter: str) -> str:
    if letter in _LATEX:
        return _LATEX[letter]
    if letter in _LETTERS or (letter.isascii() and letter.isprintable()):
        return letter
    return " " if letter.isspace() or not letter.isprintable() else f"{{[}}U+{ord(letter):04X}{{]}}"


def _blocks(tokens: Sequence[Token]) -> str:
    said: list[str] = []
    in_table = False
    for place, token in enumerate(tokens):
        if token.type == "table_open":
            in_table = True
            said.append(table(read_table(tokens, place)))
        elif token.type == "table_close":
            in_table = False
        elif in_table:
            continue
        elif token.type == "inline":
            said.append(_inline(token))
        elif token.type == "heading_open":
            said.append(rf"\{_HEADINGS.get(token.tag, 'subsubsection*')}{{")
        elif token.type in ("fence", "code_block"):
            lines = [_code(line) or "~" for line in token.content.rstrip("\n").splitlines()]
            said.append("{\\raggedright\\small " + "\\par\n".join(lines) + "\\par}\n\n")
        else:
            said.append(_AROUND[token.type])
    return "".join(said)


def _inline(token: Token) -> str:
    said: list[str] = []
    links: list[bool] = []
    for child in token.children or []:
        if child.type == "text":
            said.append(escape(child.content))
        elif child.type == "code_inline":
            said.append(_code(child.content))
        elif child.type == "image":
            said.append(rf"\emph{{Picture: {escape(child.content)}}} ({_code(str(child.attrGet('src')))})")
        elif child.type == "link_open":
            target = str(child.attrGet("href"))
            links.append(target.startswith(("https://", "http://")))  # a file beside the report is none of the PDF's
            said.append(rf"\href{{{_url(target)}}}{{" if links[-1] else "")
        elif child.type == "link_close":
            said.append("}" if links.pop() else "")
        else:
            said.append(_AROUND[child.type])
    return "".join(said)


def _code(text: str) -> str:
    """In letters of one width, broken after marks: a command is longer than a line."""
    pieces = re.split(r"(?<=[-./,=_])", text)
    return rf"\texttt{{{(chr(92) + 'allowbreak{}').join(map(escape, pieces))}}}"


def _url(target: str) -> str:
    return re.sub(r"[%#&_~$]", r"\\\g<0>", quote(target, safe=":/?#[]@!*(),;=%&_~$+.-"))


def table(found: Table) -> str:
    """A table over as many pages as it needs, in letters as large as its width leaves room for."""
    texts = [[plain(cell) for cell in row] for row in (found.head, *found.rows)]
    longest = [max(len(row[column]) for row in texts) for column in range(len(found.head))]
    wrapped = [length > LONG and not number for length, number in zip(longest, found.numeric, strict=True)]
    narrow = sum(LONG if wrap else length for length, wrap in zip(longest, wrapped, strict=True))
    width, size, command = next(
        (choice for choice in SIZES if narrow * choice[1] * LETTER + GAP * len(longest) <= choice[0]), SIZES[-1]
    )
    room = width - GAP * len(longest) - math.fsum(
        length * size * LETTER for length, wrap in zip(longest, wrapped, strict=True) if not wrap
    )  # fmt: skip
    shared = sum(length for length, wrap in zip(longest, wrapped, strict=True) if wrap)
    columns = "".join(
        rf">{{\raggedright\arraybackslash}}p{{{max(min(room * length / shared, length * size * 0.6), 30):.0f}pt}}"
        if wrap
        else "r" if number else "l"
        for length, wrap, number in zip(longest, wrapped, found.numeric, strict=True)
    )  # fmt: skip
    head, *rows = [" & ".join(_inline(cell) for cell in row) + r" \\" for row in (found.head, *found.rows)]
    lines = [
        rf"{{{command}\begin{{longtable}}{{{columns}}}",
        rf"\toprule {head} \midrule \endfirsthead",
        rf"\toprule {head} \midrule \endhead",
        r"\bottomrule \endfoot",
        *rows,
        r"\end{longtable}}",
    ]
    if width == LANDSCAPE:
        lines = [r"\begin{landscape}", *lines, r"\end{landscape}"]
    return "\n".join(lines) + "\n\n"
