"""The SupMPN spaces hold what Dehghan and Amasyali 2022 print, and the ablations read as their labels say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from search_spaces import Space, spaces
from search_spaces.dehghan2022 import tables
from search_spaces.dehghan2022.rows import BASE

SPACES = spaces()
MAIN, AUGMENTATION, OBJECTIVES, GRID = (
    SPACES[f"supmpn_{name}"] for name in ("main", "augmentation", "objectives", "positives_negatives")
)
STS, TRANSFER = (*tables.STS, "Avg."), (*tables.TRANSFER, "Avg.")
PAPER = Path(__file__).resolve().parents[3] / "shared/papers/dehghan2022_supmpn.txt"


@pytest.fixture(scope="module")
def printed() -> list[tuple[str, ...]]:
    """The lines of the tables without bold face, subscripts and the marks of their sources."""
    if not PAPER.is_file():
        pytest.skip("the paper's text is not beside this checkout")
    text = PAPER.read_text(encoding="utf-8")
    text = re.sub(r" ?<sub>| -(?=\S)", "-", re.sub(r"<sup>.*?</sup>|</sub>|</?b>", "", text))
    return [tuple(cell.strip(" †‡♠♣★♦♥◇∞") for cell in line.split("\t")) for line in text.splitlines() if "\t" in line]


@pytest.mark.parametrize(
    ("space", "number", "columns", "rows"),
    [(MAIN, "2", STS, 28), (MAIN, "3", TRANSFER, 16), (AUGMENTATION, "A1", STS, 4)],
)
def test_tables(printed: list[tuple[str, ...]], space: Space, number: str, columns: tuple[str, ...], rows: int) -> None:
    table = space.table(number)
    assert len(table.rows) == rows
    assert ("Model", *columns) in printed
    assert tuple(column.name for column in table.columns) == columns
    for name, label in table.rows:
        figures = [f"{space.published(number, label, column):.2f}" for column in columns]
        assert (name.removesuffix(" (supervised)"), *figures) in printed


def test_no_line_of_tables_2_and_3_is_left_out(printed: list[tuple[str, ...]]) -> None:
    """Lines of eight figures: 28 in Table 2, 16 in Table 3, 4 in Table A1."""
    lines = [line for line in printed if len(line) == 9 and all(re.fullmatch(r"\d\d\.\d\d", cell) for cell in line[1:])]
    assert len(lines) == 28 + 16 + 4


def test_premise_counts_are_table_1s(printed: list[tuple[str, ...]]) -> None:
    counts = {name: [c for c in MAIN.premise_counts if c.name == name] for name in ("SNLI", "MNLI")}
    for name, cells in counts.items():
        figures = [f"{cell.published:,}" if cell.published > 9999 else str(cell.published) for cell in cells]
        assert (name, *figures) in printed
    assert [(c.entailments, c.contradictions) for c in counts["SNLI"]] == [
        ((1, 1),) * 2,
        ((2, 4),) * 2,
        ((5, None),) * 2,
    ]
    assert [(c.entailments, c.contradictions) for c in counts["MNLI"]] == [((n, n),) * 2 for n in (1, 2, 3)]
    assert all(any(c.source in part for part in MAIN.base.flat()["corpus.nli"].split(",")) for c in MAIN.premise_counts)


def test_the_none_option_and_the_batch_of_256_are_the_model_of_table_2() -> None:
    model = MAIN.row(BASE).published
    assert AUGMENTATION.row(f"{BASE}-None").published["A1"] == model["2"]
    assert SPACES["supmpn_batch_size"].row("batch 256").published == model
    assert OBJECTIVES.row("SupMPN, P 5, Q 5").published == model
    assert GRID.row("P 5, Q 5").published == model


def test_objectives_read_as_their_labels_say() -> None:
    for row in OBJECTIVES.rows:
        recipe = OBJECTIVES.base.override(row.overrides)
        numbers = {key: int(value) for key, value in re.findall(r"\b([PQ]) (\d)", row.label)}
        if recipe.optimisation.epochs:
            layout = {"ce": "rows", "scl": "rows"}.get(recipe.objective.name, "groups")
            assert recipe.corpus.layout == ("sentences" if "unsupervised" in row.label else layout)
            assert tuple(recipe.flat().get(f"objective.{side}") for side in ("positives", "negatives")) == (
                numbers.get("P"),
                numbers.get("Q"),
            )
        assert recipe.objective.mlm == (0.1 if "MLM" in row.label else 0.0)
        released = recipe.flat().get("objective.own_positives") == "score_zero"
        assert released == ("released" in row.label)
    names = {OBJECTIVES.base.override(row.overrides).objective.name for row in OBJECTIVES.rows}
    assert names >= {"ce", "scl", "ntxent", "mnrl", "simcse", "supcon", "supmpn", "triplet", "batch_all", "batch_hard"}
