"""What a report says of stopping early: what it saved, what it could have cost, and how far to believe it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

from reports.document import markdown
from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from reports.results import Results
from reports.sections import stopping
from reports.statistics.stopping import audit
from reports.testing import changed
from search_spaces.goals import GOALS
from study.search.halving import asha
from study.search.schedulers import Setting
from tests.conftest import slow_case
from tests.reports.sections.test_sections import rewrite, study
from tests.synthetic_results import section_text
from trainables.training.rungs import DEFAULT

RUNGS = len(DEFAULT.at)


def courses(random: np.random.Generator, trials: int, goals: int, noise: float = 1.0) -> np.ndarray:
    """(trials, rungs and the end, goals): each score follows the one before, the goals pull at each other."""
    found = np.empty((trials, RUNGS + 1, goals))
    found[:, 0] = random.normal(60, 4, size=(trials, goals))
    for column in range(1, RUNGS + 1):
        before = found[:, column - 1] - 60
        pull = 0.2 * before[:, ::-1] if goals > 1 else 0.0
        found[:, column] = 62 + 0.95 * before + pull + noise * random.normal(size=(trials, goals))
    return found


def halved(whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What successive halving leaves of them: values at rungs, and ends."""
    scheduler = asha(Setting(DEFAULT.ladder, whole.shape[2]))
    left = whole.copy()
    for trial, course in enumerate(whole):
        for rung in range(1, RUNGS + 1):
            if not scheduler.goes_on(str(trial), rung, list(course[rung - 1])):
                left[trial, rung:] = np.nan
                break
    return left[:, :-1], left[:, -1]


class TestTheAuditHolds:
    """In studies that are made up, so that the ends of the stopped trials are known."""

    @staticmethod
    @pytest.fixture(scope="class", params=[1, slow_case(2)])
    def seen(request: pytest.FixtureRequest) -> dict[str, np.ndarray]:
        random = np.random.default_rng(5)
        rows = []
        for _ in range(60):
            whole = courses(random, 70, request.param, noise=1.5)
            values, ends = halved(whole)
            through = ~np.isnan(ends).any(axis=1)
            best = ends[through].max(axis=0)
            gains = np.maximum(whole[~through, -1].max(axis=0) - best, 0)
            for goal, each in enumerate(audit(values, ends, list(best), draws=40)):
                if each.cost is not None:
                    first = each.rungs[0]
                    assert first.tau is not None
                    assert first.all_tau is not None
                    tau = kendalltau(whole[:, 0, goal], whole[:, -1, goal]).statistic
                    inside = first.all_low <= tau <= first.all_high
                    rows.append(
                        (
                            each.cost.chance,
                            gains[goal] > 0,
                            gains[goal] <= each.cost.most,
                            first.tau,
                            first.all_tau,
                            tau,
                            inside,
                            request.param,
                        )
                    )
        assert len(rows) > 30
        names = ("chance", "lost", "covered", "own_tau", "all_tau", "tau", "inside", "goals")
        return dict(zip(names, np.array(rows, dtype=float).T, strict=True))

    def test_the_chance_is_not_too_low(self, seen: dict[str, np.ndarray]) -> None:
        """It may be too high, where few trials ran through, but not by more than a sixth."""
        error = seen["lost"].std() / np.sqrt(len(seen["lost"]))
        assert seen["lost"].mean() - 2 * error - 0.02 < seen["chance"].mean() < seen["lost"].mean() + 1 / 6

    def test_the_largest_loss_is_within_the_limit(self, seen: dict[str, np.ndarray]) -> None:
        assert seen["covered"].mean() > 0.9

    def test_the_order_is_that_of_all_trials_and_not_of_those_that_ran_through(
        self, seen: dict[str, np.ndarray]
    ) -> None:
        assert abs(seen["all_tau"].mean() - seen["tau"].mean()) < 0.08
        if seen["goals"][0] == 1:  # two goals choose less sharply by each
            assert seen["own_tau"].mean() < seen["tau"].mean() - 0.1, "or there would be nothing to correct"
        assert seen["inside"].mean() > 0.8


