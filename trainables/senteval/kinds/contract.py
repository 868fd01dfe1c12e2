"""What a kind of task is: one class that says what it needs of a task's files, how a task is scored, which numbers
follow from the answers that are kept, and what each test item does to them. Imports nothing heavy.

To add one, derive from `TaskKind`, or from `MeanOverItems` of `by_parts.py`, and add an instance:

    KINDS.add(Agreement())     # in a plugin file; in this folder it is a row of `KINDS`

Every kind has `name`, `splits`, `target`, `reported`, `main`, `score`, `numbers` and `effects`. `development` and
`development_score` let a search look for it; `columns`, `fits` and `scenes` are of a person's files. The rest is for
what few kinds need.

What is heavy (torch) is imported inside `score`, since reports read the class, too, and they load none of it.
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
"""What is predicted for a test item: its class, the cosine of its two sentences, or something else. Of classes the
item is answered rightly where it is `gold`."""

Numbers = dict[str, float | int | list[int] | str | None]
"""What a task is scored with: its numbers by name, None where missing, with `examples`, `seconds` and `reason`."""

THREE = ("train", "dev", "test")
SHARE, CORRELATION, RANK = (0.0, 100.0), (-100.0, 100.0), (1.0, math.inf)
"""Between which values numbers of these sorts lie, the first two in percent."""


@dataclass(frozen=True, eq=False)
class KindScores:
    """What `TaskKind.score` finds: the answers, and the numbers that do not follow from them."""

    answers: tuple[Answers, ...]
    """Of the test part, in the order in which the task's reader gives its items; and of the development part where
    these do not depend on a fit."""
    examples: int | list[int]
    """How many were scored: on dev and test; on test alone without a dev part, on dev alone without tests."""
    fitted: Mapping[str, float] = field(default_factory=dict)
    """Numbers in percent that the answers do not tell: those of held-out folds by which a fit was chosen."""
    scale: tuple[float, float] | None = None
    """From which lowest to which highest training score a regressor's bins were laid, where the data decides it."""


