"""The ledger of a study as recorded trials, so that other searches can be tried on what it has run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from reports.distributions import contains
from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from search_spaces.goals import GOALS, selection
from search_spaces.paper import Scores
from search_spaces.space import Space
from study.replay.recorded import Recorded
from trainables.errors import UserError
from trainables.recipe import Recipe, Value

ONE = "score"
"""The goal of a space that names none."""


def read_ledger(results: Path) -> Recorded:
    """The finished trials of a study whose recipes are points of its search space, with one rung: their end.

    A trial that was stopped early is left out, for nobody knows how it would have ended. `UserError` where the folder is
    no study's, or nothing is left.
    """
    info = StudyInfo.load(results)
    space = info.load_space(results)
    base = Recipe.from_flat(info.base)
    goals = space.goals or (ONE,)
    records, _ = Ledger(results / LEDGER).sift()
    chosen: dict[str, Mapping[str, Value]] = {}
    kept: list[Record] = []
    for record in records:
        point = chosen.get(record.recipe_hash) or _point(record, space, base)
        if record.status == "finished" and point is not None and "seconds" in record.training:
            chosen[record.recipe_hash] = point
            kept.append(record)
    if not kept:
        raise UserError(f"no finished trial in {results} is a point of its search space, so there is nothing to search")
    seeds = tuple(sorted({record.seed for record in kept}))
    place = {name: number for number, name in enumerate(chosen)}
    shape = len(chosen), len(seeds), 1
    seconds, scoring, tokens = (np.full(shape, np.nan) for _ in range(3))
    development, test = (np.full((*shape, len(goals)), np.nan) for _ in range(2))
    for record in kept:
        here = place[record.recipe_hash], seeds.index(record.seed), 0
        seconds[here] = record.training["seconds"]
        scoring[here] = record.cost.get("evaluation_seconds") or 0.0
        tokens[here] = record.training.get("tokens") or np.nan
        development[here] = [_number(goal, record.scores) for goal in goals]
        test[here] = [_number(goal, _tests_as_development(record.scores)) for goal in goals]
    steps = float(np.median([record.training.get("steps") or 1 for record in kept]))
    return Recorded(
        space, base, goals, tuple(chosen), tuple(chosen.values()), seeds, (steps,), seconds, scoring, tokens,
        development, test,
    )  # fmt: skip


def _point(record: Record, space: Space, base: Recipe) -> dict[str, Value] | None:
    """The domains' values of a recipe; None where it is no point of the search space."""
    asked = [domain for domain in space.domains if domain.is_asked(record.recipe)]
    chosen = {domain.key: record.recipe[domain.key] for domain in asked}
    inside = all(contains(domain, chosen[domain.key]) for domain in asked)
    return chosen if inside and base.override(chosen).hash == record.recipe_hash else None


def _number(goal: str, scores: Scores) -> float:
    found = selection(scores) if goal == ONE else GOALS[goal].of(scores)
    return np.nan if found is None else found


def _tests_as_development(scores: Scores) -> Scores:
    """With each test number in the place of the development number that it belongs to: goals name the latter."""
    return {
        task: {
            name: numbers.get("test_" + name.removeprefix("dev_")) if name.startswith("dev_") else value
            for name, value in numbers.items()
        }
        for task, numbers in scores.items()
    }
