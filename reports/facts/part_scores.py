"""Scores and training times of recipes, on parts of the data and on all of the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reports.facts.cached import cached
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.ledger import Record, seconds_by_work, training_seconds
from reports.ledger.finals import TIE_MARGIN
from search_spaces.goals import Goal
from trainables.senteval.tasks import kind_of


@dataclass(frozen=True)
class PartScore:
    """A recipe's score on a share of the data."""

    value: float
    """Value of the goal, in the goal's own unit and direction."""
    seconds: float | None
    """Seconds of one training, see `training_seconds`."""
    record: Record
    """The training's record; if there are several seeds, that of the first."""


@cached
def part_scores(results: Results, goal: Goal) -> dict[str, dict[float, PartScore]]:
    """Return scores of recipes that trained on a part, by the hash of the recipe on all data, and share (1.0: all)."""
    scores: dict[str, dict[float, PartScore]] = {}
    seconds = _seconds(results)
    for record in results.parts:
        share, whole = results.whole_recipes.get(record.recipe_hash, (1.0, None))
        value = goal.of(record.scores, record.cost) if record.status == "finished" else None
        if whole is not None and value is not None:
            scores.setdefault(whole.hash, {})[share] = PartScore(value, seconds.get(record.key), record)
    for key, by_share in scores.items():
        by_share |= _on_all(results.of_hash(key), results, goal)
    return scores


def _on_all(records: Sequence[Record], results: Results, goal: Goal) -> dict[float, PartScore]:
    """Return {1.0: score} with one recipe's score on all of the data; empty if it has none."""
    score = results.goal(records, goal)
    return {1.0: PartScore(score.mean, _seconds(results).get(records[0].key), records[0])} if score else {}


@cached
def _seconds(results: Results) -> dict[str, float]:
    """By key of the record, the seconds of each training before the finals (`training_seconds`)."""
    return training_seconds([*results.records, *results.parts])


@dataclass(frozen=True)
class MisleadingPart:
    """The part of the data on which recipes began, if training with the base settings gains nothing there: recipes that
    train least may look best. Scores by the first goal, in its own unit and direction."""

    share: float
    base: float
    encoder: float
    """The original encoder's score. `base`: the score after training the base settings on this part."""


def misleading_part(results: Results) -> MisleadingPart | None:
    """Return the part on which training the base settings gains nothing; None if it gains, or there was no part."""
    finals, goal = results.info.finals, results.goals[0]
    if finals is None or finals.base is None or finals.as_it_came is None or goal.cost:
        return None
    scores = part_scores(results, goal)
    shares = {share for key, by_share in scores.items() if key != finals.base for share in by_share if share < 1}
    untrained = results.of_hash(finals.as_it_came) or results.finals.get(finals.as_it_came, [])
    encoder = results.goal(untrained, goal)
    base = scores.get(finals.base, {}).get(min(shares, default=1.0))
    if not shares or base is None or encoder is None or goal.upward(base.value) > goal.upward(encoder.mean):
        return None
    return MisleadingPart(min(shares), base.value, encoder.mean)


@dataclass(frozen=True)
class PassedOver:
    """Recipes that scored higher before the finals than the lowest finalist; without finalists, than the base."""

    last: str
    """Hash of that finalist, or of the base."""
    share: float
    """Share of the data on which these scores were reached; 1.0 is all data."""
    leads: dict[str, float]
    """By recipe hash, the lead over `last` in points, the largest lead first; of copies only one."""
    scores: dict[str, PartScore]
    """By recipe hash, the scores of all recipes on that share."""


