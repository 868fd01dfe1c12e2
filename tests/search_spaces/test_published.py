"""The papers' printed figures: one CSV for each paper, wholly shown by its spaces, and nowhere else in the code."""

from __future__ import annotations

import ast
import csv
import json
import re
from pathlib import Path

import pytest

from search_spaces import spaces
from search_spaces.published import by_label, read_figures
from study.rows import inputs_of
from trainables.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
SPACES = spaces()
# How many figures each paper prints, and the first word of its spaces' names.
PAPERS = {
    "liao2021": (344, "scl"),
    "qiu2022": (75, "clsr"),
    "giorgi2020": (346, "declutr"),
    "dehghan2022": (390, "supmpn"),
}
HEAD = "table,row,column,value,source\n"


def _printed(paper: str) -> dict[tuple[str, str, str], float]:
    """Every published figure of a paper's spaces by table, printed row and column."""
    figures = {}
    for space in (space for name, space in SPACES.items() if name.startswith(f"{PAPERS[paper][1]}_")):
        for table in space.tables:
            for name, label in table.rows:
                for column, value in space.row(label).published.get(table.number, {}).items():
                    figures[table.number, name, column] = value
    return figures


@pytest.mark.parametrize("paper", PAPERS)
class TestEveryPaper:
    def test_every_figure_of_the_file_is_shown_by_a_space(self, paper: str):
        figures = read_figures(ROOT / "search_spaces" / paper / "figures.csv")
        cells = {(t, r, c): value for t, rows in figures.items() for r, row in rows.items() for c, value in row.items()}
        assert len(cells) == PAPERS[paper][0]
        if paper == "dehghan2022":  # Table 1 counts premises
            counts = sorted(cells.pop(cell) for cell in list(cells) if cell[0] == "1")
            assert counts == sorted(count.published for count in SPACES["supmpn_main"].premise_counts)
        shown = _printed(paper)
        assert {cell: shown.get(cell) for cell in cells} == cells

    def test_every_line_says_where_in_the_paper_it_stands(self, paper: str):
        with (ROOT / "search_spaces" / paper / "figures.csv").open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file):
                assert re.fullmatch(rf"Table {line['table']}, (section|supplement|appendix) [A\d.]+", line["source"]), (
                    line
                )

    def test_no_figure_is_typed_into_code(self, paper: str):
        """A figure has two decimals and lies above 20; nothing else in these files is such a number."""
        for file in (ROOT / "search_spaces" / paper).glob("*.py"):
            numbers = [node.value for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Constant)]
            assert [n for n in numbers if isinstance(n, float) and 20 < n < 100 and n not in MINUTES] == [], file


@pytest.mark.parametrize(
    ("folder", "name", "table", "count"),
    [
        ("modern_published", "modern_published", "1", 19),
        ("sbert_pages", "distilled_layers", "1", 7),
        ("sbert_pages", "distilbert_search", "2", 3),
    ],
)
def test_figures_that_no_paper_of_ours_holds_are_shown_with_their_addresses(
    folder: str, name: str, table: str, count: int
):
    file, space = ROOT / "search_spaces" / folder / "figures.csv", SPACES[name]
    figures = read_figures(file)[table]
    labels = dict(space.table(table).rows)
    assert {printed: space.row(labels[printed]).published.get(table) for printed in figures} == figures
    assert sum(map(len, figures.values())) == count
    with file.open(encoding="utf-8", newline="") as lines:
        assert all(line["source"].startswith("https://github.com/") for line in csv.DictReader(lines))


def test_released_models_are_evaluated_and_a_layer_that_an_encoder_lacks_is_a_dash():
    released = read_figures(ROOT / "search_spaces" / "modern_published" / "figures.csv")["1"]
    assert all(SPACES["modern_published"].row(label).needs == "checkpoint" for label in released)
    space = SPACES["distilled_layers"]
    base = space.recipe("laptop")  # its encoder has two layers
    ran = {row.label: inputs_of(row, base, None, None, "laptop") for row in space.rows}
    assert ran["2 layers"] == ran["1 layer"] == {}
    assert ran["3 layers"] == "encoder.layers is 3, but 'scenes-small' has 2 layers"


MINUTES = (36.0,)
"""Liao's best model's, said in a sentence."""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the first line must be table,row,column,value,source"),
        ("table,row,column,value\n", "the first line must be"),
        (HEAD + "1,a,b,2.5\n", "line 2: needs table, row, column, value and source, none of them empty"),
        (HEAD + "1,a,b,2.5,\n", "line 2: needs"),
        (HEAD + "1,a,b,2.5,p. 1\n1,a,b,2.6,p. 1\n", "line 3: table 1 has a second figure for 'a', 'b'"),
        (HEAD + "1,a,b,73.,p. 1\n1,a,c,7O.1,p. 1\n", "line 3: '7O.1' is not a number"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, sentence: str):
    (tmp_path / "figures.csv").write_text(text)
    with pytest.raises(UserError, match=re.escape(sentence)):
        read_figures(tmp_path / "figures.csv")


def test_a_printed_name_that_is_misspelt_is_refused():
    with pytest.raises(UserError, match="table 1: no printed row is called 'BERT-bse'; did you mean 'BERT-base'"):
        by_label({"1": {"BERT-base": {"Avg.": 50.0}}}, {"1": {"BERT-bse": "mine"}})


def test_recipe_hashes_are_those_of_finished_studies():
    """Of every row and base of all spaces, at both scales: a study started before today finds its trials."""
    hashes = json.loads((ROOT / "tests/archive/row_hashes.json").read_text())
    own = {}
    for name, space in SPACES.items():
        for scale in ("paper", "laptop"):
            base = space.recipe(scale)
            rows = {row.label: base.override(row.overrides).hash for row in space.rows}
            own[f"{name}/{scale}"] = {"(base)": base.hash, **rows}
    assert len(hashes) == 2 * 35
    assert list(own) == list(hashes)
    assert own == hashes
