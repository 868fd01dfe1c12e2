"""The front of two goals, and how probably each recipe belongs to it."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from reports.facts.results import Results
from reports.facts.standings import Ranked
from reports.ledger import Record
from reports.sections.pareto import front, front_picture, pareto_in_short
from reports.statistics import Measured
from reports.statistics.true_scores import EQUAL, RecipeScores, TrueScores, common_variance, true_scores
from reports.testing import changed
from search_spaces.goals import GOALS
from tests.reports.sections.test_sections import rewrite, study
from tests.synthetic_results import named_in, section_text, table_lines, with_goals


class TestPareto:
    GOALS = "goals=('sts', 'transfer')"

    def test_the_front_is_what_nothing_dominates(self, tmp_path: Path, drawn: None):
        study(tmp_path, self.GOALS, explored=12, pruned=2)
        text = section_text(tmp_path, "pareto")
        results = Results.load(tmp_path)
        scores = {
            key: tuple(GOALS[goal].of(records[0].scores, {}) or 0.0 for goal in ("sts", "transfer"))
            for key, records in results.recipes.items()
        }
        expected = {
            key
            for key, (x, y) in scores.items()
            if not any(a >= x and b >= y and (a, b) != (x, y) for a, b in scores.values())
        }
        assert set(named_in(results, text)) == expected
        assert "32 recipes were tried; 30 have a score for both goals (18 of the space's rows, 12 explored)" in text
        picture = front_picture(results, tmp_path / "pictures")
        assert picture.name == "pictures/pareto.svg"
        assert picture.path.is_file()
        best = [max(score[place] for score in scores.values()) for place in (0, 1)]
        short = pareto_in_short(results)
        assert f"are {best[0]:.2f} for STS and {best[1]:.2f} for transfer." in short

    def test_test_averages_stand_beside_and_have_no_say(self, tmp_path: Path):
        study(tmp_path, self.GOALS, explored=6)
        text = section_text(tmp_path, "pareto")
        results = Results.load(tmp_path)
        line = next(line for line in text.splitlines() if line.startswith("| 1 "))
        label = re.findall(r"row: `([^|]+?)` +\|", line)[0]
        paper, column = results.topics[0]
        cell = results.cell(paper, label, column.name)
        assert f"{cell.mean:.2f}" in line
        assert "test: STS Avg." in text

        def worse(record: Record) -> Record:
            scores = {task: {**numbers, "test_accuracy": 1.0} for task, numbers in record.scores.items()}
            return changed(record, scores=scores)

        rewrite(tmp_path, worse)
        assert named_in(Results.load(tmp_path), section_text(tmp_path, "pareto")) == named_in(results, text)

    def test_one_goal_is_missing(self, tmp_path: Path):
        study(tmp_path, self.GOALS)
        rewrite(tmp_path, lambda record: with_goals(record, GOALS["sts"].of(record.scores, {}), None))
        text = section_text(tmp_path, "pareto")
        assert "The goal transfer" in text
        assert "is missing: no finished trial has it" in text
        assert "the front is the single best recipe" in text
        assert len(named_in(Results.load(tmp_path), text)) == 1
        assert "pareto.svg" not in text
        rewrite(tmp_path, lambda record: with_goals(record, None, None))
        assert "No finished trial has a development score" in section_text(tmp_path, "pareto")

    def test_the_front(self):
        def names(**points: tuple[float, float]) -> list[str]:
            ranked = [
                Ranked(name, [], [], (Measured(x, 1.0, 3), Measured(y, 1.0, 3)), False)
                for name, (x, y) in points.items()
            ]
            return [point.recipe_hash for point in front(ranked, [GOALS["sts"], GOALS["transfer"]])]

        assert names(other=(50, 80), close=(69.9, 70), best=(70, 70)) == ["best", "other"]
        assert names(best=(70, 70), twin=(70, 70)) == ["best", "twin"]

    def test_doubtful_recipes_are_marked_and_probable_ones_listed(self, tmp_path: Path):
        """All recipes are alike, so that chance alone puts some on the front."""
        study(tmp_path, self.GOALS, explored=10, seeds=(1, 2, 3))
        chance = np.random.default_rng(4)
        rewrite(tmp_path, lambda record: with_goals(record, 60 + chance.normal(), 70 + chance.normal()))
        text = section_text(tmp_path, "pareto")
        lines = [line for line in table_lines(text) if "%" in line[3]]
        on_front = [line for line in lines if line[0] != "off it"]
        assert all(("?" in line[0]) == (float(line[3].strip(" %")) < 50) for line in on_front)
        assert any("?" in line[0] for line in on_front)
        listed = [float(line[3].strip(" %")) for line in lines if line[0] == "off it"]
        assert listed
        assert listed == sorted(listed, reverse=True)
        assert min(listed) >= 10


def on_the_front(scores: np.ndarray) -> np.ndarray:
    """(recipes,) Whether no other is better on both goals."""
    return np.array([not ((scores >= own).all(1) & (scores > own).any(1)).any() for own in scores])


def made_up(chance: np.random.Generator, *, apart: float, unequal: float, seeds: int = 3) -> tuple[np.ndarray, list]:
    """The true scores of 20 recipes so far apart, and what was measured, with spreads about 1 that may differ."""
    truth = chance.normal(0, apart, (20, 2))
    noise = chance.normal(size=(20, seeds, 2))
    noise[..., 1] = 0.5 * noise[..., 0] + 0.87 * noise[..., 1]
    spread = np.exp(unequal * chance.normal(size=(20, 1, 1)))
    return truth, [RecipeScores(values) for values in truth[:, None] + spread * noise]


class TestTrueScores:
    @pytest.mark.slow
    @pytest.mark.parametrize(("apart", "unequal"), [(0.5, 0.0), (2.0, 0.0), (1.0, 1.0)])
    def test_what_is_stated_comes_true(self, monkeypatch: pytest.MonkeyPatch, apart: float, unequal: float):
        """Of recipes said to be on the front with 30 %, about 30 % are; so a printed front is as false as is said."""
        monkeypatch.setattr("reports.statistics.true_scores.DRAWS", 300)
        chance = np.random.default_rng(0)
        stated, true, printed = [], [], []
        for _ in range(60):
            truth, measured = made_up(chance, apart=apart, unequal=unequal)
            known = true_scores(measured)
            stated += known.on_front.tolist()
            true += on_the_front(truth).tolist()
            printed += on_the_front(np.array([item.values.mean(axis=0) for item in measured])).tolist()
        probabilities, is_true, on_front = np.array(stated), np.array(true), np.array(printed)
        for low, high in ((0, 0.05), (0.05, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 1.01)):
            inside = (probabilities >= low) & (probabilities < high)
            error = 3 * np.sqrt(0.25 / max(inside.sum(), 1))
            assert abs(probabilities[inside].mean() - is_true[inside].mean()) < 0.07 + error if inside.any() else True
        assert probabilities[on_front].mean() == pytest.approx(is_true[on_front].mean(), abs=0.08)
        if apart < 1:
            assert is_true[on_front].mean() < 0.6  # what a front printed without probabilities keeps to itself

    @pytest.mark.slow
    def test_the_best_of_many_is_not_as_good_as_it_looks(self):
        chance = np.random.default_rng(1)
        bias, cover = [], []
        for _ in range(60):
            truth, measured = made_up(chance, apart=0.5, unequal=0.0)
            first_goal = [RecipeScores(item.values[:, :1]) for item in measured]
            best = int(np.argmax([item.values.mean() for item in first_goal]))
            known = true_scores(first_goal)
            middle, low, high = known.interval(best)[:, 0]
            bias.append((first_goal[best].values.mean() - truth[best, 0], middle - truth[best, 0]))
            cover.append(low <= truth[best, 0] <= high)
        measured_bias, stated_bias = np.mean(bias, axis=0)
        assert measured_bias > 0.3
        assert abs(stated_bias) < 0.15
        assert np.mean(cover) > 0.85

    def test_spreads_are_shared_only_where_they_are_alike(self):
        chance = np.random.default_rng(2)
        alike = chance.chisquare(2, 40) / 2
        assert common_variance(alike, np.full(40, 2))[1] > 20
        assert common_variance(np.full(40, 1.0), np.full(40, 2)) == (pytest.approx(1.0), EQUAL)
        apart = alike * np.where(np.arange(40) < 20, 25.0, 0.04)
        assert common_variance(apart, np.full(40, 2))[1] < 2

    def test_a_recipe_with_a_wide_spread_of_its_own_is_less_sure(self):
        values = np.linspace(60, 61, 10)[:, None] + 0.05 * np.array([-1.0, 0.0, 1.0])
        recipes = [RecipeScores(own[:, None]) for own in values]
        sure = true_scores(recipes)
        wide = true_scores([*recipes[:-1], RecipeScores(recipes[-1].values + np.array([[-3.0], [0.0], [3.0]]))])
        assert isinstance(sure, TrueScores)
        assert isinstance(wide, TrueScores)
        assert sure.on_front[-1] > 0.8
        assert wide.on_front[-1] < sure.on_front[-1]
        assert wide.widths[-1, 0] > 3 * sure.widths[-1, 0]

    def test_unknown_and_certain(self):
        single, three = RecipeScores(np.array([[60.0]])), RecipeScores(np.array([[61.0], [62.0], [63.0]]))
        assert true_scores([single, three]) is None
        known = true_scores([dataclasses.replace(single, fixed=True), RecipeScores(np.array([[70.0]]), fixed=True)])
        assert known.on_front.tolist() == [0.0, 1.0]
        again = [true_scores([three, RecipeScores(three.values + 0.5)]) for _ in range(2)]
        assert (again[0].draws == again[1].draws).all()
