"""A trial's predictions on the test items, read from its file when needed, and the items' effects on its scores."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Set
from pathlib import Path

import numpy as np

from reports.facts.cached import cached
from reports.facts.quantity import part_of
from reports.ledger import Record
from reports.statistics.influence import group_effects
from trainables.arrays import arrays_in, read_content
from trainables.senteval.items import Answers, answers_in
from trainables.senteval.kinds import TaskKind
from trainables.senteval.protocol import PROTOCOLS, Protocol
from trainables.senteval.tasks import TASKS, Task, kind_of

Array = np.ndarray

ROUNDING = 0.005
"""Largest allowed difference, in points, between a recomputed score and the ledger's."""
MAX_CACHED_BYTES, MAX_CACHED_FILES = 1 << 21, 256
"""The process caches the answers of at most `MAX_CACHED_FILES` files, each with at most `MAX_CACHED_BYTES` bytes of
arrays: the page of a running study reads all files again and again. All 28 tasks of SentEval take about
`MAX_CACHED_BYTES` bytes."""

_ANSWERS: OrderedDict[bytes, Mapping[str, Answers | None]] = OrderedDict()
"""The cached answers, by the digest of a file's content, the most recently used last."""
_LOCK = threading.Lock()


class Predictions:
    """The predictions of a study's trials. A missing or broken file is unknown; `problems` names broken files."""

    def __init__(self, results: Path) -> None:
        self.folder = results
        self.problems: dict[str, str] = {}
        """By a trial's key, the problem of its file. A file that was never kept is no problem."""
        self._read: dict[str, dict[str, Answers]] = {}

    def development_items(self, record: Record, tasks: Set[str]) -> int | None:
        """Return the number of development items of these tasks in a trial; None if their predictions were not kept."""
        items, _ = self.items_and_rows(record, [f"dev.{task}" for task in tasks & record.scores.keys()])
        return items

    def items_and_rows(self, record: Record, parts: Iterable[str]) -> tuple[int | None, int | None]:
        """Return the number of items in these parts of a trial, and the number of rows: rows that share a text are one
        item. (None, None) if predictions were not kept."""
        answers = [self.of_task(record, part) for part in parts]
        present = [part for part in answers if part]
        if not present or len(present) < len(answers):
            return None, None
        items = sum(len(part.gold if part.groups is None else np.unique(part.groups)) for part in present)
        return items, sum(len(part.gold) for part in present)

    def effects(self, record: Record, task: str, number: str, *, grouped: bool = True) -> tuple[Array, str] | None:
        """Return (items,) float32 effects of the items on the task's score `number`, in points, and a digest of the
        items.

        `grouped`: items that are drawn together count as one. None if no predictions were kept, or if the ledger's
        score does not follow from them. The digest is of the items' texts; of the right answers if there are no texts.
        """
        stored = self.of_number(record, task, number)
        if stored is None or number not in self.recomputed(record, task) or not self.fits(record, task):
            return None
        effects = _effects(stored, kind_of(task), TASKS[task], number, protocol_of(record.protocol))
        if effects is None:
            return None
        name = f"{part_of(task, number)} {stored.items_digest or stored.gold_digest}"
        if not grouped or stored.groups is None:
            return effects, name
        together = group_effects(effects, stored.groups)
        return None if together is None else (together.astype(np.float32), f"{name} in groups")

    def shares(self, record: Record, task: str, number: str) -> Array | None:
        """(items,) Points that each item adds to the score `number`; None if the score is no sum, or without
        effects."""
        stored = self.of_number(record, task, number)
        if stored is None or self.effects(record, task, number) is None:
            return None
        return kind_of(task).shares(number, stored, protocol_of(record.protocol))

    def hits(self, record: Record, task: str, number: str) -> Array | None:
        """(items,) Whether each item was answered correctly, if the score `number` is the share of correct answers.
        None for any other score, and if items are drawn together."""
        stored = self.of_number(record, task, number)
        if stored is None or not self.fits(record, task):
            return None
        if stored.groups is not None and len(np.unique(stored.groups)) < len(stored.groups):
            return None
        return kind_of(task).hits(number, stored)

    def of_number(self, record: Record, task: str, number: str) -> Answers | None:
        """Return the stored answers for the items from which the score `number` is computed."""
        return self.of_task(record, part_of(task, number))

    def of_task(self, record: Record, task: str) -> Answers | None:
        """Return the stored answers of the task, or of its development part for `dev.TASK`; None if unreadable."""
        return self._of(record).get(task)

    def fits(self, record: Record, task: str) -> bool | None:
        """Whether every score of the task that can be recomputed equals the ledger's; None if no score can be."""
        again, scores = self.recomputed(record, task), record.scores.get(task, {})
        if not again:
            return None
        return all(
            value is not None and abs(value - scores[name]) <= ROUNDING
            for name, value in again.items()
            if scores.get(name) is not None
        )

    def recomputed(self, record: Record, task: str) -> dict[str, float | None]:
        """Return the task's scores, in percent, that its kind can recompute from the predictions; None for a score that
        these answers cannot have. Empty for a task that no longer exists."""
        parts = [self.of_task(record, name) for name in (task, f"dev.{task}")] if task in TASKS else []
        numbers: dict[str, float | None] = {}
        for stored in filter(None, parts):
            numbers |= _numbers(stored, kind_of(task), TASKS[task], protocol_of(record.protocol))
        return numbers

    def _of(self, record: Record) -> Mapping[str, Answers]:
        if record.key not in self._read:
            loaded = [self._load(record.key, self.folder / file) for file in record.predictions]
            self._read[record.key] = {task: stored for answers in loaded for task, stored in answers.items()}
        return self._read[record.key]

    def _load(self, key: str, path: Path) -> dict[str, Answers]:
        if not path.is_file():
            return {}
        try:
            answers = _answers(read_content(path))
        except ValueError as error:
            self.problems[key] = f"{path.name} cannot be read ({error})"
            return {}
        for task in (task for task, stored in answers.items() if stored is None):
            self.problems[key] = f"{path.name} holds no usable predictions of {task}"
        return {task: stored for task, stored in answers.items() if stored is not None}


