"""What a report says of costs: a front of score against cost, limits, and costs that cannot be compared."""

from __future__ import annotations

import dataclasses
import functools
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
import pytest

from reports.facts.best_model import ranking
from reports.facts.findings import Findings
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from reports.live.folder import _ledger_view, signature_of
from reports.plots.goals_front import Mark, pareto_picture
from reports.sections.pareto import pareto_in_short
from reports.testing import changed
from reports.words.guards import rows_in_words
from tests.reports.sections.test_search import drawn
from tests.synthetic_results import SPACES, make_results, named_in, section_text, with_goals

RECIPES = 12


def study(folder: Path, goals: list[str] | None = None, **limits: float) -> dict[str, tuple[float, float]]:
    """Six rows and six explored recipes under two seeds: the dearer, the better, with a few exceptions. By recipe
    its mean score and seconds."""
    made, truth = priced()
    shutil.copytree(made.name, folder, dirs_exist_ok=True)
    dataclasses.replace(StudyInfo.load(folder), goals=goals, limits=limits).save(folder)
    return dict(truth)


@functools.cache
def priced() -> tuple[tempfile.TemporaryDirectory[str], dict[str, tuple[float, float]]]:
    """The same without goals and limits, to be copied."""
    made = tempfile.TemporaryDirectory()
    folder = Path(made.name)
    rows = [row.label for row in SPACES["scl_ablation"].rows if row.needs is None][: RECIPES - 6]
    info = make_results(folder, rows=rows, explored=6, seeds=(0, 1))
    dataclasses.replace(info, row_hashes={label: info.row_hashes[label] for label in rows}).save(folder)
    chance, truth = np.random.default_rng(3), {}
    for record in Ledger(folder / LEDGER).read():
        sts, seconds = truth.setdefault(
            record.recipe_hash, (50 + 20 * chance.random(), 10 * float(np.exp(2 * chance.random())))
        )
        sts, seconds = sts + seconds / 5 + 0.01 * record.seed, seconds + 0.1 * record.seed
        own = dataclasses.replace(with_goals(record, sts, 70.0), cost={**record.cost, "seconds": seconds})
        Ledger(folder / LEDGER).write(own)
    return made, {recipe: (sts + seconds / 5 + 0.005, seconds + 0.05) for recipe, (sts, seconds) in truth.items()}


def rewrite(folder: Path, recipes: set[str], **changes: Any) -> None:
    for record in Ledger(folder / LEDGER).read():
        if record.recipe_hash in recipes:
            Ledger(folder / LEDGER).write(changed(record, **changes))


def listed(results: Results, text: str, begins: str = r"\d+[ ?]* +\|") -> list[str]:
    """The hashes of the recipes in the table's lines that begin so, which those on the measured front do."""
    return [named_in(results, line)[0] for line in re.findall(rf"^\| {begins}.*", text, re.MULTILINE)]


