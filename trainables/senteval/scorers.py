"""The kinds of tasks: an entry each, which names the function that scores it (in `score.py`). Imports nothing heavy.

To add one: a function like those in `score.py`, and an entry here or in a plugin file:

    SCORERS.add(Scorer("kind", my_function, numbers=("test_accuracy",), metric="test_accuracy", ...))

`trainables/testing/tasks.py` has the tests that an entry must pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from trainables.registry import Registry

Target = Literal["classes", "scores", "images"]
"""What an example is labelled with: a class, a number (its sentences are then a pair), or the image of a caption."""

Numbers = dict[str, float | int | list[int] | str | None]
"""What a task is scored with: its numbers by name, None where missing, with `examples`, `seconds` and `reason`."""

THREE = ("train", "dev", "test")


@dataclass(frozen=True)
class Scorer:
    """An entry of `SCORERS`."""

    name: str
    function: Callable[..., object] | str
    """From an `Embedded`, a `Protocol` and a seed to `Scores`; or `"module:function"`."""
    numbers: tuple[str, ...]
    """Names of the numbers that it reports, all in percent but for ranks, in their order."""
    metric: str
    """Which of them stands for a task in an average, unless the task or a paper says otherwise."""
    splits: tuple[str, ...]
    """The splits that it needs of a task, in their order; empty takes any number of sub-corpora of any name."""
    target: Target
    """What it needs the examples to be labelled with."""
    unfitted: tuple[str, ...] = ()
    """Those of the numbers that no classifier or regressor is fitted for, so that the protocol cannot move them."""
    again: tuple[str, ...] = ()
    """Those of the numbers that `reports/predictions.py` can compute again from what was predicted, by their names: the
    accuracy and the correlations over all test examples. A number that is something else, a mean over folds, say, is
    not named here; `nested_cv`, whose folds are known, is."""


_ACCURACY = ("dev_accuracy", "test_accuracy")
_TEST = ("test_accuracy",)
_COSINES = tuple(f"{name}_{way}" for name in ("spearman", "pearson") for way in ("all", "mean", "wmean"))
_WAYS = ("i2t", "t2i")

SCORERS: Registry[Scorer] = Registry(
    "kind of task",
    Scorer(
        "nested_cv",
        "trainables.senteval.score:nested_cv",
        numbers=_ACCURACY,
        metric="test_accuracy",
        again=_TEST,
        splits=("all",),
        target="classes",
    ),
    Scorer(
        "kfold",
        "trainables.senteval.score:kfold",
        numbers=_ACCURACY,
        metric="test_accuracy",
        again=_TEST,
        splits=("train", "test"),
        target="classes",
    ),
    Scorer(
        "split",
        "trainables.senteval.score:split",
        numbers=_ACCURACY,
        metric="test_accuracy",
        again=_TEST,
        splits=THREE,
        target="classes",
    ),
    Scorer(
        "similarity",
        "trainables.senteval.score:similarity",
        numbers=_COSINES,
        metric="spearman_wmean",
        splits=(),
        target="scores",
        unfitted=_COSINES,
        again=_COSINES,
    ),
    Scorer(
        "relatedness",
        "trainables.senteval.score:relatedness",
        numbers=(
            "dev_spearman_cosine",
            "test_spearman_cosine",
            "dev_pearson_regressor",
            "test_spearman_regressor",
            "test_pearson_regressor",
        ),
        metric="test_spearman_regressor",
        splits=THREE,
        target="scores",
        unfitted=("dev_spearman_cosine", "test_spearman_cosine"),
        again=(
            "dev_spearman_cosine",
            "test_spearman_cosine",
            "test_spearman_regressor",
            "test_pearson_regressor",
        ),
    ),
    Scorer(
        "retrieval",
        "trainables.senteval.score:retrieval",
        numbers=(
            "dev_recall",
            "test_recall",
            *(f"test_{way}_r{k}" for way in _WAYS for k in (1, 5, 10)),
            *(f"test_{way}_medr" for way in _WAYS),
        ),
        metric="test_recall",
        splits=THREE,
        target="images",
    ),
)
"""The values of `Task.kind`."""
