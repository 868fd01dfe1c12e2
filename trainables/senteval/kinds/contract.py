"""The interface of a kind of task: one class with the splits and labels that it needs, how a task is scored, which
scores follow from stored answers, and the effect of each test item on these scores. Imports nothing heavy.

To add one, derive from `TaskKind`, or from `MeanOverItems` of `by_parts.py`, and add an instance:

    KINDS.add(Agreement())     # in a plugin file; in this folder it is a row of `KINDS`

Every kind has `name`, `splits`, `target`, `reported`, `main`, `score`, `numbers` and `effects`. `development` and
`development_score` give a search a goal; `columns`, `fits` and `scenes` are for users' own files. Few kinds need the
rest.

Heavy modules (torch) are imported inside `score`, because reports use the class, too, and do not load them.
`trainables/testing/tasks.py` has the tests that a kind must pass.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from trainables.errors import UserError
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import Split, Target, TaskData
from trainables.senteval.items import Answers, pair_groups
from trainables.senteval.protocol import Protocol
from trainables.senteval.task_fields import TaskFields

if TYPE_CHECKING:
    from trainables.senteval.table import TaskTable

Predicted = Literal["classes", "cosines", "other"]
"""The prediction for a test item: its class, the cosine of its two sentences, or something else. A class is correct if
it equals `gold`."""

Numbers = dict[str, float | int | list[int] | str | None]
"""A task's scores by name, such as `test_accuracy`, None if missing, with `examples`, `seconds` and `reason`."""

TRAIN_DEV_TEST = ("train", "dev", "test")
SHARE, CORRELATION, RANK = (0.0, 100.0), (-100.0, 100.0), (1.0, math.inf)
"""Ranges of scores: of shares and of correlations, in percent, and of ranks."""


@dataclass(frozen=True, eq=False)
class KindScores:
    """The result of `TaskKind.score`: the answers, and the scores that do not follow from them."""

    answers: tuple[Answers, ...]
    """Answers to the test split, in the order of the task's reader, and to the development split if nothing is fitted
    for them."""
    examples: int | list[int]
    """Number of scored examples: of dev and of test, or of the only one of these that is scored."""
    fitted: Mapping[str, float] = field(default_factory=dict)
    """Scores in percent that do not follow from the answers, such as accuracies on held-out folds that chose a fit."""
    scale: tuple[float, float] | None = None
    """Lowest and highest gold score of the train split, if a regressor's bins depend on them; else None."""