class TaskKind(ABC):
    """An entry of `KINDS`. Every number that is reported comes from `numbers` or is one of `KindScores.fitted`.

    It has no keys: a score is known by task, protocol and data. What tasks of a kind differ in are fields of `Task`.
    """

    name: ClassVar[str]
    """What `Task.kind` calls it."""
    splits: ClassVar[tuple[str, ...]]
    """The splits that it needs of a task, in their order; empty takes any number of sub-corpora of any name."""
    optional: ClassVar[tuple[str, ...]] = ()
    """Those of them that a task may lack, though not all, where its entry says so (`Task.parts`)."""
    target: ClassVar[Target]
    """What it needs the examples to be labelled with."""
    reported: ClassVar[tuple[str, ...]]
    """Names of the numbers that every task of the kind has, in their order; all in percent but for ranks. Those of the
    development part begin with `dev_`."""
    main: ClassVar[str]
    """Which of them stands for a task in an average, unless the task or a paper says otherwise."""
    predicted: ClassVar[Predicted] = "other"
    """What the answers of the test part are."""
    unfitted: ClassVar[tuple[str, ...]] = ()
    """Those of the numbers that SentEval's protocol cannot move, as no classifier or regressor of its is fitted for
    them."""
    development: ClassVar[str] = ""
    """The development number that a search may look for; it can be had while a training goes on, by
    `development_score`. Empty: there is none."""
    splits_without_test: ClassVar[tuple[str, ...]] = ()
    """The splits that `score_without_test` needs; empty: all, as the kind has no way to leave tests out."""
    among_all: ClassVar[bool] = False
    """Of queries: whether each is held against all documents of its part, not only against those judged for it. All
    lines with one query are then one item."""
    checked: ClassVar[str] = ""
    """The number that is a check of `main`: by another reader of the embeddings, for which nothing is fitted."""
    chance: ClassVar[str] = ""
    """The number of which `Task.chance` is the level by chance; empty: there is no such level."""
    varies: ClassVar[float] = 14.0
    """By how many points the scores of two models differ from test item to item (standard deviation), at least: in the
    studies of `docs/examples` 14 for queries, 23 for pairs and 24 for labelled texts, between the base settings and
    what is compared with them. A search plans by it what it can show."""
    columns: ClassVar[str] = ""
    """The columns of a person's file that `fits`, for a message; empty: no file does."""
    scenes: ClassVar[str] = ""
    """`"module:function"` that writes the built-in task `scenes:NAME`, such as one of `corpora/scenes_tasks.py`; empty:
    there is none."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Who inherits a kind and scores in another way inherits no way to leave tests out."""
        super().__init_subclass__(**more)
        if "score" in vars(cls) and "score_without_test" not in vars(cls):
            cls.splits_without_test, cls.score_without_test = (), TaskKind.score_without_test  # type: ignore[method-assign]

    def fits(self, table: TaskTable) -> bool:
        """Whether a person's file is a task of this kind, by its columns and labels. The first of `KINDS` takes it, and
        an earlier one may refuse a file, so forms must not overlap."""
        return False

    def of_training_rows(self, rows: Sequence[Mapping[str, Any]], table: TaskTable) -> list[dict[str, Any]]:
        """Rows that `fits` takes, of rows to train on in their normal form, so that those put aside judge as the file
        of that table does; without those of which none can be made."""
        return []

    def numbers_of(self, task: TaskFields) -> tuple[str, ...]:
        """Names of the numbers that this task is scored with: those of the parts that it has."""
        return tuple(name for name in self.reported if self._has(task, name))

    def range_of(self, number: str) -> tuple[float, float]:
        """Between which values a number lies, such as `SHARE`; a record with another is set aside."""
        return CORRELATION

    def splits_of(self, task: TaskFields) -> tuple[str, ...]:
        """The splits that this task has, in their order; empty where they are sub-corpora."""
        return task.parts or self.splits

    def _has(self, task: TaskFields, number: str) -> bool:
        return ("dev" if number.startswith("dev_") else "test") not in {*self.splits} - {*self.splits_of(task)}

    def check(self, task: TaskFields) -> None:
        """`UserError` where an entry of `TASKS` asks for what the kind does not have."""
        if task.f1:
            raise UserError(f"task {task.name}: there is no F1 where the kind is {self.name!r}")
        if task.scale is not None:
            raise _no_scale(task)

    def check_examples(self, task: TaskFields, data: TaskData, files: Mapping[str, Path]) -> None:
        """`UserError` where examples that were read cannot be scored; `files` has the first file of each split."""
        pairs = self.target == "scores" or next(iter(data.splits.values())).right is not None
        for name, split in data.splits.items():
            if not len(split):
                raise UserError(f"{task.name}: {files[name]} holds no example for {name}")
            if (split.right is not None) != pairs:
                needed = "pair of sentences" if pairs else "sentence"
                raise UserError(f"{task.name}: every example in {files[name]} must be a {needed}")

    @abstractmethod
    def score(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        """The answers that embeddings give, with whatever is fitted under the protocol. One seed gives one score."""

    def score_without_test(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        """The number `development`, bit for bit as by `score`, of `splits_without_test` alone."""
        return self.score(given, protocol, seed)

    @abstractmethod
    def numbers(self, task: TaskFields, answers: Answers, protocol: Protocol | None) -> Mapping[str, float | None]:
        """Every number that follows from the answers of one part (`answers.split`), in percent; None for one that
        they cannot have. A number is left out where the answers lack what it needs. `protocol` is None where it is
        unknown."""

    @abstractmethod
    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray | None:
        """(items,) What each item does to a number of `numbers`, in points: how the number would change if the item
        counted a little more, so scaled that the sum of squares is the number's variance over items. `effects.py` has
        those of means and correlations. None where they cannot be told, as of a median."""

    def hits(self, number: str, answers: Answers) -> np.ndarray | None:
        """(items,) Whether each item was answered rightly, of a number that is the share of those; None of any other,
        and where the answers hang together through shared training items."""
        return None

    def shares(self, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray | None:
        """(items,) What each item adds to a number, in points, where the number is the sum of that; None of any
        other."""
        return None

    def tested(self, data: TaskData) -> list[Split]:
        """The splits of which answers are kept: the test part, or all where there is no such part."""
        if "test" in self.splits:
            return [data.splits["test"]] if "test" in data.splits else []
        return list(data.splits.values())

    def chosen_by(self, data: TaskData) -> list[Split]:
        """The splits that a development number is made of, without those that are tested."""
        tested = {*map(id, self.tested(data))}
        return [split for split in self.without_test(data).splits.values() if id(split) not in tested]

    def groups(self, splits: Sequence[Split]) -> np.ndarray | None:
        """(items,) Which items are drawn together: a number for each. None where each is drawn by itself. Wrong groups
        make wrong intervals, which no test of the contract sees."""
        return pair_groups(splits)

    def used(self, data: TaskData) -> TaskData:
        """The examples that it takes of those that were read and checked, and in `left_out` what becomes of others."""
        return data

    def without_test(self, data: TaskData) -> TaskData:
        """The splits that `score_without_test` needs."""
        names = self.splits_without_test or tuple(data.splits)
        return replace(data, splits={name: data.splits[name] for name in names if name in data.splits})

    def development_part(self, data: TaskData) -> Split:
        """The examples that `development_score` needs, none of them of a test part."""
        return data.splits["dev"]

    def development_score(self, given: Embedded) -> float:
        """The number `development` of these examples (the split `dev` of `given`), in milliseconds."""
        raise NotImplementedError(f"the kind {self.name!r} has no score while a training goes on")


def _no_scale(task: TaskFields) -> UserError:
    return UserError(f"task {task.name}: scale={task.scale} must be the lowest and highest score of relatedness")


def check_scale(task: TaskFields) -> None:
    """`UserError` for a scale of scores that does not rise."""
    if task.scale is not None and not task.scale[0] < task.scale[1]:
        raise _no_scale(task)
