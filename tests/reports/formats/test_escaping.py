"""Nothing from outside can shape a report: with marks of markdown and HTML in every field, its structure is the same.

Labels, notes, reasons, commands, claims, oddities, titles, names of a space and its file, paths, hardware, versions.
"""

from __future__ import annotations

import dataclasses
import json
import random
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from reports.document import Bullets, DataTable
from reports.ledger import FAILURES, LEDGER, Ledger, Record
from reports.report import write_report
from reports.testing import changed
from reports.words.markdown import code, text, verbatim
from search_spaces import load_space
from tests import synthetic_results
from tests.conftest import slow_case
from tests.synthetic_results import make_results
from trainables.files import write_whole

HOSTILE = (
    " x\n# Heading\n\n<script>alert(1)</script> <!-- <b> | a | b `tick` ``two`` **bold** _em_ ~~gone~~"
    " [link](http://e.x) ![p](http://e.x/p.png) <http://e.x> https://e.x &amp; $x$ \\| \\\n- item\n1. one\n> quote\n"
    "```\nfence\n---\n</details>"
)
PLAIN = " x"
SPACE = """
from dataclasses import fields, is_dataclass, replace
from search_spaces import Claim, Figure, PremiseCount, Row, Space, Table, spaces
from search_spaces.paper import Column

NAMED = {{
    Space: "title paper baseline oddities rows tables claims figures premise_counts",
    Row: "label note published",
    Table: "title columns rows aggregation footnotes topic",
    Column: "name mean_of",
    Claim: "text column better worse chain contradicted smaller_in",
    Figure: "title column note lines",
    PremiseCount: "name",
}}
ALWAYS = {{"oddities": ("odd",), "footnotes": ("foot",), "note": "note"}}


def named(value, field=""):
    value = value or ALWAYS.get(field, value)
    if isinstance(value, str):
        return value + {mark!r} if value else value
    if is_dataclass(value):
        return replace(value, **{{name: named(getattr(value, name), name) for name in NAMED[type(value)].split()}})
    if field == "published":
        return {{table: {{named(name): number for name, number in of.items()}} for table, of in value.items()}}
    if field == "lines":
        return {{named(line): of for line, of in value.items()}}
    if field == "smaller_in":
        return value and (value[0], named(value[1]))
    return tuple(map(named, value)) if isinstance(value, tuple) else value


SPACE = replace(named(spaces()[{name!r}]), name="mine")
"""


def study(folder: Path, mark: str, name: str) -> None:
    """A made-up study of a person's own space with the mark in every field that comes from outside."""
    folder.mkdir()
    (folder / "space.py").write_text(SPACE.format(mark=mark, name=name))
    space = load_space(str(folder / "space.py"))
    labels = [row.label for row in space.rows if row.needs is None][:4]
    info = make_results(folder, space, seeds=(1, 2), rows=labels, spread=1.0, explored=2, pruned=1)
    missing = next((label for label, value in info.row_hashes.items() if value is None), None)
    dataclasses.replace(
        info,
        space_file="space.py",
        scale_reason="a reason" + mark,
        missing={missing: "an input is gone" + mark} if missing else {},
        versions={**info.versions, "mine": "1" + mark},
        hardware="2 cores" + mark,
        notes=["a note" + mark, "another" + mark],
        requests=[{"space": "x", "only": ["a" + mark]}],
        created_at="2026" + mark,
        status_counts={"finished": 1, "odd" + mark: 2},
    ).save(folder)
    failed = next(value for label, value in info.row_hashes.items() if value and label not in labels)
    write_whole(folder / FAILURES / f"{failed}-1.json", f'{{"reason": {json.dumps("it broke" + mark)}}}')
    ledger = Ledger(folder / LEDGER)

    def change(record: Record) -> Record:
        corpus = {**record.data_read["corpus"], "source": "/a/b" + mark, "more" + mark: "words" + mark}
        changes: dict[str, Any] = {
            "hardware": f"machine {record.seed}" + mark,
            "versions": {**record.versions, "trainables": f"v{record.seed}" + mark},
            "data": {**record.data_read, "corpus": corpus},
            "scores": {**record.scores, "MINE" + mark: {"test_accuracy": None, "reason": "no data" + mark}},
        }
        if record.status == "pruned":
            changes["training"] = {**record.training, "stopped": "no number" + mark}
        else:
            task = sorted(record.scores)[0]
            changes["scores"][task] = {"reason": "the task is gone" + mark}
        return changed(record, **changes)

    for record in ledger.read():
        ledger.write(change(record))
    (folder / LEDGER / "0123456789ab-1.json").write_text(
        json.dumps({"recipe": {"a" + mark: 1}, "recipe_hash": "0123456789ab", "seed": 1})
    )


