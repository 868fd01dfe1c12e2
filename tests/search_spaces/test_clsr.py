"""The CLSR spaces hold what Qiu 2022 prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from search_spaces import Space, spaces
from search_spaces.qiu2022 import tables

SPACES = spaces()
MAIN, DATA, BATCH, POOLING = (SPACES[f"clsr_{name}"] for name in ("main", "data", "batch_size", "pooling"))
STS = (*tables.STS, "Avg.")
PAPER = Path(__file__).resolve().parents[3] / "shared/papers/qiu2022_clsr.txt"
BASES = ("BERT-base", "BERT-large", "SBERT-base", "SBERT-large")


@pytest.fixture(scope="module")
def printed() -> dict[str, list[tuple[str, ...]]]:
    """Cells of each table line, by the line's first cell."""
    if not PAPER.is_file():
        pytest.skip("the paper's text is not beside this checkout")
    lines: dict[str, list[tuple[str, ...]]] = {}
    for line in PAPER.read_text(encoding="utf-8").splitlines():
        name, *cells = line.split("\t")
        lines.setdefault(name, []).append(tuple(cells))
    return lines


def test_table_1(printed: dict[str, list[tuple[str, ...]]]) -> None:
    for base in BASES:
        labels = (base, f"CLSR-STSB-{base}", f"CLSR-{base}")
        assert tuple(f"{DATA.published('1', label, 'STS-B dev'):.2f}" for label in labels) in printed[base]
    assert len(DATA.rows) == 3 * len(BASES)


@pytest.mark.parametrize(("space", "number", "first"), [(BATCH, "2", "Batch Size"), (POOLING, "4", None)])
def test_tables_2_and_4(
    printed: dict[str, list[tuple[str, ...]]], space: Space, number: str, first: str | None
) -> None:
    table = space.table(number)
    figures = {name: f"{space.published(number, label, 'STS-B dev'):.2f}" for name, label in table.rows}
    if first:
        assert tuple(figures) == printed[first][0]
        assert tuple(figures.values()) in printed["STSB"]
    else:
        assert all((figure,) in printed[name] for name, figure in figures.items())


def test_table_3(printed: dict[str, list[tuple[str, ...]]]) -> None:
    assert printed["Model"] == [STS]
    for name, label in MAIN.table("3").rows:
        assert tuple(f"{MAIN.published('3', label, column):.2f}" for column in STS) in printed[name]
    assert len(MAIN.rows) == 8
