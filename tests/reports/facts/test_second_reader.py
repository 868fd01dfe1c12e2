"""What a gain is by nearest neighbours, beside what it is by a classifier."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from reports.facts.answer import Answer
from reports.facts.answer_parts import Check, Finalist
from reports.facts.finals_evidence import FinalsEvidence
from reports.facts.gain import Gain
from reports.facts.quantity import Quantity
from reports.statistics import Sample
from reports.statistics.spreads import NO_BORROWED_SPREAD, CommonSpread
from reports.words.answer import CHECKED, _check
from trainables.senteval.tasks import TASKS, Task

SCORES = {"picked": (86.0, 80.0), "base": (84.0, 82.0), "came": (80.0, 70.0)}
"""By the regression and by nearest neighbours."""


class _Finals(FinalsEvidence):
    """Two seeds of each recipe."""

    def __init__(self) -> None:
        self.evidence: Any = self
        self.references = {"base": "base", "encoder": "came"}
        self.p_factor = 1.0

    def borrowed(self, figure: Quantity) -> CommonSpread:
        return NO_BORROWED_SPREAD

    def sample(self, key: str, figure: Quantity) -> Sample | None:
        if key not in SCORES:
            return None
        ((_, number),) = figure.weights
        mean = SCORES[key][number == "test_knn_accuracy"]
        effects = np.random.default_rng(len(key)).normal(size=(2, 200)) / 20
        return Sample(np.array([mean - 0.1, mean + 0.1]), (0, 1), effects=effects, items="made")


@pytest.fixture(autouse=True)
def labelled() -> Iterator[None]:
    TASKS.add(Task("labelled", "classes", "table", ("/a.csv", "/b.csv", "/c.csv")))
    yield
    TASKS.remove("labelled")


def check_of(*scores: tuple[str, str]) -> Check | None:
    figure = Quantity("labelled test_accuracy", dict.fromkeys(scores, 1.0))
    return _Finals().checked("picked", figure)


def test_the_gain_by_nearest_neighbours_may_be_a_loss() -> None:
    check = check_of(("labelled", "test_accuracy"))
    assert (check.figure, check.level.gain) == ("labelled test_knn_accuracy", pytest.approx(80.0))
    assert {name: gain.gain for name, gain in check.gains.items()} == pytest.approx({"base": -2.0, "encoder": 10.0})
    assert all(gain.low is not None and gain.low < gain.gain for gain in check.gains.values())


@pytest.mark.parametrize("score", [("labelled", "test_knn_accuracy"), ("TREC", "test_accuracy"), ("STS12", "x")])
def test_figures_of_other_numbers_and_kinds_have_no_second_reader(score: tuple[str, str]) -> None:
    assert check_of(score) is None


def test_the_answer_says_whose_it_is() -> None:
    """Of the recipe to use; where no recipe of the search is, of the best that it has, too."""
    gain = Gain(10.0, 9.0, 11.0)
    base = Check("b", "labelled test_knn_accuracy", ("test_knn_accuracy",), Gain(85.0, 84.0, 86.0), {"encoder": gain})
    picked = dataclasses.replace(base, recipe="p", gains={"base": Gain(3.0, 1.0, 5.0), "encoder": gain})
    finalist = Finalist("b", "a row", {}, None, (), 5, 0, None)
    best = dataclasses.replace(finalist, recipe="p", name="#7")
    answer = Answer("base", references={"base": finalist}, picked=(best,), checks=(base, picked))
    by = CHECKED["test_knn_accuracy"]
    assert _check(answer, str) == [
        f"{by}: the base settings 85.00 [84.00, 86.00], +10.00 [+9.00, +11.00] over the original encoder",
        "the best of the search 85.00 [84.00, 86.00], +3.00 [+1.00, +5.00] over the base settings",
    ]
    alone = dataclasses.replace(answer, kind="use", checks=(picked,))
    assert _check(alone, str)[1:] == ["+10.00 [+9.00, +11.00] over the original encoder"]
    worse = dataclasses.replace(picked, numbers=("test_ndcg@10",), gains={"encoder": Gain(-9.0, -9.5, -8.5)})
    by_search = _check(dataclasses.replace(alone, checks=(worse,)), str)
    assert by_search[0].startswith(f"{CHECKED['test_ndcg@10']}: ")
    assert by_search[1:] == ["by this it is shown to be worse"]
    assert _check(Answer("open"), str) == []