def tokens_of(markdown: str, html: bool) -> list[Token]:
    """All tokens, in order; running text as one."""
    blocks = _parser(html).parse(markdown)
    flat = [each for block in blocks for each in ((block.children or []) if block.type == "inline" else [block])]
    pairs = pairwise([Token("", "", 0), *flat])
    return [each for before, each in pairs if not before.type == each.type == "text" and each.type != "softbreak"]


def structure(markdown: str, html: bool) -> list[tuple[str, str]]:
    """The kinds of all tokens."""
    return [(token.type, token.tag) for token in tokens_of(markdown, html)]


def _parser(html: bool) -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": html}).enable(["table", "strikethrough"])


@pytest.fixture(autouse=True)
def same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made-up scores follow a row's label; here they follow it without the mark."""

    def chance(seed: int | str) -> random.Random:
        return random.Random(seed.removesuffix(HOSTILE).removesuffix(PLAIN) if isinstance(seed, str) else seed)

    monkeypatch.setattr(synthetic_results, "random", SimpleNamespace(Random=chance))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scl_ablation", slow_case("supmpn_objectives"), slow_case("declutr_objective")])
def test_nothing_from_outside_shapes_a_report(tmp_path: Path, name: str):
    reports = {}
    for kind, mark in (("plain", PLAIN), ("hostile", HOSTILE)):
        study(tmp_path / kind, mark, name)
        reports[kind] = write_report(tmp_path / kind).read_text(encoding="utf-8")
    assert "alert(1)" in reports["hostile"]
    for html in (False, True):
        plain, hostile = (structure(reports[kind], html) for kind in ("plain", "hostile"))
        for place, (expected, token) in enumerate(zip(plain, hostile, strict=False)):
            assert expected == token, f"html {html}: {_around(reports['hostile'], html, place)}"
        assert len(plain) == len(hostile)


def _around(markdown: str, html: bool, place: int) -> str:
    """The text near the token of that place."""
    near = tokens_of(markdown, html)[max(place - 6, 0) : place + 4]
    return "\n".join(f"{token.type}:{token.content[:150]}" for token in near)


def shown(markdown: str) -> str:
    """What a reader sees of one paragraph."""
    (paragraph,) = [token for token in _parser(True).parse(markdown) if token.type == "inline"]
    return "".join(token.content for token in paragraph.children or [])


OUTSIDE = [
    HOSTILE, "# a", "- a", "+ a", "12. a", "3) a", "= a", "===", "---", "> a", "a | b", "`", "``a`", "`a` `b`", "<b>",
    "&lt;", "\\", "a\\|b", "snake_case_name", "_a_", "*a*", "~~~", "[a]: b", "![a](b)", "www.a.b", "https://a.b",
    "a@b.c", "$a$", "a\tb", "\u2028a", "",
]  # fmt: skip


@pytest.mark.parametrize("words", OUTSIDE)
def test_words_stay_words(words: str):
    """As text, as one span of code, and as one cell of a table."""
    plain = " ".join(words.split())
    paragraph = [("paragraph_open", "p"), ("text", ""), ("paragraph_close", "p")]
    assert not words or structure(text(words), True) == paragraph
    assert not words or shown(text(words)) == plain
    for span in (verbatim(words), code(words)):
        assert structure(span, True) == [paragraph[0], ("code_inline", "code"), paragraph[2]]
    assert shown(verbatim(words)) == (plain or "''")
    for how, empty in ((text, ""), (verbatim, "''")):
        tokens = _parser(True).parse(DataTable(["a", "b"], [[how(words), "end"]], left=2).markdown)
        cells = [token for token in tokens if token.type == "inline"]
        assert len(cells) == 4
        assert cells[3].content == "end"
        assert "".join(token.content for token in cells[2].children or []) == (plain or empty)


def test_raw_words_do_shape_a_report():
    """The tests above can fail."""
    assert ("heading_open", "h1") in structure(HOSTILE, True)
    assert any(kind.startswith("html") for kind, _ in structure(HOSTILE, True))
    assert structure(Bullets(["a", HOSTILE]).markdown, True) != structure(Bullets(["a", text(HOSTILE)]).markdown, True)