class TestTheAudit:
    def test_without_stopping_nothing_is_drawn(self) -> None:
        whole = courses(np.random.default_rng(0), 30, 1)
        [found] = audit(whole[:, :-1], whole[:, -1], [whole[:, -1].max()], draws=20)
        assert found.cost is not None
        assert (found.cost.chance, found.cost.expected, found.cost.most) == (0, 0, 0)
        for rung, each in enumerate(found.rungs):
            tau = kendalltau(whole[:, rung, 0], whole[:, -1, 0]).statistic
            assert each.tau == each.all_tau == each.all_low == each.all_high == pytest.approx(tau)
            assert each.through == 30

    def test_a_stopped_trial_that_was_ahead_shows(self) -> None:
        """The best at the first rung is stopped by mistake."""
        whole = courses(np.random.default_rng(0), 40, 1, noise=0.3)
        values, ends = whole[:, :-1].copy(), whole[:, -1].copy()
        first = int(values[:, 0].argmax())
        values[first, 1:], ends[first] = np.nan, np.nan
        [found] = audit(values, ends, [float(np.nanmax(ends))], draws=400)
        assert found.cost is not None
        assert found.cost.chance > 0.5
        assert found.cost.expected == pytest.approx(max(0, whole[first, -1, 0] - np.nanmax(ends)), abs=0.8)

    def test_too_few_say_nothing(self) -> None:
        whole = courses(np.random.default_rng(0), 12, 1)
        values, ends = whole[:, :-1].copy(), whole[:, -1].copy()
        ends[4:] = np.nan
        [found] = audit(values, ends, [70.0])
        assert found.cost is None
        assert {each.all_tau for each in found.rungs} == {None}

    def test_a_rung_that_was_jumped_over_has_the_next_ones_scores(self) -> None:
        whole = courses(np.random.default_rng(0), 30, 1)
        values, ends = halved(whole)
        jumped = values.copy()
        jumped[:, 0] = np.nan
        filled = values.copy()
        filled[:, 0] = values[:, 1]
        some = ~np.isnan(values[:, 1, 0])
        assert audit(jumped[some], ends[some], [70.0]) == audit(filled[some], ends[some], [70.0])


GOALS_OF = "goals=('sts', 'transfer')"


def stopped_study(folder: Path, trials: int = 60, goals: bool = True, noise: float = 1.0) -> None:
    """A made-up study with two goals, or one score; its explored trials were halved."""
    info = study(folder, GOALS_OF if goals else "", explored=trials)
    dataclasses.replace(info, stopping={"scheduler": "asha", "rungs": str(DEFAULT)}).save(folder)
    whole = courses(np.random.default_rng(3), trials, 2 if goals else 1, noise=noise)
    values, ends = halved(whole)
    explored = set(info.explored)
    numbers = iter(range(trials))

    def change(record: Record) -> Record:
        if record.recipe_hash not in explored:
            return record
        trial = next(numbers)
        names = ["sts", "transfer"] if goals else ["sts"]
        course = [
            {
                "rung": n + 1,
                "step": 30 * 2**n,
                "seconds": 10.0 * 2**n,
                "tokens": 900 * 2**n,
                "scores": dict(zip(names, v, strict=True)),
            }
            for n, v in enumerate(values[trial].tolist())
            if not np.isnan(v).any()
        ]
        through = not np.isnan(ends[trial]).any()
        steps = 480 if through else course[-1]["step"]
        training: dict[str, Any] = {**record.training, "rungs": course, "planned_steps": 480, "steps": steps}
        training |= {"seconds": steps / 3, "stopped": None if through else f"stopped at rung {len(course)}"}
        cost = {"seconds": steps / 3 + 20 * through, "train_seconds": steps / 3, "evaluation_seconds": 20.0 * through}
        scores: dict[str, Any] = {}
        if through:
            scores = {task: dict(found) for task, found in record.scores.items()}
            for goal, end in zip(("sts", "transfer"), [*ends[trial], *ends[trial]], strict=False):
                for task in set(GOALS[goal].tasks) & set(scores):
                    scores[task][GOALS[goal].number] = float(end)
        status = "finished" if through else "pruned"
        return changed(record, status=status, scores=scores, training=training, cost=cost)

    rewrite(folder, change)


