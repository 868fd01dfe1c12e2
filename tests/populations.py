"""Studies made up from populations: test items, seeds and recipes drawn at random, so that what is true is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reports.ledger import LEDGER, PREDICTIONS, Ledger, StudyInfo
from reports.predictions import Kept, numbers_of
from reports.results import Results
from search_spaces import Space, spaces
from tests.synthetic_results import make_record
from trainables.senteval.scorers import SCORERS
from trainables.senteval.tasks import GROUPS, TASKS

TASK_NAMES = (*GROUPS["sts"], *GROUPS["transfer"])


def write_population(
    folder: Path,
    space: Space | None = None,
    *,
    random: np.random.Generator,
    seeds: Iterable[int] = range(3),
    items: int = 120,
    rows: Iterable[str] | None = None,
    gains: Mapping[str, float] | None = None,
    seed_spread: float = 0.1,
    keep: bool = True,
) -> Results:
    """A study of rows that are equal but for `gains` (by label; 1.0 is a large effect) on all tasks.

    Each recipe is right about other items, and each seed again about others: so on a sample of items, and of seeds,
    equal recipes have unequal scores. `keep`: whether predictions are kept.
    """
    space = space or spaces()["scl_ablation"]
    base = space.base.override(space.laptop)
    labels = [row.label for row in space.rows if row.needs is None]
    labels = labels if rows is None else list(rows)
    tests = {task: _test(task, items, random) for task in TASK_NAMES}
    hashes: dict[str, str | None] = {row.label: None for row in space.rows if row.needs and rows is None}
    (folder / PREDICTIONS).mkdir(parents=True, exist_ok=True)
    for label in labels:
        recipe = base.override(space.row(label).overrides)
        hashes[label] = recipe.hash
        own = {task: random.normal(0, 0.5, items) for task in TASK_NAMES}
        for seed in seeds:
            luck, arrays, scores = random.normal(0, seed_spread), {}, {}
            for task, (gold, ease) in tests.items():
                skill = (gains or {}).get(label, 0.0) + luck
                kept = _answers(task, gold, ease + own[task] + random.normal(0, 0.5, items), skill)
                arrays |= {task: kept.predicted, f"gold.{task}": gold, f"parts.{task}": kept.parts}
                scores[task] = numbers_of(kept, task)
            record = make_record(recipe, seed, {})
            record = dataclasses.replace(
                record,
                scores=scores,
                versions={"trainables": "abc", "torch": "2", "transformers": "5"},
                training=record.training | {"positives_per_anchor": float(recipe.objective.positives or 5)},
                data=record.data | {"corpus": {"fingerprint": "abc"}},
            )
            if keep:
                np.savez(folder / PREDICTIONS / f"{record.key}.npz", **arrays)
                record = dataclasses.replace(record, predictions=f"{PREDICTIONS}/{record.key}.npz")
            Ledger(folder / LEDGER).write(record)
    info = StudyInfo(space.name, seeds=list(seeds), base=dict(base.flat()), row_hashes=hashes)
    info.save(folder)
    return Results.load(folder)


def _test(task: str, items: int, random: np.random.Generator) -> tuple[Any, Any]:
    """Right answers, and how easy each item is for everybody."""
    ease = random.normal(0, 1, items)
    if SCORERS[TASKS[task].kind].target == "classes":
        return random.permutation(np.arange(items) % max(2, len(TASKS[task].labels))), ease
    return random.normal(0, 1, items), ease


def _answers(task: str, gold: Any, ease: Any, skill: float) -> Kept:
    """What somebody of that skill answers."""
    parts = np.array([len(gold)])
    if SCORERS[TASKS[task].kind].target == "classes":
        predicted = np.where(ease + 0.7 + skill > 0, gold, (gold + 1) % max(2, len(TASKS[task].labels)))
        return Kept(predicted, gold, parts, None, "")
    if TASKS[task].kind == "similarity":
        count = len(TASKS[task].files) // 2
        parts = np.array([len(part) for part in np.array_split(gold, count)])
    return Kept((1.2 + skill) * gold + ease, gold, parts, None, "")
