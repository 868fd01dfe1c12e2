"""Formats: one document in several forms, and nothing from outside that any of them would obey."""

from __future__ import annotations

import base64
import csv
import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from reports import report
from reports.document import Bullets, CodeBlock, DataTable, Heading, Picture, SideBySide, WrittenSection, markdown
from reports.facts.results import Results
from reports.formats import FORMATS, Document, Format
from reports.formats.page import page
from reports.formats.page_data import page_data
from reports.formats.pictures import inline
from reports.plots.canvas import make_figure, svg
from reports.report import write_report
from reports.sections import SECTIONS, Section
from reports.testing import FormatContract, make_study
from reports.words.markdown import code, text
from trainables.errors import UserError
from trainables.files import write_whole

HOSTILE = (
    "</script><script>window.pwned=1</script>",
    '<img src="x" onerror="window.pwned=1"> | # heading',
    "[click](javascript:window.pwned=1) ![x](../../etc/passwd) `tick`",
    "\\input{/etc/passwd} \\write18{touch pwned} $x^2$ % & # _ { } ~ ^ ''\n\n\\end{document}",
    '=HYPERLINK("http://example.org") {{data}} Ünïcode 文 ⚠ — λ',
)
"""What a label, a note, a reason or a command may hold."""


def hostile_study(folder: Path) -> Results:
    """Three rows, whose labels are hostile."""
    results = make_study(folder, rows=3)
    names = dict(zip(results.asked_rows, HOSTILE, strict=False))
    rows = [
        dataclasses.replace(row, label=names[row.label], published={})
        for row in results.space.rows
        if row.label in names
    ]
    space = dataclasses.replace(
        results.space, rows=tuple(rows), tables=(), claims=(), baseline=rows[0].label, title=HOSTILE[0]
    )
    hashes = {names[label]: recipe for label, recipe in results.info.row_hashes.items()}
    return Results(folder, dataclasses.replace(results.info, row_hashes=hashes), space, results.records)