def passed_over(results: Results) -> PassedOver | None:
    """Return the recipes that scored higher and trained on no larger part; None without any. They are left out by a
    limit of a trial or of the study (no room in the finals, or finals that had begun), or for a much shorter training
    (`study/search/choice.py`)."""
    finals, goal = results.info.finals, results.goals[0]
    scores = part_scores(results, goal)
    if finals is None:
        return None
    if judged := [key for key in finals.finalists if key in scores]:
        return _ahead_of(results, scores, judged, max(share for key in judged for share in scores[key]))
    if finals.finalists or finals.base is None:
        return None
    others = (key for key in (finals.base, *results.explored) if key not in {*scores, *results.above_limits})
    whole = {key: _on_all(results.recipes.get(key, []), results, goal) for key in others}
    scores = {**scores, **whole}
    shares = sorted(scores.get(finals.base, ()), reverse=True)
    parts = (_ahead_of(results, scores, [finals.base], share) for share in shares)
    return next((passed for passed in parts if passed), None)


def _ahead_of(
    results: Results, scores: Mapping[str, Mapping[float, PartScore]], judged: Sequence[str], share: float
) -> PassedOver | None:
    """Return recipes that scored higher on that share than the lowest of `judged`, and trained on no larger share."""
    finals, goal = results.info.finals, results.goals[0]
    same_part = {key: by_share[share] for key, by_share in scores.items() if share in by_share}
    upward = {key: goal.upward(score.value) for key, score in same_part.items()}
    last = min((key for key in judged if key in upward), key=lambda key: upward[key])
    compared = {results.counted_as(key) for key in (finals.hashes if finals else ())}
    rest = [key for key in upward if results.counted_as(key) not in compared and max(scores[key]) == share]
    ahead = sorted((key for key in rest if upward[key] > upward[last]), key=lambda key: -upward[key])
    firsts: dict[str, str] = {}
    for key in ahead:  # keeps the copy's hash: the recipe that it copies may have no score on that part
        firsts.setdefault(results.counted_as(key), key)
    leads = {key: upward[key] - upward[last] for key in firsts.values()}
    return PassedOver(last, share, leads, same_part) if leads else None


@dataclass(frozen=True)
class Ahead:
    """A recipe that a limit kept from the finals, although it scored above a finalist (without finalists: the base)."""

    name: str
    value: float
    """Development score of the recipe."""
    last: str
    """Name of that finalist, the one with the lowest score, or of the base."""
    last_value: float
    share: float
    """Share of the data on which both recipes trained for these scores."""
    error: float | None = None
    """Standard error, in points, of `value` minus `last_value` from chance in the development items alone, as measured
    in studies of such tasks (`TaskKind.least_deviation`). None if the number of items is unknown."""


def ahead(results: Results) -> Ahead | None:
    """Return the best recipe that a limit left out of the finals. None for a cost. With finalists also None for a
    recipe so near to a finalist that it gave way to a shorter training."""
    passed, finals = passed_over(results), results.info.finals
    if passed is None or results.goals[0].cost:
        return None
    best, more = next(iter(passed.leads.items()))
    if finals is not None and finals.finalists and not (results.info.limited and more > TIE_MARGIN):
        return None
    first, last = (passed.scores[key] for key in (best, passed.last))
    tasks = results.goals[0].needs
    items = results.predictions.development_items(first.record, tasks)
    error = max(kind_of(task).least_deviation for task in tasks) / math.sqrt(items) if items else None
    return Ahead(name_of(results, best), first.value, name_of(results, passed.last), last.value, passed.share, error)


BUSY_FACTOR, BUSY_SECONDS = 1.5, 10.0
"""The machine was busy if a training took `BUSY_FACTOR` times as long as one of the same work, and `BUSY_SECONDS`
more."""


@cached
def busy(results: Results) -> tuple[float, float] | None:
    """Return the seconds of the two trainings of the same work that differ most; None if they hardly differ."""
    times = [own.values() for own in seconds_by_work(results.of_all_trials).values()]
    spans = [(min(seconds), max(seconds)) for seconds in times]
    apart = [(low, high) for low, high in spans if high >= max(BUSY_FACTOR * low, low + BUSY_SECONDS)]
    return max(apart, key=lambda span: span[1] / span[0], default=None)
