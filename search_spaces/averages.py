"""The four papers' averages over stored scores, each under its own name. A missing score makes a missing average.

They are computed when asked, from the scores that a record holds, so that a new average needs no new trial.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainables.senteval.tasks import GROUPS

Cell = tuple[str, tuple[str, ...]]
"""A task and the number, or the numbers to be averaged first, that stand for it."""


@dataclass(frozen=True)
class Average:
    name: str
    cells: tuple[Cell, ...]


def _same(tasks: tuple[str, ...], number: str) -> tuple[Cell, ...]:
    return tuple((task, (number,)) for task in tasks)


_STS = GROUPS["sts"]
_TRANSFER = GROUPS["transfer"]
_PROBING = _same(GROUPS["probing"], "test_accuracy")
_DECLUTR_DOWNSTREAM: tuple[Cell, ...] = (
    *_same(("CR", "MR", "MPQA", "SUBJ", "SST2", "SST5", "TREC", "SNLI", "SICKEntailment"), "test_accuracy"),
    ("MRPC", ("test_accuracy", "test_f1")),
    ("SICKRelatedness", ("test_spearman_regressor",)),
    ("STSBenchmark", ("test_spearman_regressor",)),
    ("ImageCaptionRetrieval", ("test_recall",)),
    *_same(_STS, "spearman_mean"),
)
# The same 18 tasks on their development parts. SentEval reports no F1 for MRPC there, and Pearson for the regressors;
# STS12 to 16 have no development part and stand with their test scores.
_DEVELOPMENT_NUMBERS = {
    "MRPC": "dev_accuracy",
    "SICKRelatedness": "dev_pearson_regressor",
    "STSBenchmark": "dev_pearson_regressor",
    "ImageCaptionRetrieval": "dev_recall",
}
_DECLUTR_DEVELOPMENT: tuple[Cell, ...] = tuple(
    (task, numbers if task in _STS else (_DEVELOPMENT_NUMBERS.get(task, "dev_accuracy"),))
    for task, numbers in _DECLUTR_DOWNSTREAM
)
_UNSUPERVISED: tuple[Cell, ...] = _same(("STSBenchmark",), "test_spearman_cosine")

AVERAGES: tuple[Average, ...] = (
    # Liao 2021, tables 2 and 3.
    Average("liao_sts", _same(_STS, "spearman_wmean")),
    Average("liao_transfer", _same(_TRANSFER, "test_accuracy")),
    # Qiu et al. 2022, table 3: STS12 to 16 and STS-B by cosine over all pairs of a year.
    Average("clsr_sts", _same(_STS, "spearman_all") + _UNSUPERVISED),
    # Giorgi et al. 2020, table 1: 18 downstream tasks, 10 probing tasks; the mean of the two is `declutr_all`.
    Average("declutr_downstream", _DECLUTR_DOWNSTREAM),
    Average("declutr_probing", _PROBING),
    # Its tables S1, S5 and S6, and its figures.
    Average("development_declutr_downstream", _DECLUTR_DEVELOPMENT),
    Average("development_declutr_probing", _same(GROUPS["probing"], "dev_accuracy")),
    Average("development_declutr_without_snli", tuple(cell for cell in _DECLUTR_DEVELOPMENT if cell[0] != "SNLI")),
    # Dehghan and Amasyali 2022, tables 2 and 3.
    Average(
        "supmpn_sts",
        _same(_STS, "spearman_all") + _UNSUPERVISED + _same(("SICKRelatedness",), "test_spearman_cosine"),
    ),
    Average("supmpn_transfer", _same(("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC"), "test_accuracy")),
)


def averages(tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    """Every aggregate by name; None where one of its scores is missing."""
    found = {average.name: _mean([_cell(tasks, cell) for cell in average.cells]) for average in AVERAGES}
    for prefix in ("", "development_"):
        halves = [found[f"{prefix}declutr_{half}"] for half in ("downstream", "probing")]
        found[f"{prefix}declutr_all"] = _mean(halves)
    return found


def describe(name: str) -> str:
    """What an average is the mean of: "`test_accuracy` of MR, CR"."""
    halves = [average.name for average in AVERAGES if average.name.startswith(name.removesuffix("all"))]
    if name.endswith("declutr_all"):
        return f"`{halves[0]}` and `{halves[1]}`"
    by_number: dict[str, list[str]] = {}
    for task, numbers in next(average.cells for average in AVERAGES if average.name == name):
        by_number.setdefault(" and ".join(f"`{number}`" for number in numbers), []).append(task)
    return "; ".join(f"{numbers} of {', '.join(tasks)}" for numbers, tasks in by_number.items())


def _cell(tasks: Mapping[str, Mapping[str, Any]], cell: Cell) -> float | None:
    task, numbers = cell
    return _mean([tasks.get(task, {}).get(number) for number in numbers])


def _mean(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return sum(present) / len(present) if len(present) == len(values) else None