def document(results: Results) -> Document:
    """Every kind of block, and hostile words both escaped, as sections do, and as a careless section would."""
    figure, (axis,) = make_figure(1, height=2)
    axis.plot([1, 2], [3, 4], "o")
    axis.set_title(HOSTILE[0])
    picture = Picture(results.folder / "pictures/one.svg", "A picture")
    write_whole(picture.path, svg(figure))
    words = (
        "*a* **b** `c--d`\\\nnew line\n\n> said\n\n1. first\n   - deep\n2. second\n\n---\n\n"
        "[site](https://example.org/a_b?c=1&d=%7B) [file](ledger/x.json)"
    )
    blocks = [CodeBlock("code %\n\n\\x"), CodeBlock("python -m reports 'a study'")]
    kinds = [Heading("Kinds"), words, *blocks, picture, SideBySide([picture, picture]), "end"]
    head = ["row", "gain [95 %]", "steps"]
    lines = [[text(row), f"{place - 1:+.2f} [{place - 3:+.2f}, 1.00]", "—"] for place, row in enumerate(HOSTILE[:3])]
    formulas = DataTable(["word", "value"], [[text(HOSTILE[4]), "-0.50"], ["\\-x", "+1.2"]])
    notes = Bullets([f"{text(words)} and {code(words)}" for words in HOSTILE])
    return Document(
        results,
        results.space.title,
        (
            WrittenSection("sure", "How sure that is", [notes], False),
            WrittenSection("rows", "Rows", [DataTable(head, lines)], False),
            WrittenSection("careless", HOSTILE[1], [*HOSTILE, Heading(HOSTILE[1]), Bullets(HOSTILE)], True),
            WrittenSection("kinds", "Kinds", kinds, False),
            WrittenSection("formulas", "Formulas", [formulas], True),
        ),
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Document:
    return document(hostile_study(tmp_path_factory.mktemp("study")))


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text within scripts and styles."""

    def __init__(self, content: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {"script": [], "style": []}
        self.text = ""
        self.feed(content)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in self.inside:
            self.inside[tag].append("")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.tags and self.tags[-1][0] in self.inside and self.cdata_elem:
            self.inside[self.tags[-1][0]][-1] += data


@pytest.fixture(scope="module")
def elements(made: Document) -> Elements:
    return Elements(page(made))


EXAMPLES = sorted(file.parent for file in Path(__file__).parents[3].glob("docs/examples/*/study.json"))


@pytest.mark.parametrize("name", ["sure", "rows", "formulas"])
def test_the_page_says_what_the_markdown_says(made: Document, name: str):
    """Word for word, and in the same elements; only a table has a caption besides."""
    [section] = [section for section in made.sections if section.name == name]
    [shown] = re.findall(rf'<section id="{name}">.*?</section>', page(made), re.DOTALL)
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    expected = parser.render(f"## {section.heading}\n\n{markdown(section.blocks)}")
    kinds = ("em", "strong", "code", "a", "li", "tr", "p")

    def read(content: str) -> tuple[list[str], list[str]]:
        words = Elements(re.sub("<caption>.*?</caption>", "", content))
        return words.text.split(), [tag for tag, _ in words.tags if tag in kinds]

    assert read(shown) == read(expected)


class TestPage:
    def test_only_its_own_script_may_run(self, elements: Elements):
        kinds = [attributes.get("type") for tag, attributes in elements.tags if tag == "script"]
        assert kinds == ["application/json", None]
        policy = next(
            a["content"]
            for tag, a in elements.tags
            if tag == "meta" and "content" in a and "default" in str(a["content"])
        )
        digests = {
            kind: base64.b64encode(hashlib.sha256(elements.inside[kind][-1].encode()).digest()).decode()
            for kind in ("script", "style")
        }
        assert policy == (
            f"default-src 'none'; script-src 'sha256-{digests['script']}'; style-src 'sha256-{digests['style']}'; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        )

    def test_nothing_from_outside_becomes_an_element(self, elements: Elements):
        assert not [tag for tag, _ in elements.tags if tag in ("img", "iframe", "object", "form", "base", "link")]
        for tag, attributes in elements.tags:
            assert not [name for name in attributes if name.startswith("on") or name == "style"], tag
            assert not str(attributes.get("href") or "").startswith(("javascript:", "data:text")), tag

    def test_it_needs_no_other_file_and_fills_no_placeholder_from_outside(self, made: Document, elements: Elements):
        assert not [a for tag, a in elements.tags if "src" in a or tag == "link"]
        for words in ('role="img"', "<title>A picture</title>", "{{data}}"):
            assert words in page(made)

    def test_a_picture_outside_the_folder_is_not_read(self, made: Document):
        (made.results.folder.parent / "secret.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><g/></svg>')
        outside = Picture(made.results.folder / "../secret.svg", "words")
        sections = (WrittenSection("one", "One", [outside, "![in a text](pictures/one.svg)"], False),)
        shown = page(dataclasses.replace(made, sections=sections))
        assert "<em>words</em>" in shown
        assert "<em>in a text</em>" in shown

    def test_tables_are_for_screen_readers_too(self, elements: Elements):
        heads = [a for tag, a in elements.tags if tag == "th"]
        assert {a.get("scope") for a in heads} == {"col", "row"}
        assert [tag for tag, _ in elements.tags].count("caption") == [tag for tag, _ in elements.tags].count("table")
        assert [a["data-row"] for tag, a in elements.tags if "data-row" in a] == ["0", "1", "2"]
        boxes = [a for tag, a in elements.tags if a.get("class") == "box"]  # the keyboard scrolls them
        assert [(a["role"], a["tabindex"], bool(a["aria-label"])) for a in boxes] == [("region", "0", True)] * len(
            boxes
        )
        assert len(boxes) >= [tag for tag, _ in elements.tags].count("table")

    def test_the_data_are_the_rows(self, elements: Elements, made: Document):
        data = json.loads(elements.inside["script"][0])
        assert [row["name"] for row in data["rows"]] == list(HOSTILE[:3])
        assert set(data["pairs"]) == {"0-1", "0-2", "1-2"}
        assert all(row["figures"] for row in data["rows"])
        assert "objective.name" in data["varied"]
        followed = {**data["base"], **data["rows"][1]["changes"]}
        for key, value in made.results.of_row(HOSTILE[1])[0].recipe.items():
            assert followed[key] == (list(value) if isinstance(value, tuple) else value)

    def test_a_row_that_did_not_run_has_its_recipe(self, made: Document):
        results = made.results
        label = results.asked_rows[1]
        fewer = [record for record in results.records if record not in results.of_row(label)]
        shown = dataclasses.replace(made, results=dataclasses.replace(results, records=fewer))
        row = page_data(shown)["rows"][1]
        assert (row["figures"], row["right"], row["changes"]["objective.name"]) == (False, {}, "ce_augment")
        assert set(page_data(shown)["pairs"]) == {"0-2"}

    def test_which_items_are_right(self, elements: Elements, made: Document):
        """Held against the files of predictions, seed by seed."""
        data = json.loads(elements.inside["script"][0])
        kept = [made.results.predictions.of_task(record, "MR") for record in made.results.of_row(HOSTILE[0])]
        hits = [[p == g for p, g in zip(items.predicted, items.gold, strict=True)] for items in kept if items]
        expected = [sum(of_item) > len(hits) / 2 for of_item in zip(*hits, strict=True)]
        right = data["rows"][0]["right"]["MR"]
        bits = "".join(f"{byte:08b}" for byte in base64.b64decode(right["bits"]))[: right["count"]]
        assert [bit == "1" for bit in bits] == expected
        assert "STS12" not in data["rows"][0]["right"]

    def test_sentences_need_data_that_fit(self, made: Document, tmp_path: Path):
        def data(folder: Path) -> dict[str, Any]:
            script = Elements(page(dataclasses.replace(made, sentences=folder))).inside["script"][0]
            return dict(json.loads(script))

        with pytest.raises(UserError, match="there is no folder"):
            data(tmp_path / "none")
        files = tmp_path / "downstream/MR"
        files.mkdir(parents=True)
        for name in ("rt-polarity.pos", "rt-polarity.neg"):
            (files / name).write_text("a secret sentence\n" * 30)
        content = data(tmp_path)
        assert content["sentences"] == {}
        assert any("no sentences of MR: those in" in note for note in content["notes"])
        assert any("no sentences of CR" in note and "has no downstream/CR" in note for note in content["notes"])

    def test_sentences_on_which_rows_differ(self, made: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        files = tmp_path / "downstream/MR"
        files.mkdir(parents=True)
        for name, word in (("rt-polarity.pos", "good"), ("rt-polarity.neg", "bad")):
            (files / name).write_text("".join(f"{word} film number {n}\n" for n in range(30)))
        monkeypatch.setattr("reports.formats.page_data.digest", lambda splits: "made up MR")
        content = json.loads(Elements(page(dataclasses.replace(made, sentences=tmp_path))).inside["script"][0])
        texts = content["sentences"]["MR made up MR"]
        assert 0 < len(texts) < 60  # those about which all rows agree are left out
        assert all(" film number " in sentence for sentence in texts.values())


def test_a_style_becomes_attributes(tmp_path: Path):
    (tmp_path / "a.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"><style>*{}</style>'
        '<script>alert(1)</script><defs><path id="m" d="M0 0"/></defs><foreignObject/>'
        '<use xlink:href="#m" style="fill: red; stroke-width: 2" onclick="alert(1)" clip-path="url(#m)"/>'
        '<image href="https://example.org/x.png"/></svg>'
    )
    element = inline(tmp_path / "a.svg", 'a "title"', 7)
    assert '<use clip-path="url(#picture7-m)" fill="red" stroke-width="2" href="#picture7-m" />' in element
    for word in ("style", "script", "alert", "onclick", "foreign", "example.org"):
        assert word not in element
    assert inline(tmp_path / "none.svg", "t", 1) == ""


class TestCsv:
    def test_every_table_is_a_file(self, made: Document):
        folder = made.results.folder / "tables"
        folder.mkdir(exist_ok=True)
        (folder / "old-1.csv").write_text("of an earlier report")
        assert FORMATS["csv"].write(made) == folder
        assert sorted(path.name for path in folder.iterdir()) == ["formulas-1.csv", "rows-1.csv"]
        with open(folder / "rows-1.csv", newline="") as file:
            lines = list(csv.reader(file))
        assert lines[0] == ["row", "gain [95 %]", "steps"]
        assert [line[0] for line in lines[1:]] == [" ".join(label.split()) for label in HOSTILE[:3]]
        assert lines[1][1:] == ["-1.00 [-3.00, 1.00]", ""]

    def test_a_formula_is_text(self, made: Document):
        FORMATS["csv"].write(made)
        content = (made.results.folder / "tables/formulas-1.csv").read_text()
        assert "\"'=HYPERLINK" in content
        assert "'-x,+1.2" in content
        assert ",-0.50" in content


class TestEveryFormat(FormatContract):
    @pytest.fixture(params=list(FORMATS))
    def form(self, request: pytest.FixtureRequest) -> Format:
        return FORMATS[request.param]


@pytest.fixture
def of_a_stranger() -> Iterator[None]:
    """A section and a format that a plugin adds."""
    lines = [["one", "1.5"], ["two", "—"]]
    SECTIONS.add(Section("mine", "My section", lambda results, pictures: [DataTable(["what", "how much"], lines)]))
    FORMATS.add(
        Format("titles", "titles.txt", lambda made, path: path.write_text("\n".join(s.heading for s in made.sections)))
    )
    yield
    SECTIONS.remove("mine")
    FORMATS.remove("titles")


@pytest.mark.usefixtures("of_a_stranger")
def test_a_strangers_section_is_in_every_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(report, "in_order", lambda: [SECTIONS["mine"]])  # the others take their time
    folder = make_study(tmp_path).folder
    assert write_report(folder, ["html", "csv", "md", "titles"]) == folder / "report.html"
    assert '<section id="mine"><h2>My section</h2>' in (folder / "report.html").read_text()
    assert (folder / "tables/mine-1.csv").read_text() == "what,how much\none,1.5\ntwo,\n"
    assert "## My section" in (folder / "report.md").read_text()
    assert (folder / "titles.txt").read_text().endswith("My section")
