"""The gain that the finals of a search can show, and the seeds and items that a smaller gain needs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from reports.facts.evidence import chance_of
from reports.facts.looks import level_share, looks_at
from reports.facts.question import candidate_figures, has_no_test, without_tasks
from reports.facts.results import Results
from reports.ledger import StudyInfo
from reports.ledger.finals import is_soup
from reports.ledger.looks import look_names
from reports.statistics import Sample, finals
from reports.statistics.collapse import collapsed
from reports.statistics.measured import CONFIDENCE
from reports.statistics.power import MOST_SEEDS, Spread, pooled_spread
from reports.words.markdown import number
from search_spaces.goals import needed
from study.cli.terminal import printable
from study.plan import Plan
from trainables.senteval.kinds import KINDS
from trainables.senteval.read_task import kept_task
from trainables.senteval.tasks import TASKS

ASSUMED = Spread(0.5, 100)
"""Assumed spread of a score over seeds, if no recipe ran more than once. Pooled over the recipes of a study in
`docs/examples`, seeds move the mean of STS12 to 16 by 0.01 to 1.1 points. It is used like a measured spread."""
WHY = "assumed; by 0.01 to 1.1 in this repository's examples"

FEW_ITEMS = 50
"""With fewer test items no gain is planned, because the items decide more of it than the seeds do."""


@dataclass(frozen=True)
class TestSize:
    """The size of a test, which decides how wide its items alone, without seeds, make the intervals of gains."""

    __test__ = False  # not a test class of pytest

    items: int
    varies: float
    """Least standard deviation over items of two models' difference, in points (`TaskKind.least_deviation`)."""

    def half_interval(self, level: float) -> float:
        """Return about how many points an end of the interval is from the gain. `level`: probability of an error."""
        return self._error(1 - level)

    def gain(self, level: float) -> float:
        """Return about how many points a gain needs to be shown in `finals.POWER` of all cases."""
        return self.half_interval(level) + self._error(finals.POWER)

    def needed(self, points: float, level: float) -> int:
        """Return the smallest number of test items whose `half_interval` is at most this many points."""
        return next(items for items in count(2) if replace(self, items=items).half_interval(level) <= points)

    def _error(self, share: float) -> float:
        """Return the quantile `share` of the items' mean by Student's t; infinite for one item, which has no spread."""
        from scipy.special import stdtrit

        if self.items < 2:
            return math.inf
        return float(stdtrit(self.items - 1, share)) * self.varies / math.sqrt(self.items)


def gain_in_words(plan: Plan) -> list[str]:
    """Return lines to print on the gain that the finals can show; empty without finals, and if seeds change nothing.
    With fewer than `FEW_ITEMS` test items a line says that no gain is planned."""
    if plan.finals is None or not plan.base.uses_seed:
        return []
    tests = own_tests(plan)
    smallest = min((test.items for test in tests), default=FEW_ITEMS)
    if smallest < FEW_ITEMS:
        return [f"finals: no gain is planned, as {smallest} test items decide more of it than seeds do"]
    test = max(tests, key=lambda test: test.half_interval(_level(plan)), default=None)
    spread, figure, source = next(_measured(plan), (ASSUMED, "a score", WHY))
    finalists, seeds = plan.finals.recipes, plan.finals.seeds
    planned = finals.plan(spread, finalists, seeds, p_factor=_p_factor(plan))
    recipes = f"{finalists} recipe{'s' * (finalists != 1)} x {seeds} fresh seeds"
    by = f"{printable(figure)} by {number(spread.std)} ({printable(source)})"
    gains = _either([f"{gain:g}" for gain in planned.needed])
    needs = _either([f"over {MOST_SEEDS:,}" if each is None else str(each) for each in planned.needed.values()])
    gain = planned.gain if test is None else math.hypot(planned.gain, test.gain(_level(plan)))
    judged, about = ("", "") if test is None else (f" and {test.items:,} test items", ", about")
    return [
        f"finals: {recipes}{judged} show a gain of {number(gain)} points over the base settings in "
        f"{10 * finals.POWER:.0f} of 10 cases{about}, if seeds move {by}",
        f"finals: a gain of {gains} points needs {needs} fresh seeds, counting seeds alone; few test items take more",
        *([] if test is None else [f"finals: {_of_items(test, _level(plan))}"]),
    ]