class TestTheSection:
    def test_two_goals(self, tmp_path: Path) -> None:
        stopped_study(tmp_path)
        results = Results.load(tmp_path)
        text = markdown(stopping.write(results, tmp_path))
        found = stopping.stopped_early(results)
        assert found is not None
        assert len(found.through) + len(found.stopped) == 60
        assert f"{len(found.stopped)} explored trials of 60 were stopped early." in text
        spent = sum(record.cost["seconds"] for record in [*found.through, *found.stopped])
        assert f"saved **{100 * (1 - spent / (60 * 180)):.0f} %**" in text
        assert "| 1 (0.125)" in text
        assert text.count("Kendall's tau of") == 2
        for name in ("sts", "transfer"):
            stopped_there = [line.split("|")[3].strip() for line in text.splitlines() if line.startswith("| ")]
            assert f"ended above the best trial of these seeds by `{name}`" in text
        assert sum(int(cell) for cell in stopped_there if cell.isdigit()) == 2 * len(found.stopped)

    def test_a_better_further_seed_of_a_race_hides_no_loss(self, tmp_path: Path) -> None:
        """A seed that lifts all scores lifts no ceiling for trials of another seed."""
        stopped_study(tmp_path, noise=5.0)
        before = stopping.stopped_early(Results.load(tmp_path))
        ledger = Ledger(tmp_path / LEDGER)
        through = next(record for record in ledger.read() if record.status == "finished" and "rungs" in record.training)
        lifted = {
            task: {name: found[name] + 20 if isinstance(found[name], float) else found[name] for name in found}
            for task, found in through.scores.items()
        }
        ledger.write(changed(through, seed=7, scores=lifted, training={**through.training, "rungs": []}))
        after = stopping.stopped_early(Results.load(tmp_path))
        assert before is not None
        assert after is not None
        assert after.audits == before.audits

    def test_one_score(self, tmp_path: Path) -> None:
        stopped_study(tmp_path, goals=False)
        text = section_text(tmp_path, "stopping")
        assert "Kendall's tau of development score at each rung" in text
        assert "`sts`" not in text

    def test_a_risk_is_said_on_the_first_screen(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        stopped_study(tmp_path, noise=5.0)
        results = Results.load(tmp_path)
        found = stopping.stopped_early(results)
        assert found is not None
        costs = [each.cost for each in found.audits.values() if each.cost]
        assert max(cost.chance for cost in costs) > stopping.WORTH_SAYING, "noise must make it a risk"
        assert "cost the best trial: the estimated chance" in stopping.stopping_in_short(results)
        monkeypatch.setattr(stopping, "WORTH_SAYING", 1.1)
        assert stopping.stopping_in_short(results) == ""

    def test_few_trials_say_that_nothing_is_known(self, tmp_path: Path) -> None:
        stopped_study(tmp_path, trials=12)
        results = Results.load(tmp_path)
        assert "too few explored trials ran through" in stopping.stopping_in_short(results)
        assert "Too few trials ran through" in markdown(stopping.write(results, tmp_path))

    def test_an_older_ledger_has_no_such_section(self, tmp_path: Path) -> None:
        study(tmp_path, GOALS_OF, explored=6, pruned=6)
        results = Results.load(tmp_path)
        assert StudyInfo.load(tmp_path).stopping == {}
        assert markdown(stopping.write(results, tmp_path)) == stopping.stopping_in_short(results) == ""