class TestFront:
    def test_it_is_what_nothing_dominates_where_one_goal_is_a_cost(self, tmp_path: Path) -> None:
        """Seeds differ by a hundredth, so that the probabilities must agree with the measured front."""
        means = study(tmp_path, ["sts", "seconds"])
        results, text = Results.load(tmp_path), section_text(tmp_path, "pareto")
        expected = {
            recipe
            for recipe, (score, cost) in means.items()
            if not any(a >= score and b <= cost and (a, b) != (score, cost) for a, b in means.values())
        }
        assert 1 < len(expected) < len(means)
        assert listed(results, text) == sorted(expected, key=lambda recipe: -means[recipe][0])
        assert all(">99 %" in line for line in text.splitlines() if re.match(r"\| \d", line))
        assert "seconds (of a trial, training and evaluation), the lower the better" in text
        assert "chosen on development parts and costs only" in text
        assert "seconds (lower is better)" in text
        assert f"{RECIPES} have a value for both goals" in text
        assert "not all comparable" not in text
        best = max(score for score, _ in means.values()), min(cost for _, cost in means.values())
        tops = f"values are {best[0]:.2f} for STS and {best[1]:.2f} for seconds (lower is better)"
        assert tops in pareto_in_short(results)

    def test_three_goals(self, tmp_path: Path) -> None:
        means = study(tmp_path, ["sts", "seconds", "peak_memory_mb"])
        cheap = max(means, key=lambda recipe: means[recipe][1])
        record = Ledger(tmp_path / LEDGER).get(cheap, 0)
        rewrite(tmp_path, {cheap}, cost={**record.cost, "peak_memory_mb": 1.0})
        text = section_text(tmp_path, "pareto")
        assert cheap in listed(Results.load(tmp_path), text)
        assert "have a value for every goal" in text
        assert "peak memory in MiB (lower is better)" in text
        assert "pareto.svg" not in text

    @pytest.mark.parametrize("wide", [False, True])
    def test_the_picture(self, wide: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """The cost lies to the right; steps join the front through what is reached at each cost; a wide range of costs
        stands on a logarithmic axis with plain numbers."""
        dear = 400.0 if wide else 40.0
        marks = [Mark(10, 60, True, 2, None), Mark(dear, 70, False, 1, None), Mark(dear, 65, False, None, None)]
        axes = ("seconds (lower is better)", "STS, development parts")
        figure = drawn(monkeypatch, lambda: pareto_picture(marks, axes, tmp_path / "a.svg", (True, False)))
        (axis,) = figure.axes
        steps = next(line for line in axis.lines if line.get_label() == "measured front")
        assert steps.get_drawstyle() == "steps-post"
        assert axis.get_xscale() == ("log" if wide else "linear")
        assert axis.get_xlabel() == axes[0]
        figure.canvas.draw()
        assert not any("10^" in label.get_text() for label in axis.get_xticklabels(which="both"))

    @pytest.mark.slow
    def test_the_cost_lies_to_the_right(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        for goals in (["sts", "seconds"], ["seconds", "sts"]):
            study(tmp_path, goals)
            figure = drawn(monkeypatch, lambda: section_text(tmp_path, "glance"))
            assert isinstance(figure, matplotlib.figure.Figure)
            assert figure.axes[0].get_xlabel() == "seconds (lower is better)"
            assert figure.axes[0].get_ylabel() == "STS, development parts"


class TestComparable:
    @pytest.mark.slow
    def test_a_front_of_costs_says_where_they_are_not(self, tmp_path: Path) -> None:
        machine = {"processor": "Xeon", "device": "H100", "bf16": True}
        some = next(iter(study(tmp_path, ["sts", "seconds"])))
        for changes, words in (
            ({"hardware": "8 GPUs"}, "they ran on 2 kinds of hardware (2 cores; 8 GPUs)"),
            ({"machine": machine}, "they ran on 2 kinds of hardware (2 cores; H100, Xeon)"),
            ({"training": {"population": 8}}, "some trained in populations, of 8 trials: there a trial's seconds are"),
            ({"cost": {"seconds": 5.0, "workers": 4}}, "different numbers of workers (1 to 4 workers) or threads"),
        ):
            rewrite(tmp_path, {some}, **changes)
            assert words in section_text(tmp_path, "pareto")
        dataclasses.replace(StudyInfo.load(tmp_path), goals=["sts", "transfer"]).save(tmp_path)
        assert "not all comparable" not in section_text(tmp_path, "pareto")


class TestLimits:
    def test_recipes_above_are_neither_best_nor_on_the_front(self, tmp_path: Path) -> None:
        means = study(tmp_path, ["sts", "seconds"], seconds=40.0)
        above = {recipe for recipe, (_, cost) in means.items() if cost > 40}
        results = Results.load(tmp_path)
        assert set(results.above_limits) == above
        assert above
        text = section_text(tmp_path, "pareto")
        assert not above & set(named_in(results, text))
        assert f"{len(above)} recipes are above a limit (`seconds=40`), and left out." in text
        assert f"{RECIPES - len(above)} have a value for both goals" in text
        assert "have not finished" not in text  # those left out have
        short = section_text(tmp_path, "sure")
        assert f"Limit of each trial: `seconds=40`. Of {RECIPES} finished recipes, {len(above)} are above: " in short
        assert "Limits: `seconds=40`" in section_text(tmp_path, "what_was_run")

    def test_the_best_within_is_named_beside_the_best_above(self, tmp_path: Path) -> None:
        means = study(tmp_path, ["sts"], seconds=40.0)
        kept = {recipe: score for recipe, (score, cost) in means.items() if cost <= 40}
        above = {recipe: score for recipe, (score, cost) in means.items() if cost > 40}
        short = section_text(tmp_path, "sure")
        assert f"The best development score for STS within is {max(kept.values()):.2f}, of " in short
        assert f"; of those above the best is {max(above.values()):.2f}." in short
        assert "front" not in section_text(tmp_path, "pareto")  # of one goal there is none
        text = section_text(tmp_path, "explored")
        results = Results.load(tmp_path)
        within = [recipe for recipe in results.explored if recipe in kept]
        ranked = sorted(within, key=lambda recipe: -kept[recipe])
        assert text.count("finished recipe") == any(recipe in above for recipe in results.explored)
        assert listed(results, text, "`#") == ranked
        assert f"By development score for STS the best explored recipe is `{name_of(results, ranked[0])}`" in text

    def test_the_best_within_is_the_best_of_the_whole_report(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of equals the first of the study, and never TF-IDF; of several scores by the first."""
        means = study(tmp_path, ["sts"], seconds=40.0)
        for record in Ledger(tmp_path / LEDGER).read():
            Ledger(tmp_path / LEDGER).write(with_goals(record, 60.0, 70.0))
        results = Results.load(tmp_path)
        for first in [recipe for recipe in results.labels if means[recipe][1] <= 40][:2]:
            assert ranking(Results.load(tmp_path))[0].recipe_hash == first
            best = f"STS within is 60.00, of {rows_in_words(results, [first])};"
            assert best in section_text(tmp_path, "sure")
            monkeypatch.setattr("reports.facts.best_model.TF_IDF", results.labels[first])
        for record in results.of_hash(first):
            Ledger(tmp_path / LEDGER).write(with_goals(record, 59.0, 90.0))
        monkeypatch.undo()
        dataclasses.replace(results.info, goals=["sts", "transfer"]).save(tmp_path)
        assert ranking(Results.load(tmp_path))[0].recipe_hash == first
        assert "STS within is 60.00, of " in section_text(tmp_path, "sure")

    def test_the_best_model_keeps_the_limits(self, tmp_path: Path) -> None:
        means = study(tmp_path, None)
        rewrite(tmp_path, set(means), checkpoint="models/one")
        best = Findings.of(Results.load(tmp_path)).best
        limit = means[best.recipe_hash][1] - 0.01
        dataclasses.replace(StudyInfo.load(tmp_path), limits={"seconds": limit}).save(tmp_path)
        within = Findings.of(Results.load(tmp_path)).best
        assert means[within.recipe_hash][1] <= limit
        live = _ledger_view(tmp_path, Ledger(tmp_path / LEDGER), signature_of(tmp_path)).best
        assert len(live) == sum(cost <= limit for _, cost in means.values())

    def test_none_above_and_none_within(self, tmp_path: Path) -> None:
        study(tmp_path, ["sts", "seconds"], seconds=1e6)
        assert "No finished recipe is above." in section_text(tmp_path, "sure")
        dataclasses.replace(StudyInfo.load(tmp_path), limits={"seconds": 1.0}).save(tmp_path)
        assert "No recipe keeps the limit." in section_text(tmp_path, "sure")
        assert "No other finished trial has a value of every goal." in section_text(tmp_path, "pareto")
        assert "cannot be the best, above a limit" in section_text(tmp_path, "explored")

    def test_what_ended_the_study_is_said_first(self, tmp_path: Path) -> None:
        study(tmp_path, None, worker_hours=1.0)
        limited = {"limit": "worker_hours", "number": 1.0, "spent": 0.95, "a_trial": 0.1, "left_out": 1}
        dataclasses.replace(StudyInfo.load(tmp_path), limited=limited).save(tmp_path)
        short = section_text(tmp_path, "sure")
        assert "**The limit worker_hours=1 ended the study: 0.95 h were spent, a trial takes about 0.1 h" in short
        assert "1 trial did not begin; the same command with a larger --limit goes on.**" in short
        assert "above" not in short.split("did not begin")[0]  # a limit of the whole study is no limit of trials


class TestOneCost:
    def test_a_search_for_a_cost_ranks_the_cheapest_first(self, tmp_path: Path) -> None:
        means = study(tmp_path, ["seconds"])
        text = section_text(tmp_path, "explored")
        results = Results.load(tmp_path)
        ranked = sorted(results.explored, key=lambda recipe: means[recipe][1])
        assert listed(results, text, "`#") == ranked
        assert f"By seconds the best explored recipe is `{name_of(results, ranked[0])}`" in text
        assert "That is too low, since chance helped" in text
        middle, low, high = map(float, re.findall(r"expected to take ([\d.]+) \(95 % ([\d.]+) to ([\d.]+)\)", text)[0])
        assert low <= middle <= high
        assert middle == pytest.approx(means[ranked[0]][1], abs=0.5)

    @pytest.mark.slow
    def test_the_course_of_the_search_goes_down(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        study(tmp_path, ["seconds"])
        figure = drawn(monkeypatch, lambda: section_text(tmp_path, "mattered"))
        (axis,) = figure.axes
        best = next(line for line in axis.lines if line.get_label() == "best so far")
        values = [float(value) for value in best.get_ydata()]  # type: ignore[arg-type]
        assert values == sorted(values, reverse=True)
        assert axis.get_ylabel() == "seconds (lower is better)"


def test_a_record_without_its_cost_is_above_no_limit_and_on_no_front(tmp_path: Path) -> None:
    means = study(tmp_path, ["sts", "seconds"], seconds=40.0)
    dear = max(means, key=lambda recipe: means[recipe][1])
    rewrite(tmp_path, {dear}, cost={})
    results = Results.load(tmp_path)
    assert dear not in results.above_limits
    assert dear not in section_text(tmp_path, "pareto")
    assert isinstance(results.of_hash(dear)[0], Record)
