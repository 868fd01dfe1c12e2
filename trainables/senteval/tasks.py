"""SentEval's 28 tasks as entries of a registry. Imports nothing heavy.

An entry has the task's files, their layout (`layout`, of `file_layouts.py`), the way of scoring (`kind`, a class of
`kinds/`) and published facts: sizes and the score of chance. To add a task of your own, add an entry in a plugin file:

    TASKS.add(Task("mine", "split", "table", ("/data/train.tsv", "/data/dev.tsv", "/data/test.tsv")))
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from trainables.errors import UserError, did_you_mean
from trainables.labels import LABELS
from trainables.registry import Registry
from trainables.senteval.file_layouts import FILE_LAYOUTS, FileLayout
from trainables.senteval.kinds import KINDS, TaskKind
from trainables.senteval.task_fields import TaskFields

_GROUPS = ("sts", "transfer", "downstream", "probing", "all")
"""SentEval's own groups; every task is in the last one."""


@dataclass(frozen=True)
class Task(TaskFields):
    """An entry of `TASKS`. Raises `UserError` if kind, layout, files and metric do not fit together."""

    def __post_init__(self) -> None:
        kind, layout = KINDS[self.kind], FILE_LAYOUTS[self.layout]
        _check_parts(self, kind)
        if not self.metric:
            object.__setattr__(self, "metric", kind.main if kind.main in self.numbers else self.development)
        for name in (self.name, *self.groups):
            if not re.fullmatch(r"[\w-]+", name):
                raise UserError(f"{name!r} cannot name a task or a group; take letters, digits, _ and -")
        if self.name in _GROUPS:
            raise UserError(f"{self.name!r} names a group of tasks; give the task another name")
        kind.check(self)
        _check_fit(self, kind, layout)
        _check_files(self, kind, layout)
        if self.metric not in self.numbers:
            numbers = ", ".join(self.numbers)
            raise UserError(
                f"task {self.name}: metric {self.metric!r} is none of the numbers of kind {self.kind!r}: {numbers}"
            )

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that the task has, in order; empty for sub-corpora."""
        return KINDS[self.kind].splits_of(self)

    @property
    def of_own_data(self) -> bool:
        """Whether the task is made of a user's own files, and not of files in SentEval's folder."""
        return all(Path(file).is_absolute() for file in self.files)

    @property
    def development(self) -> str:
        """Name of the development score that may be the goal of a search; empty: there is none."""
        number = KINDS[self.kind].development
        return number if number in self.numbers else ""

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Names of the task's scores, such as `test_accuracy`."""
        return KINDS[self.kind].numbers_of(self)


def _check_parts(task: Task, kind: TaskKind) -> None:
    """Raise `UserError` if the task lacks a split that its kind needs."""
    present = tuple(name for name in kind.splits if name in task.parts)
    if task.parts and (task.parts != present or not {*kind.splits} - {*kind.optional} <= {*present}):
        may = f", of which it can lack {' or '.join(kind.optional)}" if kind.optional else ""
        raise UserError(
            f"task {task.name}: parts={task.parts}, but the kind {kind.name!r} needs the splits "
            f"{', '.join(kind.splits) or 'sub-corpora'}{may}"
        )


def _check_fit(task: Task, kind: TaskKind, layout: FileLayout) -> None:
    """Raise `UserError` if the layout lacks the splits or labels that the kind needs."""
    if layout.splits is not None and (layout.splits != kind.splits or task.parts):
        needs = ", ".join(kind.splits) or "sub-corpora"
        gives = ", ".join(layout.splits) or "sub-corpora"
        raise UserError(
            f"task {task.name}: the kind {kind.name!r} needs the splits {needs}; the layout {layout.name!r} has {gives}"
        )
    if kind.target not in layout.targets:
        raise UserError(
            f"task {task.name}: the kind {kind.name!r} needs {kind.target}; the layout {layout.name!r} has "
            f"{' or '.join(layout.targets)}"
        )


def _check_files(task: Task, kind: TaskKind, layout: FileLayout) -> None:
    """Raise `UserError` for a wrong number of files, or a file that is named twice."""
    once = [file for file in task.files if not Path(file).name.startswith(layout.may_recur)]
    if len(set(once)) < len(once):
        raise UserError(f"task {task.name}: a file is named twice")
    if layout.files_per_split is None:
        right, needed = len(task.files) == 1, "one file"
    elif kind.splits:
        count = layout.files_per_split * len(task.splits)
        right = len(task.files) == count
        needed = f"{count} files, {layout.files_per_split} for each of {', '.join(task.splits)}"
    else:
        right = len(task.files) > 0 and len(task.files) % layout.files_per_split == 0
        needed = f"{layout.files_per_split} for each sub-corpus"
    if not right:
        raise UserError(f"task {task.name}: the layout {layout.name!r} takes {needed}, not {len(task.files)} files")


_TRANSFER = ("transfer", "downstream")


def _splits(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"downstream/{folder}/{name}" for name in names)


def _nested(name: str, size: int, positive: str, negative: str, chance: float) -> Task:
    files = _splits(name, positive, negative)
    labels = ("negative", "positive")
    return Task(name, "nested_cv", "classes_in_files", files, (size,), labels, _TRANSFER, chance=chance)


def _sts(year: int, size: int, *corpora: str) -> Task:
    files = [f"STS.{kind}.{corpus}.txt" for corpus in corpora for kind in ("input", "gs")]
    folder = f"STS/STS{year}-en-test"
    return Task(f"STS{year}", "similarity", "sts", _splits(folder, *files), (size,), groups=("sts", "downstream"))


