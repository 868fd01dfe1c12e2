"""The SCL spaces hold what Liao 2021 prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from search_spaces import spaces

SPACES = spaces()
ABLATION = SPACES["scl_ablation"]
ROOT = Path(__file__).resolve().parents[2]
PAPER = ROOT.parent / "shared/papers/liao2021_scl_pdf.txt"


@pytest.mark.skipif(not PAPER.is_file(), reason="the paper's text is not beside this checkout")
def test_figures_are_the_papers():
    """Every published row stands in the paper's text, figure for figure, under its printed name."""
    lines = [line.split("\t") for line in PAPER.read_text(encoding="utf-8").splitlines() if "\t" in line]
    printed = {(line[0], tuple(float(cell) for cell in line[1:])) for line in lines if _is_figures(line[1:])}
    for table in ABLATION.tables:
        for name, label in table.rows:
            figures = dict(ABLATION.row(label).published[table.number])
            if (table.number, name) == ("5", "1.0"):
                figures["MRPC"] = 73.0  # cut off in print
            assert (name, tuple(figures[column.name] for column in table.columns)) in printed


def _is_figures(cells: list[str]) -> bool:
    return all(re.fullmatch(r"\d+\.?\d*", cell) for cell in cells)
