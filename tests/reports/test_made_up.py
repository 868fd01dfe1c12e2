"""The studies that tests make up: what their records say is what their predictions give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reports.ledger import Record
from reports.testing import make_study
from tests.synthetic_results import SPACES, make_results
from trainables.senteval.correlation import spearman


def stored(folder: Path, record: Record) -> dict[str, np.ndarray]:
    assert record.predictions
    with np.load(folder / record.predictions[0], allow_pickle=False) as arrays:
        return dict(arrays)


def score(arrays: dict[str, np.ndarray], task: str, number: str) -> float:
    """As SentEval takes it."""
    predicted, gold = arrays[task], arrays[f"gold.{task}"]
    if number == "test_accuracy":
        return 100 * float((predicted == gold).mean())
    sizes: Any = arrays[f"parts.{task}"]
    bounds = np.cumsum(sizes)[:-1]
    each = [spearman(a, b) for a, b in zip(np.split(predicted, bounds), np.split(gold, bounds), strict=True)]
    return 100 * float(np.average(each, weights=sizes))


def test_scores_are_what_the_predictions_give(tmp_path: Path):
    results = make_study(tmp_path)
    for record in results.records:
        arrays = stored(tmp_path, record)
        for task, number in (("STS12", "spearman_wmean"), ("STS13", "spearman_wmean"), ("TREC", "test_accuracy")):
            assert record.scores[task][number] == pytest.approx(score(arrays, task, number), abs=1e-9)
    first, second = (stored(tmp_path, results.of_row(label)[0]) for label in results.asked_rows)
    assert (first["gold.MR"] == second["gold.MR"]).all()
    assert (first["MR"] != second["MR"]).any()
    assert first["items.MR"] == second["items.MR"]


def test_published_figures_are_met_as_closely_as_the_items_allow(tmp_path: Path):
    from reports.results import Results

    make_results(tmp_path, SPACES["scl_ablation"], rows=["SBERT baseline"], laptop=False, predictions=True)
    [record] = Results.load(tmp_path).records
    assert record.scores["TREC"]["test_accuracy"] == pytest.approx(83.8, abs=100 / 60)
    assert record.scores["STS12"]["spearman_wmean"] == pytest.approx(66.06, abs=1.5)
    assert record.scores["STS12"]["spearman_wmean"] == pytest.approx(
        score(stored(tmp_path, record), "STS12", "spearman_wmean"), abs=1e-9
    )