def few_items(plan: Plan) -> list[str]:
    """Return a warning if a task of a person's own data has too few test items to show small gains; else no line."""
    test = min(own_tests(plan), key=lambda test: test.items, default=None)
    return [f"{_of_items(test, _level(plan))}; give more by --test"] if test and test.items < FEW_ITEMS else []


def own_tests(plan: Plan) -> list[TestSize]:
    """Return the sizes of the tests of a person's own data that judge the goals."""
    names = {task for goal in plan.space.searched_goals for task, _ in goal.test_weights}
    own = [TASKS[name] for name in names if name in TASKS and TASKS[name].of_own_data]
    return [
        TestSize(
            sum(len(split) for split in KINDS[task.kind].tested_splits(kept_task(task, Path()))),
            KINDS[task.kind].least_deviation,
        )
        for task in own
    ]


def _p_factor(plan: Plan) -> float:
    """Return by how much the next look at the finals (a report with verdicts) divides the allowed error probability."""
    return 1 / level_share(len(looks_at("finals", look_names(plan.results))) + 1)


def _level(plan: Plan) -> float:
    """Return the error probability of a finalist's interval: that of the next look, divided among the finalists."""
    return (1 - CONFIDENCE) / _p_factor(plan) / (plan.finals.recipes if plan.finals else 1)


def _of_items(test: TestSize, level: float) -> str:
    needs = _either([f"{test.needed(points, level):,}" for points in (5.0, 2.0)])
    return (
        f"the test has {test.items:,} items, so the interval of a gain is about {number(test.half_interval(level))} "
        f"points to each side, less where two models mostly agree; one of 5 or 2 points takes {needs} items"
    )


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _measured(plan: Plan) -> Iterator[tuple[Spread, str, str]]:
    """Yield spreads over seeds of this study's own scores, each with the score's name and its source. First come the
    test scores that the answer may be about, then the development scores of the goals."""
    source = "as in earlier trials of this study"
    ran = [each for each in plan.ledger.sift()[0] if each.status == "finished" and not is_soup(each.seed)]
    own = [record.filter_evaluations(plan.scoring) for record in ran]
    results = Results(plan.results, StudyInfo(plan.space.name), plan.space, own)
    scored = {task for record in own for task in record.scores}
    chosen_by = {task for task in needed(results.goals) & scored if has_no_test(task)}
    for figure in candidate_figures(results, scored, chosen_by):
        tested = without_tasks(figure, chosen_by)
        values = [(record.recipe_hash, tested.of(record.scores)) for record in own]
        if spread := _spread(values, chance_of(tested)):
            yield spread, tested.name, source
    for goal in (goal for goal in results.goals if not goal.cost):
        values = [(record.recipe_hash, goal.of(record.scores, record.cost)) for record in own]
        if spread := _spread(values):
            yield spread, f"{goal.short} on development parts", source


def _spread(values: Iterable[tuple[str, float | None]], chance: float = 0.0) -> Spread | None:
    """Return the spread over seeds, pooled over recipes with several; None if unknown. Copies count once, collapsed
    seeds never. `values` are pairs (recipe hash, score)."""
    by_recipe: dict[str, list[float]] = {}
    for recipe_hash, value in values:
        if value is not None:
            by_recipe.setdefault(recipe_hash, []).append(value)
    sound = [np.array(each)[~collapsed(each, chance)] for each in by_recipe.values()]
    spread = pooled_spread({each.tobytes(): Sample(each, (*range(len(each)),)) for each in sound}.values())
    return spread if spread and spread.std > 0 else None
