"""What a trial predicted on the test items, read from its file when asked, and how its scores depend on these items."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from reports.ledger import Record
from reports.statistics.influence import group_effects
from trainables.arrays import read_arrays
from trainables.senteval.items import Answers, answers_in
from trainables.senteval.protocol import PROTOCOLS, Protocol
from trainables.senteval.tasks import TASKS, kind_of

Array = np.ndarray

ROUNDING = 0.005
"""So far, in points, a score that is computed again may lie from the ledger's."""


class Predictions:
    """The predictions of a study's trials. A file that is missing or broken is unknown, and `problems` names it."""

    def __init__(self, results: Path) -> None:
        self.folder = results
        self.problems: dict[str, str] = {}
        """By a trial's key, what is wrong with its file. A file that was never kept is no problem."""
        self._read: dict[str, dict[str, Answers]] = {}
        self._again: dict[tuple[str, str], dict[str, float | None]] = {}
        self._effects: dict[tuple[str, str, str], Array | None] = {}

    def effects(
        self, record: Record, task: str, number: str, *, named: bool = True, grouped: bool = True
    ) -> tuple[Array, str] | None:
        """(items,) float32 effects of the items on that number, in points, and a digest that names the items.

        `grouped`: items that are drawn together count as one, where the file says which these are.

        None where they cannot be told: nothing was kept, the number does not follow from what was, or the predictions
        are not those that the ledger's number was made of. The digest is that of the items' texts where the file has
        it, and of the right answers alone where it has none, or `named` is False.
        """
        key = (record.key, task, number)
        if key not in self._effects:
            self._effects[key] = self._effects_of(record, task, number)
        effects = self._effects[key]
        if effects is None:
            return None
        part = _part(task, number)
        kept = self._of(record)[part]
        name = f"{part} {(kept.named if named else '') or kept.by_gold}"
        if not grouped or kept.groups is None:
            return effects, name
        together = group_effects(effects, kept.groups)
        return None if together is None else (together.astype(np.float32), f"{name} in groups")

    def _effects_of(self, record: Record, task: str, number: str) -> Array | None:
        kept = self._of(record).get(_part(task, number))
        if kept is None or number not in self.again(record, task) or not self.fits(record, task):
            return None
        with np.errstate(all="ignore"):
            values = kind_of(task).effects(TASKS[task], number, kept, _protocol(record))
        effects = np.asarray(values, dtype=np.float32)  # NaN where there are none
        return effects if np.isfinite(effects).all() else None

    def shares(self, record: Record, task: str, number: str) -> Array | None:
        """(items,) What each item adds to that number, in points, where it is the sum of that; None of any other, and
        where there are no effects."""
        if self.effects(record, task, number) is None:
            return None
        return kind_of(task).shares(number, self._of(record)[_part(task, number)], _protocol(record))

    def hits(self, record: Record, task: str, number: str) -> Array | None:
        """(items,) Whether each was answered rightly, of a number that is the share of these; None of anything else.

        Those of items that are drawn together are not told one by one.
        """
        kept = self._of(record).get(_part(task, number))
        if kept is None or not self.fits(record, task):
            return None
        if kept.groups is not None and len(np.unique(kept.groups)) < len(kept.groups):
            return None
        return kind_of(task).hits(number, kept)

    def names(self, record: Record, task: str, number: str) -> bool | None:
        """Whether the file says itself which items these are; None where nothing was kept."""
        kept = self._of(record).get(_part(task, number))
        return None if kept is None else bool(kept.named)

    def groups(self, record: Record, task: str, number: str) -> bool | None:
        """Whether the file says which items are drawn together; None where nothing was kept."""
        kept = self._of(record).get(_part(task, number))
        return None if kept is None else kept.groups is not None

    def has(self, record: Record, task: str) -> bool:
        """Whether the task's predictions were kept and can be read."""
        return task in self._of(record)

    def of_task(self, record: Record, task: str) -> Answers | None:
        """What was kept of the task; of its development part, where it is called `dev.TASK`."""
        return self._of(record).get(task)

    def fits(self, record: Record, task: str) -> bool | None:
        """Whether every number that can be computed again is the ledger's; None where there is none."""
        again, scores = self.again(record, task), record.scores.get(task, {})
        if not again:
            return None
        return all(
            value is not None and isinstance(scores[name], int | float) and abs(value - scores[name]) <= ROUNDING
            for name, value in again.items()
            if scores.get(name) is not None
        )

    def again(self, record: Record, task: str) -> dict[str, float | None]:
        """The task's numbers, in percent, as far as its kind tells them from what was kept; None for one that these
        answers cannot have. Empty of a task that is not known any more."""
        key = (record.key, task)
        if key not in self._again:
            self._again[key] = {}
            parts = [self._of(record).get(name) for name in (task, f"dev.{task}")] if task in TASKS else []
            for kept in filter(None, parts):
                with np.errstate(all="ignore"):
                    own = kind_of(task).numbers(TASKS[task], kept, _protocol(record))
                self._again[key] |= own
        return self._again[key]

    def _of(self, record: Record) -> Mapping[str, Answers]:
        if record.key not in self._read:
            loaded = [self._load(record.key, self.folder / file) for file in record.predictions]
            self._read[record.key] = {task: kept for answers in loaded for task, kept in answers.items()}
        return self._read[record.key]

    def _load(self, key: str, path: Path) -> dict[str, Answers]:
        if not path.is_file():
            return {}
        try:
            arrays = read_arrays(path)
        except ValueError as error:
            self.problems[key] = f"{path.name} cannot be read ({error})"
            return {}
        kept_answers: dict[str, Answers] = {}
        for task, kept in answers_in(arrays):
            if kept is None:
                self.problems[key] = f"{path.name} holds no usable predictions of {task}"
            else:
                kept_answers[task] = kept
        return kept_answers


def _protocol(record: Record) -> Protocol | None:
    """How its classifiers were fitted; None of a protocol that is not known any more."""
    return next((protocol for protocol in PROTOCOLS.values() if protocol.name == record.protocol), None)


def _part(task: str, number: str) -> str:
    """Under which name the predictions behind a number are kept."""
    return f"dev.{task}" if number.startswith("dev_") else task
