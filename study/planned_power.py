"""Which gain the finals of a search can show, and what a smaller one would need: told before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from reports.facts.evidence import chance_of
from reports.facts.looks import share
from reports.facts.question import has_no_test, in_question, without
from reports.facts.results import Results
from reports.ledger import StudyInfo
from reports.ledger.looks import taken
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
"""Of a score, where no recipe ran more than once. Pooled over the recipes of a study in `docs/examples`, seeds move the
mean of STS12 to 16 by 0.01 to 1.1 points. It counts as known, since what is told of it begins with `if`."""
WHY = "assumed; by 0.01 to 1.1 in this repository's examples"

FEW_ITEMS = 50
"""From so many test items on a gain is planned by seeds."""


@dataclass(frozen=True)
class TestSize:
    """A test: what its items alone say of the intervals of gains, without seeds."""

    __test__ = False  # nor is it one of pytest's

    items: int
    varies: float
    """`TaskKind.varies`."""

    def half_interval(self, level: float) -> float:
        """Points from a gain to the end of its interval, about; `level`: how often it may be wrong."""
        return self._error(1 - level)

    def gain(self, level: float) -> float:
        """Points of a gain that is shown in `finals.POWER` of all cases, about."""
        return self.half_interval(level) + self._error(finals.POWER)

    def needed(self, points: float, level: float) -> int:
        """The fewest test items whose `half_interval` is not above so many points."""
        return next(items for items in count(2) if replace(self, items=items).half_interval(level) <= points)

    def _error(self, share: float) -> float:
        """By the quantile of Student's t of the mean of the items; infinite for one, which has no spread."""
        from scipy.special import stdtrit

        if self.items < 2:
            return math.inf
        return float(stdtrit(self.items - 1, share)) * self.varies / math.sqrt(self.items)


def gain_in_words(plan: Plan) -> list[str]:
    """Lines for a search with finals; none without them, and where seeds change nothing. Few test items decide more
    than seeds: then no gain is planned."""
    if plan.finals is None or not plan.base.uses_seed:
        return []
    tests = own_tests(plan)
    smallest = min((test.items for test in tests), default=FEW_ITEMS)
    if smallest < FEW_ITEMS:
        return [f"finals: no gain is planned, as {smallest} test items decide more of it than seeds do"]
    test = max(tests, key=lambda test: test.half_interval(_level(plan)), default=None)
    spread, figure, source = next(_measured(plan), (ASSUMED, "a score", WHY))
    finalists, seeds = plan.finals.recipes, plan.finals.seeds
    planned = finals.plan(spread, finalists, seeds, looks=_looks(plan))
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
    """A sentence where a task of one's own has so few test items that hardly any gain can be shown."""
    test = min(own_tests(plan), key=lambda test: test.items, default=None)
    return [f"{_of_items(test, _level(plan))}; give more by --test"] if test and test.items < FEW_ITEMS else []


def own_tests(plan: Plan) -> list[TestSize]:
    """Those of one's own that judge the goals."""
    names = {task for goal in plan.space.searched_goals for task, _ in goal.tested}
    own = [TASKS[name] for name in names if name in TASKS and TASKS[name].of_own_data]
    return [
        TestSize(sum(len(split) for split in KINDS[task.kind].tested(kept_task(task, Path()))), KINDS[task.kind].varies)
        for task in own
    ]


def _looks(plan: Plan) -> float:
    """By how much chance counts more at the next look."""
    return 1 / share(len(taken(plan.results)) + 1)


def _level(plan: Plan) -> float:
    """How often the interval of a finalist's gain may be wrong: the next look's share, divided by the finalists."""
    return (1 - CONFIDENCE) / _looks(plan) / (plan.finals.recipes if plan.finals else 1)


def _of_items(test: TestSize, level: float) -> str:
    needs = _either([f"{test.needed(points, level):,}" for points in (5.0, 2.0)])
    return (
        f"the test has {test.items:,} items, so the interval of a gain is about {number(test.half_interval(level))} "
        f"points to each side, less where two models mostly agree; one of 5 or 2 points takes {needs} items"
    )


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _measured(plan: Plan) -> Iterator[tuple[Spread, str, str]]:
    """How far seeds move a figure of this study's own trials, and whence that is known: first of what the answer may be
    about, then of the goals' development scores."""
    source = "as in earlier trials of this study"
    own = [record.under(plan.scoring) for record in plan.ledger.sift()[0] if record.status == "finished"]
    results = Results(plan.results, StudyInfo(plan.space.name), plan.space, own)
    scored = {task for record in own for task in record.scores}
    chosen_by = {task for task in needed(results.goals) & scored if has_no_test(task)}
    for figure in in_question(results, scored, chosen_by):
        tested = without(figure, chosen_by)
        values = [(record.recipe_hash, tested.of(record.scores)) for record in own]
        if spread := _spread(values, chance_of(tested)):
            yield spread, tested.name, source
    for goal in (goal for goal in results.goals if not goal.cost):
        values = [(record.recipe_hash, goal.of(record.scores, record.cost)) for record in own]
        if spread := _spread(values):
            yield spread, f"{goal.short} on development parts", source


def _spread(values: Iterable[tuple[str, float | None]], chance: float = 0.0) -> Spread | None:
    """Of values by recipe, pooled over the recipes that have several; copies once, and without seeds that collapsed."""
    by_recipe: dict[str, list[float]] = {}
    for recipe_hash, value in values:
        if value is not None:
            by_recipe.setdefault(recipe_hash, []).append(value)
    sound = [np.array(each)[~collapsed(each, chance)] for each in by_recipe.values()]
    spread = pooled_spread({each.tobytes(): Sample(each, (*range(len(each)),)) for each in sound}.values())
    return spread if spread and spread.std > 0 else None
