"""The 28 SentEval tasks as rows of data. Adding a task is adding a row; this module imports nothing heavy.

A row says which files hold the task, how they are laid out (`layout`, a reader in `read.py`), how the task is
scored (`kind`, a function in `kinds.py`) and what is known about it: published sizes and the score of chance.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from trainables.errors import UserError

Kind = Literal["nested_cv", "kfold", "split", "similarity", "relatedness", "retrieval"]
Layout = Literal["classes_in_files", "trec", "mrpc", "sst2", "sst5", "snli", "sick", "sts", "stsb", "coco", "probing"]


@dataclass(frozen=True)
class Task:
    """One task.

    `files` are relative to the data folder, in the order that the layout's reader expects.
    `sizes` are the published numbers of examples, in the order (scored), (train, test) or (train, dev, test).
    `chance` is the accuracy of the most frequent class in percent where the published data gives it, else None.
    """

    name: str
    kind: Kind
    layout: Layout
    files: tuple[str, ...]
    sizes: tuple[int, ...]
    labels: tuple[str, ...] = ()
    """Class names in the order of their numbers; empty where the layout writes numbers or the data decides."""
    metric: str = "test_accuracy"
    """The number that stands for the task in an average, unless a paper says otherwise."""
    chance: float | None = None


def _splits(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"downstream/{folder}/{name}" for name in names)


def _nested(name: str, size: int, positive: str, negative: str, chance: float) -> Task:
    files = _splits(name, positive, negative)
    return Task(name, "nested_cv", "classes_in_files", files, (size,), ("negative", "positive"), chance=chance)


def _sts(year: int, size: int, *corpora: str) -> Task:
    files = [f"STS.{kind}.{corpus}.txt" for corpus in corpora for kind in ("input", "gs")]
    folder = f"STS/STS{year}-en-test"
    return Task(f"STS{year}", "similarity", "sts", _splits(folder, *files), (size,), metric="spearman_wmean")


def _probing(name: str, file: str, chance: float) -> Task:
    return Task(name, "split", "probing", (f"probing/{file}.txt",), (100_000, 10_000, 10_000), chance=chance)


_SICK = _splits("SICK", "SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt")
_NLI = ("entailment", "neutral", "contradiction")

_ROWS = (
    _nested("MR", 10_662, "rt-polarity.pos", "rt-polarity.neg", 50.0),
    _nested("CR", 3_775, "custrev.pos", "custrev.neg", 63.8),
    _nested("SUBJ", 10_000, "subj.objective", "subj.subjective", 50.0),
    _nested("MPQA", 10_606, "mpqa.pos", "mpqa.neg", 68.8),
    Task(
        "SST2",
        "split",
        "sst2",
        _splits("SST/binary", "sentiment-train", "sentiment-dev", "sentiment-test"),
        (67_349, 872, 1_821),
        ("0", "1"),
        chance=50.1,
    ),
    Task(
        "SST5",
        "split",
        "sst5",
        _splits("SST/fine", "sentiment-train", "sentiment-dev", "sentiment-test"),
        (8_544, 1_101, 2_210),
        ("0", "1", "2", "3", "4"),
        chance=28.6,
    ),
    Task(
        "TREC",
        "kfold",
        "trec",
        _splits("TREC", "train_5500.label", "TREC_10.label"),
        (5_452, 500),
        ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"),
        chance=27.6,
    ),
    Task(
        "MRPC",
        "kfold",
        "mrpc",
        _splits("MRPC", "msr_paraphrase_train.txt", "msr_paraphrase_test.txt"),
        (4_076, 1_725),
        ("0", "1"),
        chance=66.5,
    ),
    Task(
        "SNLI",
        "split",
        "snli",
        _splits("SNLI", *(f"{part}.{split}" for split in ("train", "dev", "test") for part in ("s1", "s2", "labels"))),
        (549_367, 9_842, 9_824),
        _NLI,
        chance=34.3,
    ),
    Task(
        "SICKEntailment",
        "split",
        "sick",
        _SICK,
        (4_500, 500, 4_927),
        ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"),
        chance=56.7,
    ),
    Task("SICKRelatedness", "relatedness", "sick", _SICK, (4_500, 500, 4_927), metric="test_spearman_regressor"),
    Task(
        "STSBenchmark",
        "relatedness",
        "stsb",
        _splits("STS/STSBenchmark", "sts-train.csv", "sts-dev.csv", "sts-test.csv"),
        (5_749, 1_500, 1_379),
        metric="test_spearman_regressor",
    ),
    Task(
        "ImageCaptionRetrieval",
        "retrieval",
        "coco",
        _splits("COCO", "train.pkl", "valid.pkl", "test.pkl"),
        (565_000, 25_000, 25_000),
        metric="test_recall",
    ),
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


def _register(rows: Sequence[Task]) -> dict[str, Task]:
    registry: dict[str, Task] = {}
    for task in rows:
        if task.name in registry:
            raise ValueError(f"two tasks are called {task.name}")
        registry[task.name] = task
    return registry


TASKS: Mapping[str, Task] = _register(_ROWS)

GROUPS: Mapping[str, tuple[str, ...]] = {
    "sts": tuple(task.name for task in _ROWS if task.kind == "similarity"),
    "transfer": ("MR", "CR", "SUBJ", "MPQA", "SST2", "SST5", "TREC", "MRPC"),
    "downstream": tuple(task.name for task in _ROWS if task.layout != "probing"),
    "probing": tuple(task.name for task in _ROWS if task.layout == "probing"),
    "all": tuple(task.name for task in _ROWS),
}


def task_names(names: Sequence[str]) -> tuple[str, ...]:
    """Task names without duplicates, groups (`sts`, `transfer`, `downstream`, `probing`, `all`) expanded."""
    found: dict[str, None] = {}
    for name in names:
        if name not in GROUPS and name not in TASKS:
            near = difflib.get_close_matches(name, [*TASKS, *GROUPS], n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UserError(
                f"{name!r} is no SentEval task; {hint}groups: {', '.join(GROUPS)}; tasks: {', '.join(TASKS)}"
            )
        found.update(dict.fromkeys(GROUPS.get(name, (name,))))
    if not found:
        raise UserError(f"no task was named; groups: {', '.join(GROUPS)}; tasks: {', '.join(TASKS)}")
    return tuple(found)
