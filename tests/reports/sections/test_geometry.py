"""How the embeddings lie, beside scores and hyperparameters: what is above noise, and what is not said of few."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from reports.document import markdown
from reports.ledger import Record
from reports.plots import geometry_map
from reports.results import Results
from reports.sections import geometry
from reports.statistics.ranks import rank_correlations
from reports.testing import changed, make_study
from tests.guarded import put, rewrite
from tests.synthetic_results import make_results, section_text, table_lines
from trainables.recipe import Recipe, Value


class TestRankCorrelations:
    def test_as_scipy_has_them(self):
        random = np.random.default_rng(1)
        first = random.normal(size=(25, 4))
        first[:, 3] = first[:, 3] > 0  # ties
        second = 0.6 * first[:, :2] + random.normal(size=(25, 2))
        correlations, chances = rank_correlations(first, second)
        for a in range(4):
            for b in range(2):
                rho, p = spearmanr(first[:, a], second[:, b])
                assert correlations[a, b] == pytest.approx(rho)
                assert chances[a, b] == pytest.approx(p, abs=0.02)

    def test_one_value_is_correlated_with_nothing(self):
        correlations, chances = rank_correlations(np.ones((8, 1)), np.arange(8.0)[:, None])
        assert (correlations, chances) == (0.0, 1.0)

    def test_noise_is_found_as_often_as_it_should(self):
        random = np.random.default_rng(2)
        _, chances = rank_correlations(random.normal(size=(15, 30)), random.normal(size=(15, 30)))
        assert 0.02 < (chances < 0.05).mean() < 0.08


def study(folder: Path, planted: bool) -> Results:
    """Explored recipes whose alignment follows their temperature, or nothing."""
    make_results(folder, rows=["SBERT baseline", "allpalln-lambda0.3-SCL"], explored=24, predictions=True)
    if planted:
        rewrite(
            folder, lambda record: put(geometry={"alignment": record.recipe.get("objective.temperature", 1.0)})(record)
        )
    return Results.load(folder)


def line(text: str, first: str) -> list[str]:
    return next(line for line in table_lines(text) if line[0] == first)


@pytest.mark.slow
def test_what_moves_what_is_told_from_noise(tmp_path: Path, drawn: None):
    results = study(tmp_path, planted=True)
    text = markdown(geometry.write(results, tmp_path / "pictures"))
    temperature = line(text, "`objective.temperature`")
    assert temperature[2] == "**+1.00**"
    assert "**" not in "".join(line(text, "`objective.weight`"))
    record = results.of_row("SBERT baseline")[0]
    assert line(text, "SBERT baseline")[1] == f"{record.geometry['alignment']:.3f}"
    picture = (tmp_path / "pictures/geometry.svg").read_text()
    assert ">baseline<" in picture
    assert ">explored recipe<" in picture
    assert ">1  SBERT baseline<" in picture
    assert ">1<" in picture


@pytest.mark.slow
def test_noise_is_called_noise(tmp_path: Path):
    text = markdown(geometry.write(study(tmp_path, planted=False), tmp_path / "pictures"))
    assert "None of " in text
    assert "**" not in text


def test_a_key_that_comes_with_a_component_counts_where_it_is():
    """Which recipes have it is said by the component's name; what it is set to is a line where that varies."""
    chosen: list[dict[str, Value]] = [
        {"objective.name": "supmpn"}, {"objective.weight": 0.3}, {"objective.weight": 0.5}
    ]  # fmt: skip
    recipes = [Recipe().override(changes).flat() for changes in chosen]
    assert "objective.own_positives" in recipes[0].keys() - recipes[1].keys()
    items = [
        geometry.Lying("", [Record(recipe, "", 0, "finished")], (), is_row=False) for recipe in recipes
    ]  # fmt: skip
    lines = dict(geometry._varied(items))
    assert lines == {"`objective.name=scl`": [0.0, 1.0, 1.0], "`objective.weight`": [None, 0.3, 0.5]}


def test_few_recipes_are_not_correlated(tmp_path: Path):
    results = make_study(tmp_path / "results")
    text = markdown(geometry.write(results, results.folder / "pictures"))
    assert "is not said of fewer than 6 trained recipes" in text
    assert "Rank correlations" not in text


def test_old_records_have_no_such_section(tmp_path: Path):
    results = make_study(tmp_path / "results")
    rewrite(results.folder, lambda record: changed(record, geometry={}))
    assert section_text(results.folder, "geometry") == ""


def test_colours_do_not_spread_noise():
    assert geometry_map._ends([60.0, 60.1], 1.0) == pytest.approx((59.55, 60.55))
    assert geometry_map._ends([50.0, 60.0], 1.0) == (50.0, 60.0)


def test_scores_that_no_row_has_are_no_column(tmp_path: Path):
    results = make_study(tmp_path / "results")
    text = markdown(geometry.write(results, results.folder / "pictures"))
    for cells in zip(*table_lines(text)[2:], strict=True):
        assert {*cells} != {"—"}


def test_a_study_without_a_score_that_sums_it_up_has_no_picture(tmp_path: Path) -> None:
    make_study(tmp_path)
    lying = {"alignment": 0.2, "uniformity": -2.0, "anisotropy": 0.1, "sentences": "STS12"}
    rewrite(tmp_path, lambda record: changed(record, scores={"STS12": record.scores["STS12"]}, geometry=lying))
    text = section_text(tmp_path, "geometry")
    assert "anisotropy" in text
    assert "![" not in text
