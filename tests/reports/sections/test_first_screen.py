"""What a reader meets first: the order of a report, how long its body is, how long its sentences."""

from __future__ import annotations

import dataclasses
import re
from itertools import pairwise
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from reports.document import DataTable
from reports.document.inline import plain
from reports.facts.answer import Answer
from reports.facts.results import Results
from reports.plots.forest import GainGroup, GainLine, forest_figure, forest_picture
from reports.report import write_report
from reports.sections import SECTIONS, base_recipe, glance, in_order
from reports.sections import rows as rows_section
from reports.sections.glance import caption, of_finals
from reports.words.commands import patterns
from reports.words.markdown import code
from search_spaces import spaces
from study.rows import chosen_rows
from tests.synthetic_results import add_finals, make_results

EXAMPLES = sorted(Path(__file__).parents[3].glob("docs/examples/*/report.md"))
ORDER = [
    "Answer",
    "At a glance",
    "The finals",
    "Which model to ship",
    "What it changes on your test items",
    "Rows",
    "How sure that is",
    "What mattered",
    "The paper's claims",
]
LINES, WORDS = 150, 30
"""Of a report before its appendix, and of a sentence."""


def body(report: str) -> str:
    return report.partition("\n# Appendix\n")[0]


def sentences(markdown: str) -> list[str]:
    """Of text; tables, commands and pictures have none. A full stop ends one, a semicolon or a colon does not."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    words = [
        plain(token.content)
        for before, token in pairwise(tokens)
        if token.type == "inline" and before.type == "paragraph_open" and "](" not in token.content
    ]
    return [words for text in words for words in re.split(r"(?<=[.])(?<!Avg[.]) ", text) if "python " not in words]


def check(report: str) -> None:
    headings = re.findall(r"^## (.*)$", body(report), re.MULTILINE)
    assert headings == [*(heading for heading in ORDER if heading in headings), "Warnings"]
    assert len(body(report).splitlines()) <= LINES
    assert "<details>" not in body(report)
    for sentence in sentences(body(report).partition("## How sure that is")[0]):
        assert len(sentence.split()) <= WORDS, sentence
        assert sentence.count("(") <= 1, sentence


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.parent.name)
def test_a_committed_example_is_read_in_a_minute(example: Path) -> None:
    check(example.read_text(encoding="utf-8"))


@pytest.mark.parametrize("rows", [["SBERT baseline"], ["SBERT baseline", "3p3n-Augment"]], ids=len)
def test_no_score_stands_there_twice_with_other_numbers(
    rows: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that the finals judge under fresh seeds have no table of their own; beside others it says what to quote."""
    make_results(tmp_path, rows=rows, explored=3, seeds=(0,))
    add_finals(tmp_path, (3.0,))
    results = Results.load(tmp_path)
    figures = [figure for figure in results.figures if figure.name == Answer.of(results).figure]
    monkeypatch.setattr(Results, "figures", figures)
    for module in (glance, rows_section):
        monkeypatch.setattr(module, "in_finals", lambda results: {results.info.row_hashes["SBERT baseline"]})
    report = write_report(tmp_path).read_text(encoding="utf-8")
    assert ("\n## Rows\n" in report) == ("\n## Rows in full\n" in report) == (len(rows) > 1)
    assert ("of a row in the finals quote those there" in report) == (len(rows) > 1)


@pytest.fixture
def searched(tmp_path: Path) -> Path:
    """Thirty recipes and a few rows under one seed, then finals: the search's best is not what they pick."""
    make_results(tmp_path, rows=["SBERT baseline", "3p3n-Augment"], explored=30, seeds=(0,))
    add_finals(tmp_path, (0.2, 3.0, 0.5))
    return tmp_path


@pytest.mark.slow
def test_the_body_says_nothing_else_than_the_answer(searched: Path) -> None:
    report = write_report(searched).read_text(encoding="utf-8")
    check(report)
    assert Answer.of(Results.load(searched)).kind == "use"
    assert "best explored recipe" not in report
    assert "No verdict:" not in report
    assert "The model is" not in report
    assert "More seeds" not in body(report)
    assert "1 seed each before the finals." in report
    assert "no row is shown" not in report
    finals = sum(map(len, Results.load(searched).finals.values()))
    assert f"(of them {finals} in the finals alone)" in report


def test_the_answer_comes_first_and_what_is_folded_last() -> None:
    first = ["answer", "glance", "finals", "ship", "changed", "more_data"]
    assert [section.name for section in in_order()][: len(first)] == first
    folded = [section.folded for section in SECTIONS.values()]
    assert folded == sorted(folded)


def test_finalists_stand_beside_the_base_and_the_encoder_as_it_came(searched: Path, drawn: None) -> None:
    groups = of_finals(Answer.of(Results.load(searched)))
    [group] = groups
    assert [line.shown for line in group.lines] == [False, True, True]
    assert group.marks == {"the original encoder": pytest.approx(-5, abs=0.5)}
    picture = forest_picture(groups, searched / "forest.svg")
    words = picture.read_text(encoding="utf-8")
    assert ">the original encoder<" in words
    assert all(len(name) <= 26 for name in re.findall(r">(#\d[^<]*)<", words))  # long names go on in the next line


def test_every_setting_of_a_finalist_stands_in_the_report(searched: Path) -> None:
    """Its name shows the first few."""
    results = Results.load(searched)
    finalists = Answer.of(results).finalists
    blocks = base_recipe.write(results, searched)
    (table,) = [block for block in blocks if isinstance(block, DataTable) and block.head[0] == "Setting"]
    settings = {row[0].strip("`"): row[2:] for row in table.rows}
    assert {*settings} == {key for each in finalists for key in each.settings} != set()
    for key, values in settings.items():
        assert values == [code(each.settings[key]) if key in each.settings else "same" for each in finalists]


def test_a_long_title_leaves_the_panel_its_room() -> None:
    lines = [GainLine("CoSENT", 1.0, -1.0, 3.0), GainLine("AnglE", -1.0, -3.0, 1.0)]
    figure = forest_figure([GainGroup("STSBenchmark test_spearman_cosine: rows, over cosine regression", lines)])
    figure.draw_without_rendering()
    assert figure.axes[0].get_position().width > 0.7
    assert "test_spearman_cosine: rows,\nover" in figure.axes[0].texts[0].get_text()


def test_zero_is_the_encoder_as_it_came_where_that_is_kept(searched: Path) -> None:
    answer = Answer.of(Results.load(searched))
    kept = dataclasses.replace(answer, kind="as it came")
    [over_base], [over_encoder] = of_finals(answer), of_finals(kept)
    assert {*over_encoder.marks} == {"the base settings"}
    assert over_encoder.marks["the base settings"] == -over_base.marks["the original encoder"]
    assert [line.gain for line in over_encoder.lines] == [
        finalist.gains["encoder"].gain for finalist in answer.finalists
    ]
    assert "Zero is the original encoder;" in caption([over_encoder])
    assert "Zero is the base settings;" in caption([over_base])


@pytest.mark.parametrize(("many", "most"), [(1, 1), (3, 3), (7, 3), (15, 1)])
def test_a_command_names_rows_by_how_they_begin_or_end(many: int, most: int) -> None:
    space = spaces()["scl_ablation"]
    labels = list(space.labels)[-many:]
    words = patterns(labels, list(space.labels))
    assert [row.label for row in chosen_rows(space, tuple(words))] == labels
    assert len(words) <= most