def _probing(name: str, file: str, chance: float) -> Task:
    files = (f"probing/{file}.txt",)
    return Task(name, "split", "probing", files, (100_000, 10_000, 10_000), groups=("probing",), chance=chance)


def _transfer(
    name: str,
    kind: str,
    folder: str,
    files: tuple[str, ...],
    sizes: tuple[int, ...],
    labels: tuple[str, ...],
    chance: float,
    f1: bool = False,
) -> Task:
    """Return a task whose layout has the task's name in lower case."""
    return Task(name, kind, name.lower(), _splits(folder, *files), sizes, labels, _TRANSFER, chance=chance, f1=f1)


_SENTIMENT = ("sentiment-train", "sentiment-dev", "sentiment-test")
_TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
_PARAPHRASES = ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt")
_SICK = _splits("SICK", "SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")
_SICK_SIZES = (4_500, 500, 4_927)
_SICK_CLASSES = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
_STSB = _splits("STS/STSBenchmark", "sts-train.csv", "sts-dev.csv", "sts-test.csv")
_COCO = _splits("COCO", "train.pkl", "valid.pkl", "test.pkl")

_ROWS = (
    _nested("MR", 10_662, "rt-polarity.pos", "rt-polarity.neg", 50.0),
    _nested("CR", 3_775, "custrev.pos", "custrev.neg", 63.8),
    _nested("SUBJ", 10_000, "subj.objective", "subj.subjective", 50.0),
    _nested("MPQA", 10_606, "mpqa.pos", "mpqa.neg", 68.8),
    _transfer("SST2", "split", "SST/binary", _SENTIMENT, (67_349, 872, 1_821), ("0", "1"), 50.1),
    _transfer("SST5", "split", "SST/fine", _SENTIMENT, (8_544, 1_101, 2_210), ("0", "1", "2", "3", "4"), 28.6),
    _transfer("TREC", "kfold", "TREC", ("train_5500.label", "TREC_10.label"), (5_452, 500), _TREC_CLASSES, 27.6),
    _transfer("MRPC", "kfold", "MRPC", _PARAPHRASES, (4_076, 1_725), ("0", "1"), 66.5, f1=True),
    Task(
        "SNLI",
        "split",
        "snli",
        _splits("SNLI", *(f"{part}.{split}" for split in ("train", "dev", "test") for part in ("s1", "s2", "labels"))),
        (549_367, 9_842, 9_824),
        LABELS,
        groups=("downstream",),
        chance=34.3,
        # Half a million examples: the original fits one L2 value, and scores after each epoch.
        both_embeddings=True,
        epoch_size=1,
        max_epochs=15,
        decays=(1e-9,),
    ),
    Task("SICKEntailment", "split", "sick", _SICK, _SICK_SIZES, _SICK_CLASSES, groups=("downstream",), chance=56.7),
    Task("SICKRelatedness", "relatedness", "sick", _SICK, _SICK_SIZES, groups=("downstream",), scale=(1, 5)),
    # The original's scale, although these scores start at 0.
    Task("STSBenchmark", "relatedness", "stsb", _STSB, (5_749, 1_500, 1_379), groups=("downstream",), scale=(1, 5)),
    Task("ImageCaptionRetrieval", "retrieval", "coco", _COCO, (565_000, 25_000, 25_000), groups=("downstream",)),
    _sts(12, 3_108, "MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    _sts(13, 1_500, "FNWN", "headlines", "OnWN"),
    _sts(14, 3_750, "deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    _sts(15, 3_000, "answers-forums", "answers-students", "belief", "headlines", "images"),
    _sts(16, 1_186, "answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
    _probing("Length", "sentence_length", 16.7),
    _probing("WordContent", "word_content", 0.1),
    _probing("Depth", "tree_depth", 17.9),
    _probing("TopConstituents", "top_constituents", 5.0),
    _probing("BigramShift", "bigram_shift", 50.0),
    _probing("Tense", "past_present", 50.0),
    _probing("SubjNumber", "subj_number", 50.0),
    _probing("ObjNumber", "obj_number", 50.0),
    _probing("OddManOut", "odd_man_out", 50.0),
    _probing("CoordinationInversion", "coordination_inversion", 50.0),
)

TASKS: Registry[Task] = Registry("SentEval task", *_ROWS)
"""The values of `evaluation.tasks`, in addition to groups."""


def groups() -> dict[str, tuple[str, ...]]:
    """Return every group with its tasks: SentEval's own groups, `all`, and the groups of added tasks."""
    members: dict[str, list[str]] = {name: [] for name in _GROUPS}
    for task in TASKS.values():
        for name in (*task.groups, "all"):
            members.setdefault(name, []).append(task.name)
    return {name: tuple(tasks) for name, tasks in members.items()}


GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(groups())
"""SentEval's groups of its own 28 tasks. Averages of papers use these, whatever a plugin adds to `groups()`."""


def kind_of(name: str) -> TaskKind:
    """Return the kind of a task; raise `UserError` if there is no such task."""
    return KINDS[TASKS[name].kind]


def task_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return task names without duplicates, groups (`sts`, `transfer`, `downstream`, `probing`, `all`) expanded."""
    tasks: dict[str, None] = {}
    known = groups()
    for name in names:
        if name not in known and name not in TASKS:
            hint = did_you_mean(name, [*TASKS, *known])
            raise UserError(
                f"{name!r} is no SentEval task; {hint}a task of your own needs --plugin FILE; "
                f"groups: {', '.join(known)}; tasks: {', '.join(TASKS)}"
            )
        tasks.update(dict.fromkeys((name,) if name in TASKS else known[name]))
    if not tasks:
        raise UserError(f"no task was named; groups: {', '.join(known)}; tasks: {', '.join(TASKS)}")
    return tuple(tasks)
