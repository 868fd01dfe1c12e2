"""Which gain the finals of a search can show, and what a smaller one would need: told before anything is spent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from reports.evidence import chance_of
from reports.ledger import LEDGER, Asked, Ledger, Record, StudyInfo
from reports.looks import share, taken
from reports.markdown import number
from reports.question import has_no_test, in_question, without
from reports.results import Results
from reports.statistics import Sample, finals
from reports.statistics.collapse import collapsed
from reports.statistics.power import MOST_SEEDS, Spread, pooled_spread
from search_spaces.goals import needed
from study.cli.terminal import printable
from study.plan import Plan

ASSUMED = Spread(0.5, 100)
"""Of a score, where no recipe ran more than once. Pooled over the recipes of a study in `docs/examples`, seeds move the
mean of STS12 to 16 by 0.01 to 1.1 points. It counts as known, since what is told of it begins with `if`."""
WHY = "assumed; by 0.01 to 1.1 in this repository's examples"


@dataclass(frozen=True)
class Moved:
    """How far seeds move a score."""

    spread: Spread
    figure: str
    source: str
    """Whence that is known."""


def gain_in_words(plan: Plan, ledger: Ledger) -> list[str]:
    """Two lines for a search with finals; none without them, and where seeds change nothing."""
    if plan.finals is None or not plan.base.uses_seed:
        return []
    moved = next(_measured(plan, ledger), Moved(ASSUMED, "a score", WHY))
    count, seeds = plan.finals.recipes, plan.finals.seeds
    found = finals.plan(moved.spread, count, seeds, looks=1 / share(len(taken(plan.results)) + 1))
    recipes = f"{count} recipe{'s' * (count != 1)} x {seeds} fresh seeds"
    by = f"{printable(moved.figure)} by {number(moved.spread.std)} ({printable(moved.source)})"
    gains = _either([f"{gain:g}" for gain in found.needed])
    needs = _either([f"over {MOST_SEEDS:,}" if each is None else str(each) for each in found.needed.values()])
    return [
        f"finals: {recipes} show a gain of {number(found.gain)} points over the base settings in "
        f"{10 * finals.POWER:.0f} of 10 cases, if seeds move {by}",
        f"finals: a gain of {gains} points needs {needs} fresh seeds, counting seeds alone; few test items take more",
    ]


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _measured(plan: Plan, ledger: Ledger) -> Iterator[Moved]:
    """From this study's own trials, then from each study that it learns from, where these have it."""
    yield from _of_records(plan, ledger.sift()[0], plan.asked, "as in earlier trials of this study")
    for folder in plan.request.learn_from:
        asked = StudyInfo.load(folder).asked
        yield from _of_records(plan, Ledger(folder / LEDGER).sift()[0], asked, f"as in {folder}")


def _of_records(plan: Plan, records: Sequence[Record], asked: Asked, source: str) -> Iterator[Moved]:
    """First of what the answer may be about, then of the goals' development scores."""
    own = [record.under(asked) for record in records if record.status == "finished"]
    results = Results(plan.results, StudyInfo(plan.space.name), plan.space, own)
    scored = {task for record in own for task in record.scores}
    chosen_by = {task for task in needed(results.goals) & scored if has_no_test(task)}
    for figure in in_question(results, scored, chosen_by):
        tested = without(figure, chosen_by)
        values = [(record.recipe_hash, tested.of(record.scores)) for record in own]
        if spread := _spread(values, chance_of(tested)):
            yield Moved(spread, tested.name, source)
    for goal in (goal for goal in results.goals if not goal.cost):
        values = [(record.recipe_hash, goal.of(record.scores, record.cost)) for record in own]
        if spread := _spread(values):
            yield Moved(spread, f"{goal.short} on development parts", source)


def _spread(values: Iterable[tuple[str, float | None]], chance: float = 0.0) -> Spread | None:
    """Of values by recipe, pooled over the recipes that have several; copies once, and without seeds that collapsed."""
    found: dict[str, list[float]] = {}
    for recipe_hash, value in values:
        if value is not None:
            found.setdefault(recipe_hash, []).append(value)
    sound = [np.array(each)[~collapsed(each, chance)] for each in found.values()]
    spread = pooled_spread({each.tobytes(): Sample(each, (*range(len(each)),)) for each in sound}.values())
    return spread if spread and spread.std > 0 else None