class TaskKind(ABC):
    """An entry of `KINDS`. Numbers are named scores, such as `test_accuracy`, of `numbers` or `KindScores.fitted`.

    A kind has no keys: task, protocol and data identify a score. Tasks of a kind differ in fields of `Task`.
    """

    name: ClassVar[str]
    """Name of the kind, the value of `Task.kind`."""
    splits: ClassVar[tuple[str, ...]]
    """The splits that the kind needs, in order; empty: any number of sub-corpora of any name."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Splits that a task may lack, but not all of them, if its entry allows it (`Task.parts`)."""
    target: ClassVar[Target]
    """The sort of labels that the kind needs."""
    reported: ClassVar[tuple[str, ...]]
    """Names of the scores of every task of the kind, in order; all in percent except ranks. Names of development scores
    start with `dev_`."""
    main: ClassVar[str]
    """Name of the score that represents a task in an average, unless the task or a paper sets another."""
    predicted: ClassVar[Predicted] = "other"
    """The sort of predictions for the test split."""
    unfitted: ClassVar[tuple[str, ...]] = ()
    """Names of scores that do not depend on SentEval's protocol, because nothing is fitted for them."""
    development: ClassVar[str] = ""
    """Name of the development score that may be the goal of a search; `development_score` computes it during training.
    Empty: there is none."""
    splits_without_test: ClassVar[tuple[str, ...]] = ()
    """The splits that `score_without_test` needs; empty: all, because the kind cannot leave tests out."""
    among_all: ClassVar[bool] = False
    """Whether each query is compared with all documents of its split, not only with those judged for it. All lines with
    one query are then one item."""
    checking_number: ClassVar[str] = ""
    """Name of a score that checks `main` by another use of the embeddings, without a fit; empty: there is none."""
    chance: ClassVar[str] = ""
    """Name of the score whose level by chance is `Task.chance`; empty: there is no such level."""
    least_deviation: ClassVar[float] = 14.0
    """Least standard deviation over test items, in points, of the difference between two models' scores: in the studies
    of `docs/examples` 14 for queries, 23 for pairs and 24 for labelled texts, between the base settings and other
    recipes. With it a search plans which differences it can show."""
    columns: ClassVar[str] = ""
    """The columns of a file that this kind accepts by `fits`, for a message; empty: it accepts no file."""
    scenes: ClassVar[str] = ""
    """Function, as `"module:function"`, that writes the built-in task `scenes:NAME`, such as one of
    `corpora/scenes_tasks.py`; empty: there is none."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Reset `score_without_test` in a class that overrides `score` but not `score_without_test`."""
        super().__init_subclass__(**more)
        if "score" in vars(cls) and "score_without_test" not in vars(cls):
            cls.splits_without_test, cls.score_without_test = (), TaskKind.score_without_test  # type: ignore[method-assign]

    def fits(self, table: TaskTable) -> bool:
        """Whether a user's own file is a task of this kind, by its columns and labels. The first kind of `KINDS` that
        fits is used, and an earlier kind may refuse a file, so no file should fit two kinds."""
        return False

    def of_training_rows(self, rows: Sequence[Mapping[str, Any]], table: TaskTable) -> list[dict[str, Any]]:
        """Return rows that `fits` accepts, made from training rows (`own_rows.py: read_row`), so that held-out rows are
        scored as the table's file is. Rows that cannot be converted are left out."""
        return []

    def numbers_of(self, task: TaskFields) -> tuple[str, ...]:
        """Return the names of this task's scores: those of the splits that it has."""
        return tuple(name for name in self.reported if self._has(task, name))

    def range_of(self, number: str) -> tuple[float, float]:
        """Return the range of a score, such as `SHARE`. A record with a score outside its range is set aside."""
        return CORRELATION

    def splits_of(self, task: TaskFields) -> tuple[str, ...]:
        """Return the splits that this task has, in order; empty for sub-corpora."""
        return task.parts or self.splits

    def _has(self, task: TaskFields, number: str) -> bool:
        return ("dev" if number.startswith("dev_") else "test") not in {*self.splits} - {*self.splits_of(task)}

    def check(self, task: TaskFields) -> None:
        """Raise `UserError` if an entry of `TASKS` sets a field that the kind does not support."""
        if task.f1:
            raise UserError(f"task {task.name}: there is no F1 where the kind is {self.name!r}")
        if task.scale is not None:
            raise _no_scale(task)

    def check_examples(self, task: TaskFields, data: TaskData, files: Mapping[str, Path]) -> None:
        """Raise `UserError` if the examples cannot be scored; `files` has the first file of each split."""
        pairs = self.target == "scores" or next(iter(data.splits.values())).right is not None
        for name, split in data.splits.items():
            if not len(split):
                raise UserError(f"{task.name}: {files[name]} holds no example for {name}")
            if (split.right is not None) != pairs:
                needed = "pair of sentences" if pairs else "sentence"
                raise UserError(f"{task.name}: every example in {files[name]} must be a {needed}")

    @abstractmethod
    def score(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        """Return the answers from embeddings, with any fits under the protocol. The same seed gives the same scores."""

    def score_without_test(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        """Return the score `development` from `splits_without_test` alone, equal to that of `score` bit for bit."""
        return self.score(given, protocol, seed)

    @abstractmethod
    def numbers(self, task: TaskFields, answers: Answers, protocol: Protocol | None) -> Mapping[str, float | None]:
        """Return every score that follows from the answers to one split (`answers.split`), in percent; None for a score
        that is undefined. A score is left out if the answers lack its arrays. `protocol` is None if it is unknown."""

    @abstractmethod
    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray | None:
        """Return the effect of each item on a score of `numbers`, in points, (items,): the change of the score if the
        item counted a little more, scaled so that the sum of squares is the score's variance over items. `effects.py`
        has those of means and correlations. None if there are none, as for a median."""

    def hits(self, number: str, answers: Answers) -> np.ndarray | None:
        """Return whether each item was answered correctly, (items,), if the score `number` is the share of correct
        items; else None, also if the answers are correlated through shared training items."""
        return None

    def shares(self, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray | None:
        """Return each item's summand of a score, in points, (items,), if the score is a sum over items; else None."""
        return None

    def tested_splits(self, data: TaskData) -> list[Split]:
        """Return the splits whose answers are stored: the test split, or all splits of a kind without one."""
        if "test" in self.splits:
            return [data.splits["test"]] if "test" in data.splits else []
        return list(data.splits.values())

    def development_splits(self, data: TaskData) -> list[Split]:
        """Return the splits that a development score is computed from, without those that are tested."""
        tested = {*map(id, self.tested_splits(data))}
        return [split for split in self.without_test(data).splits.values() if id(split) not in tested]

    def groups(self, splits: Sequence[Split]) -> np.ndarray | None:
        """Return group numbers, (items,); items of a group are sampled together. None: each item is sampled by itself.
        Wrong groups give wrong intervals, which no test of the contract finds."""
        return pair_groups(splits)

    def select_examples(self, data: TaskData) -> TaskData:
        """Return the examples, of those read and checked, that the kind uses; `left_out` describes the rest."""
        return data

    def without_test(self, data: TaskData) -> TaskData:
        """Return the splits that `score_without_test` needs."""
        names = self.splits_without_test or tuple(data.splits)
        return replace(data, splits={name: data.splits[name] for name in names if name in data.splits})

    def development_part(self, data: TaskData) -> Split:
        """Return the examples that `development_score` needs, none of them from a test split."""
        return data.splits["dev"]

    def development_score(self, given: Embedded) -> float:
        """Return the score `development` of the split `dev` of `given`, within milliseconds."""
        raise NotImplementedError(f"the kind {self.name!r} has no score while a training goes on")


def _no_scale(task: TaskFields) -> UserError:
    return UserError(f"task {task.name}: scale={task.scale} must be the lowest and highest score of relatedness")


def check_scale(task: TaskFields) -> None:
    """Raise `UserError` for a scale whose lowest score is not below its highest."""
    if task.scale is not None and not task.scale[0] < task.scale[1]:
        raise _no_scale(task)
