"""Studies made up from populations: test items, seeds and recipes drawn at random, so that what is true is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reports.facts.predictions import Predictions
from reports.facts.results import Results
from reports.ledger import LEDGER, PREDICTIONS, Ledger, Record, StudyInfo
from reports.testing import changed
from search_spaces import Space, spaces
from tests.synthetic_results import make_record
from trainables.senteval.items import Answers
from trainables.senteval.tasks import GROUPS, TASKS, kind_of

TASK_NAMES = (*GROUPS["sts"], *GROUPS["transfer"])


class InMemory(Predictions):
    """Predictions that were never written."""

    def __init__(self, kept: Mapping[str, dict[str, Answers]]) -> None:
        super().__init__(Path())
        self._read = dict(kept)

    def _load(self, key: str, path: Path) -> dict[str, Answers]:
        return {}


@dataclass(frozen=True)
class Population:
    """Rows that are equal in the population but for `gains` (by label; 1.0 is a large effect), on all tasks.

    Each recipe is right about other items, and each seed again about others: so on a sample of items, and of seeds,
    equal recipes have unequal scores.
    """

    rows: tuple[str, ...] | None = None
    seeds: int = 3
    items: int = 120
    gains: Mapping[str, float] = dataclasses.field(default_factory=dict)
    seed_spread: float = 0.1
    tasks: tuple[str, ...] = TASK_NAMES
    space: Space = dataclasses.field(default_factory=lambda: spaces()["scl_ablation"])

    def study(self, random: np.random.Generator | int) -> Results:
        """A study drawn from it, that lies in memory only."""
        random = np.random.default_rng(random)
        base = self.space.recipe("laptop")
        labels = self.rows or tuple(row.label for row in self.space.rows if row.needs is None)
        tests = {task: _test(task, self.items, random) for task in self.tasks}
        records: list[Record] = []
        kept: dict[str, dict[str, Answers]] = {}
        hashes: dict[str, str | None] = {row.label: None for row in self.space.rows if row.needs and not self.rows}
        for label in labels:
            recipe = base.override(self.space.row(label).overrides)
            hashes[label] = recipe.hash
            own = {task: random.normal(0, 0.5, self.items) for task in self.tasks}
            for seed in range(self.seeds):
                skill = self.gains.get(label, 0.0) + random.normal(0, self.seed_spread)
                answers = {
                    task: _answers(task, gold, ease + own[task] + random.normal(0, 0.5, self.items), skill)
                    for task, (gold, ease) in tests.items()
                }
                record = make_record(recipe, self.space.evaluation, seed, {})
                records.append(
                    changed(
                        record,
                        versions={"trainables": "abc", "torch": "2", "transformers": "5"},
                        training=record.training
                        | {"positives_per_anchor": float(recipe.flat().get("objective.positives") or 5)},
                        data=record.data_read | {"corpus": {"fingerprint": "abc"}},
                    )
                )
                kept[record.key] = answers
        evaluation = dict(self.space.evaluation.flat())
        seeds = list(range(self.seeds))
        info = StudyInfo(self.space.name, seeds=seeds, base=dict(base.flat()), evaluation=evaluation, row_hashes=hashes)
        predictions = InMemory(kept)
        scored = [
            changed(record, scores={task: dict(predictions.recomputed(record, task)) for task in self.tasks})
            for record in records
        ]
        return with_predictions(Results(Path("nowhere"), info, self.space, scored), predictions)


def with_predictions(results: Results, predictions: Predictions) -> Results:
    """The same results; `Results.predictions` is kept where a first use would put it."""
    vars(results)["predictions"] = predictions
    return results


def write(results: Results, folder: Path) -> Results:
    """A study that lies in memory, written into a folder and read again."""
    (folder / PREDICTIONS).mkdir(parents=True, exist_ok=True)
    for record in results.records:
        arrays: dict[str, Any] = {}
        for task in record.scores:
            kept = results.predictions.of_task(record, task)
            if kept is not None:
                arrays |= {task: kept.predicted, f"gold.{task}": kept.gold, f"parts.{task}": kept.parts}
        name = f"{PREDICTIONS}/{record.key}.npz"
        np.savez(folder / name, **arrays)
        Ledger(folder / LEDGER).write(changed(record, predictions=name))
    results.info.save(folder)
    return Results.load(folder)


def _test(task: str, items: int, random: np.random.Generator) -> tuple[Any, Any]:
    """Right answers, and how easy each item is for everybody."""
    ease = random.normal(0, 1, items)
    if kind_of(task).target == "classes":
        return random.permutation(np.arange(items) % max(2, len(TASKS[task].labels))), ease
    return random.normal(0, 1, items), ease


def _answers(task: str, gold: Any, ease: Any, skill: float) -> Answers:
    """What somebody of that skill answers."""
    parts = np.array([len(gold)])
    if kind_of(task).target == "classes":
        predicted = np.where(ease + 0.7 + skill > 0, gold, (gold + 1) % max(2, len(TASKS[task].labels)))
        return Answers(predicted, gold, parts)
    if not kind_of(task).splits:
        count = len(TASKS[task].files) // 2
        parts = np.array([len(part) for part in np.array_split(gold, count)])
    return Answers((1.2 + skill) * gold + ease, gold, parts)