def _answers(content: bytes) -> Mapping[str, Answers | None]:
    """By task, the answers of a predictions file. Raises `ValueError` if `content` is no such file."""
    digest = hashlib.sha256(content).digest()
    with _LOCK:
        if digest in _ANSWERS:
            _ANSWERS.move_to_end(digest)
            return _ANSWERS[digest]
    arrays = arrays_in(content)
    answers = dict(answers_in(arrays))
    if sum(array.nbytes for array in arrays.values()) <= MAX_CACHED_BYTES:
        with _LOCK:
            _ANSWERS[digest] = answers
            if len(_ANSWERS) > MAX_CACHED_FILES:
                _ANSWERS.popitem(last=False)
    return answers


@cached
@np.errstate(all="ignore")
def _numbers(answers: Answers, kind: TaskKind, task: Task, protocol: Protocol | None) -> Mapping[str, float | None]:
    return kind.numbers(task, answers, protocol)


@cached
@np.errstate(all="ignore")
def _effects(answers: Answers, kind: TaskKind, task: Task, number: str, protocol: Protocol | None) -> Array | None:
    """(items,) float32 Effects of the items on the score `number`; None if an effect is not finite."""
    values = np.asarray(kind.effects(task, number, answers, protocol), dtype=np.float32)
    return values if np.isfinite(values).all() else None


def protocol_of(name: str) -> Protocol | None:
    """Return the protocol of that name, by which classifiers are fitted; None if it no longer exists."""
    return next((protocol for protocol in PROTOCOLS.values() if protocol.name == name), None)
