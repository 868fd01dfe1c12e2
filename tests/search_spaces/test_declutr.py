"""DeCLUTR's spaces against the paper's text: figures, averages and sizes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from search_spaces import Row, Space, spaces
from search_spaces.averages import AVERAGES
from trainables.senteval.tasks import GROUPS

SPACES = {name: space for name, space in spaces().items() if name.startswith("declutr_")}
MAIN, POOLING = SPACES["declutr_main"], SPACES["declutr_pooling"]
GRIDS = {name: space for name, space in SPACES.items() if space.figures}
PAPER = Path(__file__).resolve().parents[3] / "shared/papers/giorgi2020_declutr.txt"

needs_paper = pytest.mark.skipif(not PAPER.is_file(), reason="the paper's text is not beside this checkout")


def printed(number: str) -> list[list[str]]:
    """The lines of a table in the paper's text: the row's name, then its cells."""
    text = PAPER.read_text(encoding="utf-8")
    block = re.search(rf"^Table {number}: .*\n\n((?:\|.*\n)+)", text, re.M)
    assert block
    lines = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in block[1].splitlines()]
    return [[line[0].removesuffix(" (ours)"), *line[1:]] for line in lines if numbers(line[1:])]


def numbers(cells: list[str]) -> list[float]:
    """Every number of some cells; 73.39/81.45 and 76.80 (76.33) are two."""
    return [float(number) for cell in cells for number in re.findall(r"-?\d+\.\d+", cell)]


@needs_paper
@pytest.mark.parametrize(
    ("number", "left", "right"), [("1", 3, 1), ("S1", 3, 0), ("S3", 1, 0), ("S4", 1, 0), ("S5", 3, 1), ("S6", 3, 1)]
)
def test_figures_are_the_papers(number: str, left: int, right: int):
    """Every figure stands in the paper's table of that number, under the row's printed name, and none is left out.

    `left` are the columns before the figures (name, parameters, dimension), `right` those after (the difference).
    """
    space = next(space for space in (MAIN, POOLING) if number in [table.number for table in space.tables])
    figures: dict[str, list[float]] = {}
    times: dict[str, int] = {}
    for line in printed(number):
        name = line[0]
        if number == "S5":  # the same names twice, before and after
            times[name] = times.get(name, 0) + 1
            name += {1: ", before", 2: ", after"}[times[name]]
        figures.setdefault(name, []).extend(numbers(line[left : len(line) - right]))
    table = space.table(number)
    ours = {
        name: list(space.row(label).published[number].values())
        for name, label in table.rows
        if number in space.row(label).published
    }
    assert ours == figures
    for name, label in table.rows:
        if name in ours:
            assert list(space.row(label).published[number]) == [column.name for column in table.columns]


@needs_paper
@pytest.mark.parametrize("number", ["1", "S1", "S5"])
def test_printed_sizes(number: str):
    space = MAIN if number == "1" else POOLING
    table = space.table(number)
    lines = printed(number)
    if number == "S5":
        lines = [[f"{line[0]}, before", *line[1:]] for line in lines[:4]]  # BERT-large: 340M after, an oddity
    for name, parameters, dim, *_ in lines:
        note = space.row(dict(table.rows)[name]).note
        assert note.endswith(f"{dim} dimensions as printed")
        assert (f"{parameters} parameters" in note) == (parameters != "–")


@pytest.mark.parametrize("row", MAIN.rows, ids=lambda row: row.label)
def test_table_1_is_the_average_of_tables_s3_and_s4(row: Row):
    """With the paper's own rule for MRPC. No slip among them: the total was taken before rounding."""
    downstream, probing = dict(row.published["S3"]), row.published["S4"]
    downstream["MRPC"] = (downstream.pop("MRPC accuracy") + downstream.pop("MRPC F1")) / 2
    halves = [sum(figures.values()) / len(figures) for figures in (downstream, probing)]
    assert (len(downstream), len(probing)) == (18, 10)
    assert halves == pytest.approx([row.published["1"][name] for name in ("Downstream", "Probing")], abs=0.00501)
    assert sum(halves) / 2 == pytest.approx(row.published["1"]["Avg."], abs=0.0101)


@pytest.mark.parametrize("number", ["S1", "S5"])
def test_averages_of_development_scores(number: str):
    for row in POOLING.rows:
        figures = row.published.get(number)
        if figures:
            mean = (figures["Downstream"] + figures["Probing"]) / 2
            assert mean == pytest.approx(figures["Avg."], abs=0.00501)


def test_tables_s3_and_s4_have_all_28_tasks():
    tasks = {column.score[0] for number in ("S3", "S4") for column in MAIN.table(number).columns if column.score}
    assert tasks == set(GROUPS["all"])
    parts = {average.name: average.cells for average in AVERAGES.values()}
    for number, name in (("S3", "declutr_downstream"), ("S4", "declutr_probing")):
        shown = {column.score for column in MAIN.table(number).columns}
        assert shown == {(task, score) for task, scores in parts[name] for score in scores}


def test_development_averages_look_at_no_test_score_but_the_sts_tasks():
    parts = {average.name: average.cells for average in AVERAGES.values()}
    names = [name for name in parts if name.startswith("development_declutr") and parts[name]]
    assert len(names) == 3
    for name in names:
        for task, scores in parts[name]:
            assert (task in GROUPS["sts"]) is not all(score.startswith("dev_") for score in scores)
    downstream, without = (
        {task for task, _ in parts[f"development_declutr_{n}"]} for n in ("downstream", "without_snli")
    )
    assert downstream - without == {"SNLI"}
    assert downstream == set(GROUPS["downstream"])


@pytest.mark.parametrize("space", GRIDS.values(), ids=list(GRIDS))
class TestGrids:
    def test_the_default_model_alone_is_published(self, space: Space):
        """Its recipe is the paper's, and so is its figure in Table S6."""
        main, table = MAIN, space.tables[0].number
        trained = {main.base.override(main.row(label).overrides): label for label in ("DeCLUTR-small", "DeCLUTR-base")}
        for row in space.rows:
            label = trained.get(space.base.override(row.overrides))
            figure = {table: {"Downstream": main.published("S6", label, "Downstream")}} if label else {}
            assert row.published == figure
        assert any(row.published for row in space.rows)

    def test_every_table_is_drawn(self, space: Space):
        assert {figure.table for figure in space.figures} == {table.number for table in space.tables}

    def test_claims_are_held_against_the_average_and_its_parts(self, space: Space):
        by_table = {table.number: [c for c in space.claims if c.table == table.number] for table in space.tables}
        compared = [[claim.comparisons for claim in claims] for claims in by_table.values()]
        assert compared[0]
        assert compared[0] == compared[1] == compared[2]
