"""The SupMPN spaces hold what Dehghan and Amasyali 2022 print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from search_spaces import Space, spaces
from search_spaces.dehghan2022 import tables

SPACES = spaces()
MAIN, AUGMENTATION = SPACES["supmpn_main"], SPACES["supmpn_augmentation"]
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
