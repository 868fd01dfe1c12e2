"""The ledger of a study as recorded trials, so that other searches can be tried on what it has run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reports.ledger import LEDGER, Ledger, Record, StudyInfo, is_explored
from search_spaces.goals import Goal, searched, values_at_rung
from study.replay.recorded import Recorded
from study.search.points import point
from trainables.errors import UserError
from trainables.recipe import Value


def read_ledger(results: Path) -> Recorded:
    """The finished trials of a study whose recipes are points of its search space, with the rungs that all of them
    have; without such a rung only with their end.

    A trial that was stopped early is left out, for nobody knows how it would have ended, and so is one without all
    scores. `UserError` where the folder is no study's, or nothing is left.
    """
    info = StudyInfo.load(results)
    space = info.load_space(results)
    base = info.recipe(space)
    goals = searched(space.goals)
    chosen: dict[str, Mapping[str, Value]] = {}
    kept: list[Record] = []
    records = [record for record in Ledger(results / LEDGER, info.asked).read() if is_explored(record.seed)]
    for record in records:
        place = point(record.recipe, base, space.domains)
        measured = "train_seconds" in record.cost and np.isfinite([*_end(record, goals), *_test(record, goals)]).all()
        inside = place is not None and base.override(place).hash == record.recipe_hash
        if record.status == "finished" and place is not None and inside and measured:
            chosen[record.recipe_hash] = place
            kept.append(record)
    if not kept:
        raise UserError(
            f"no finished trial in {results} is a point of its search space and has test scores, so there is nothing "
            "to search; explored recipes have them where the study ran with --set evaluation.explored=all"
        )
    seeds = tuple(sorted({record.seed for record in kept}))
    recipes = {name: number for number, name in enumerate(chosen)}
    rungs = min(len(_rungs(record, goals)) for record in kept) + 1
    costs = np.full((3, len(chosen), len(seeds), rungs), np.nan)
    scores = np.full((2, len(chosen), len(seeds), rungs, len(goals)), np.nan)
    steps = np.full((len(kept), rungs), np.nan)
    for number, record in enumerate(kept):
        recipe, seed = recipes[record.recipe_hash], seeds.index(record.seed)
        early = _rungs(record, goals)[: rungs - 1]
        course = [[rung["seconds"], 0.0, rung["tokens"]] for rung, _ in early]
        scoring, tokens = record.cost.get("evaluation_seconds", 0.0), record.training.get("tokens", np.nan)
        costs[:, recipe, seed] = np.transpose([*course, [record.cost["train_seconds"], scoring, tokens]])
        scores[0, recipe, seed] = [*(values for _, values in early), _end(record, goals)]
        scores[1, recipe, seed, -1] = _test(record, goals)
        steps[number] = [*(rung["step"] for rung, _ in early), record.training.get("steps", 1)]
    names = tuple(goal.name for goal in goals)
    return Recorded(
        space, base, names, tuple(chosen), tuple(chosen.values()), seeds, tuple(np.median(steps, axis=0).tolist()),
        *costs, *scores,
    )  # fmt: skip


def _rungs(record: Record, goals: Sequence[Goal]) -> list[tuple[Mapping[str, Any], list[float]]]:
    """The rungs of a training at which all goals were scored, and their values."""
    found = [(rung, values_at_rung(goals, rung["scores"])) for rung in record.training.get("rungs", ())]
    return [(rung, values) for rung, values in found if values]


def _end(record: Record, goals: Sequence[Goal]) -> list[float]:
    """The goals' values, the higher the better."""
    found = [(goal, goal.of(record.scores, record.cost)) for goal in goals]
    return [np.nan if value is None else goal.upward(value) for goal, value in found]


def _test(record: Record, goals: Sequence[Goal]) -> list[float]:
    """The same of what judges them; a cost judges itself."""
    found = [_end(record, [goal])[0] if goal.cost else goal.test_of(record.scores) for goal in goals]
    return [np.nan if value is None else value for value in found]
