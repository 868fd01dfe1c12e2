"""What a trial predicted on the test items, read from its file when asked, and how its scores depend on these items."""

from __future__ import annotations

import hashlib
import lzma
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reports.ledger import Record
from reports.statistics.influence import (
    Correlation,
    Over,
    accuracy_effects,
    correlation_effects,
    f1_effects,
    group_effects,
)
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.scorers import SCORERS
from trainables.senteval.tasks import TASKS

Array = np.ndarray

UNREADABLE = (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
"""What reading a broken archive raises; RuntimeError where it is encrypted or packed in an unknown way."""
LARGEST = 1e30
"""Nothing that is predicted is as large, and sums of squares of such numbers are no numbers."""
ROUNDING = 0.005
"""So far, in points, a score that is computed again may lie from the ledger's."""


@dataclass(frozen=True, eq=False)
class Kept:
    """What was kept of one task: predictions and right answers, (items,) each."""

    predicted: Array
    gold: Array
    parts: Array  # (sub-corpora,) their sizes, in order
    regressed: Array | None
    """(items,) What the trained regressor predicted, of a relatedness task."""
    named: str
    """The digest of the items' texts that the trial wrote; empty in older files."""
    groups: Array | None = None
    """(items,) The number of each item's group: pairs that share a sentence. None where the file does not say."""

    @property
    def by_gold(self) -> str:
        """A digest of right answers and sizes, which names the items of older files as well as it can be done."""
        return hashlib.sha256(self.gold.tobytes() + self.parts.astype(np.int64).tobytes()).hexdigest()[:16]


DEV_COSINE = "dev_spearman_cosine"
"""The one number of a development part whose predictions are kept, as those of a task called `dev.TASK`."""


class Predictions:
    """The predictions of a study's trials. A file that is missing or broken is unknown, and `problems` names it."""

    def __init__(self, results: Path) -> None:
        self.folder = results
        self.problems: dict[str, str] = {}
        """By a trial's key, what is wrong with its file. A file that was never kept is no problem."""
        self._read: dict[str, dict[str, Kept]] = {}
        self._again: dict[tuple[str, str], dict[str, float]] = {}
        self._effects: dict[tuple[str, str, str], Array | None] = {}

    def effects(
        self, record: Record, task: str, number: str, *, named: bool = True, grouped: bool = True
    ) -> tuple[Array, str] | None:
        """(items,) float32 effects of the items on that number, in points, and a digest that names the items.

        `grouped`: items that are drawn together count as one, where the file says which these are.

        None where they cannot be told: nothing was kept, the number is of a classifier's development part or of
        retrieval, or the predictions are not those that the ledger's number was made of. The digest is that of the
        items' texts where the file has it, and of the right answers alone where it has none, or `named` is False.
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
            effects = np.asarray(_effects(kept, record, task, number), dtype=np.float32)
        return effects if np.isfinite(effects).all() else None

    def hits(self, record: Record, task: str, number: str) -> Array | None:
        """(items,) Whether each was answered rightly, of an accuracy on one test part; None of anything else.

        Answers from several folds hang together, and so do those of items that are drawn together: they are not told
        one by one.
        """
        kept = self._of(record).get(task)
        plain = number == "test_accuracy" and _folds(record, task) is None
        if kept is not None and kept.groups is not None and len(np.unique(kept.groups)) < len(kept.groups):
            return None
        return kept.predicted == kept.gold if kept is not None and plain and self.fits(record, task) else None

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

    def of_task(self, record: Record, task: str) -> Kept | None:
        """What was kept of the task."""
        return self._of(record).get(task)

    def fits(self, record: Record, task: str) -> bool | None:
        """Whether every number that can be computed again is the ledger's; None where there is none."""
        again = self.again(record, task)
        if not again:
            return None
        scores, slack = record.scores.get(task, {}), ROUNDING + self._fold_slack(record, task)
        return all(
            isinstance(scores.get(name), int | float) and abs(value - scores[name]) <= slack
            for name, value in again.items()
            if scores.get(name) is not None
        )

    def again(self, record: Record, task: str) -> dict[str, float]:
        """The task's numbers, in percent, as far as they follow from what was kept.

        A kind of task of somebody else's may mean another thing by a name, a mean over its own folds, say: of one that
        does not tell (`Scorer.again`) these are only the numbers that are the ledger's.
        """
        key = (record.key, task)
        if key not in self._again:
            kept, dev = self._of(record).get(task), self._of(record).get(_part(task, DEV_COSINE))
            found = {} if kept is None else numbers_of(kept, task)
            if dev is not None:
                found[DEV_COSINE] = 100 * _correlation("spearman", dev.predicted, dev.gold)
            told, stored = _told(task), record.scores.get(task, {})
            self._again[key] = {
                name: value for name, value in found.items() if name in told or _is_near(stored.get(name), value)
            }
        return self._again[key]

    def _fold_slack(self, record: Record, task: str) -> float:
        """The mean over folds differs from the mean over items by this at most, since folds differ by one item."""
        folds, kept = _folds(record, task), self._of(record).get(task)
        if folds is None or kept is None:
            return 0.0
        larger = len(kept.gold) % folds
        return 100 * larger * (folds - larger) / (folds * len(kept.gold))

    def _of(self, record: Record) -> Mapping[str, Kept]:
        if record.key not in self._read:
            loaded = [self._load(record.key, self.folder / file) for file in record.predictions]
            self._read[record.key] = {task: kept for one in loaded for task, kept in one.items()}
        return self._read[record.key]

    def _load(self, key: str, path: Path) -> dict[str, Kept]:
        if not path.is_file():
            return {}
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
        except UNREADABLE as error:
            self.problems[key] = f"{path.name} cannot be read ({error})"
            return {}
        found: dict[str, Kept] = {}
        for task in (name for name in arrays if f"gold.{name}" in arrays):
            kept = _kept(arrays, task)
            if kept is None:
                self.problems[key] = f"{path.name} holds no usable predictions of {task}"
            else:
                found[task] = kept
        return found


def _told(task: str) -> set[str]:
    """The numbers of the task of which it is known how they follow from predictions; F1 is computed for every kind."""
    return {*SCORERS[TASKS[task].kind].again, "test_f1"} if task in TASKS else set()


def _is_near(stored: Any, value: float) -> bool:
    return isinstance(stored, int | float) and abs(stored - value) <= ROUNDING


def _part(task: str, number: str) -> str:
    """Under which name the predictions behind a number are kept."""
    return f"dev.{task}" if number == DEV_COSINE else task


def _kept(arrays: Mapping[str, Array], task: str) -> Kept | None:
    """The task's arrays; None where they do not fit together."""
    predicted, gold = _numbers(arrays[task]), _numbers(arrays[f"gold.{task}"])
    parts = arrays.get(f"parts.{task}", np.array([gold.size]))
    regressed, named = arrays.get(f"regressed.{task}"), arrays.get(f"items.{task}")
    groups = arrays.get(f"groups.{task}")
    numeric = [array for array in (predicted, gold, parts, regressed, groups) if array is not None]
    if any(array.dtype.kind not in "iuf" or array.ndim != 1 for array in numeric):
        return None
    if not len(gold) or any(len(array) != len(gold) for array in (predicted, regressed, groups) if array is not None):
        return None
    if parts.dtype.kind == "f" or (parts < 1).any() or parts.sum() != len(gold):
        return None
    if not all((np.abs(array.astype(float)) < LARGEST).all() for array in numeric):
        return None
    return Kept(predicted, gold, parts, regressed, "" if named is None else str(named), groups)


def _numbers(array: Array) -> Array:
    """Answers of yes and no as 1 and 0, with which numpy can reckon; any others as they are."""
    return array.astype(np.int8) if array.dtype.kind == "b" else array


def _folds(record: Record, task: str) -> int | None:
    """How many folds the score is a mean over; None where it is of one test part."""
    if task not in TASKS or TASKS[task].kind != "nested_cv" or record.protocol not in PROTOCOLS:
        return None
    return PROTOCOLS[record.protocol].folds


def numbers_of(kept: Kept, task: str) -> dict[str, float]:
    """The test numbers, in percent, that follow from what was kept; none of a task that is not known any more."""
    if task not in TASKS:
        return {}
    target = SCORERS[TASKS[task].kind].target
    if target == "classes":
        found = {"test_accuracy": 100 * float((kept.predicted == kept.gold).mean())}
        return found | ({"test_f1": _f1(kept)} if TASKS[task].f1 else {})
    if target != "scores":
        return {}
    if TASKS[task].kind == "similarity":
        return _similarity(kept)
    found = {"test_spearman_cosine": 100 * _correlation("spearman", kept.predicted, kept.gold)}
    if kept.regressed is not None:
        for kind in ("spearman", "pearson"):
            found[f"test_{kind}_regressor"] = 100 * _correlation(kind, kept.regressed, kept.gold)
    return found


def _similarity(kept: Kept) -> dict[str, float]:
    cuts = np.cumsum(kept.parts)[:-1]
    pieces = list(zip(np.split(kept.predicted, cuts), np.split(kept.gold, cuts), strict=True))
    found = {}
    for kind in ("spearman", "pearson"):
        each = [100 * _correlation(kind, predicted, gold) for predicted, gold in pieces]
        found[f"{kind}_all"] = 100 * _correlation(kind, kept.predicted, kept.gold)
        found[f"{kind}_mean"] = float(np.mean(each))
        found[f"{kind}_wmean"] = float(np.average(each, weights=kept.parts))
    return found


def _correlation(kind: Correlation, predicted: Array, gold: Array) -> float:
    """0 where one side is constant, as SentEval has it."""
    x, y = (_ranks(side) if kind == "spearman" else side.astype(float) for side in (predicted, gold))
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / scale if scale > 0 else 0.0


def _ranks(values: Array) -> Array:
    """(items,) From 1; equal values share the mean of their ranks."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[group])


def _f1(kept: Kept) -> float:
    """Of class 1, in percent."""
    true = int(((kept.predicted == 1) & (kept.gold == 1)).sum())
    return 200 * true / max(1, int((kept.predicted == 1).sum() + (kept.gold == 1).sum()))


def _effects(kept: Kept, record: Record, task: str, number: str) -> Array:
    """(items,) for one of the numbers of `numbers_of`."""
    if number == "test_accuracy":
        return accuracy_effects(kept.predicted == kept.gold, _folds(record, task))
    if number == "test_f1":
        return f1_effects(kept.predicted, kept.gold)
    if TASKS[task].kind == "similarity":
        how: Over = "all" if number.endswith("_all") else "mean" if number.endswith("_mean") else "wmean"
        return correlation_effects(kept.predicted, kept.gold, [*kept.parts], _kind(number), how)
    predicted = kept.regressed if number.endswith("_regressor") else kept.predicted
    assert predicted is not None  # or the number could not be computed again
    return correlation_effects(predicted, kept.gold, kind=_kind(number))


def _kind(number: str) -> Correlation:
    return "spearman" if "spearman" in number else "pearson"
