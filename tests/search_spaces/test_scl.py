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


def test_the_same_model_has_the_same_figures_in_every_table():
    for label in ("allpalln-lambda0.1-SCL", "allpalln-lambda0.3-SCL", "allpalln-lambda0.5-SCL"):
        published = ABLATION.row(label).published
        assert published["2"] == published["6"]
        assert published["3"] == published["4"]
    published = ABLATION.row("allpalln-lambda0.5-SCL").published
    assert published["7"] == published["2"]
    assert published["5"] == {key: value for key, value in published["3"].items() if key != "MRPC"}


def test_rows_read_as_their_labels_say():
    for row in ABLATION.rows:
        recipe = ABLATION.base.override(row.overrides)
        if row.label.endswith("-SCL"):
            positives, negatives = re.match(r"(3|all)(?:p|all)(3|all)n-", row.label).groups()
            if row.label == "3all3n-lambda1.0-SCL":
                positives, negatives = "3", "3"
            weight = float(re.search(r"lambda([\d.]+)", row.label)[1])
            tau = re.search(r"tau([\d.]+)", row.label)
            assert recipe.objective.name == "scl"
            assert recipe.flat()["objective.positives"] == (None if positives == "all" else int(positives))
            assert recipe.flat()["objective.negatives"] == (None if negatives == "all" else int(negatives))
            assert recipe.flat()["objective.weight"] == weight
            assert recipe.flat()["objective.temperature"] == (float(tau[1]) if tau else 1.0)
        elif row.label.endswith("-Augment"):
            assert recipe.objective.name == "ce_augment"
        elif recipe.trains:
            assert recipe.objective.name == "ce"
    assert [row.label for row in ABLATION.rows if row.needs] == ["Avg. GloVe embeddings"]
