"""The papers' averages and the search's goals, as functions of stored scores."""

from __future__ import annotations

import re

import pytest

from search_spaces.averages import AVERAGES, averages, describe
from search_spaces.goals import GOALS, SELECTION, Goal
from search_spaces.paper import Average, cells
from trainables.errors import UserError
from trainables.senteval.tasks import GROUPS, TASKS

# Every number of every task: a different one each, so that a mean of other cells is another mean.
SCORES = {
    task: {number: 10.0 + 1.7 * place + 0.13 * at for at, number in enumerate(entry.numbers)}
    for place, (task, entry) in enumerate(TASKS.items())
}


def _mean(number: str, *tasks: str) -> float:
    return sum(SCORES[task][number] for task in tasks) / len(tasks)


def _without(task: str, number: str | None = None) -> dict[str, dict[str, float | None]]:
    """The scores without a task, or with None for one of its numbers."""
    if number is None:
        return {name: dict(numbers) for name, numbers in SCORES.items() if name != task}
    return {**SCORES, task: {**SCORES[task], number: None}}


def test_names_and_their_order():
    assert list(AVERAGES) == [
        *("liao_sts", "liao_transfer", "clsr_sts"),
        *("declutr_downstream", "declutr_probing"),
        *("development_declutr_downstream", "development_declutr_probing", "development_declutr_without_snli"),
        *("supmpn_sts", "supmpn_transfer", "declutr_all", "development_declutr_all"),
    ]


def test_each_paper_averages_in_its_own_way():
    values = averages(SCORES)
    years, eight = GROUPS["sts"], GROUPS["transfer"]
    assert values["liao_sts"] == pytest.approx(_mean("spearman_wmean", *years))
    assert values["liao_transfer"] == pytest.approx(_mean("test_accuracy", *eight))
    benchmark, sick = (SCORES[task]["test_spearman_cosine"] for task in ("STSBenchmark", "SICKRelatedness"))
    all_pairs = 5 * _mean("spearman_all", *years)
    assert values["clsr_sts"] == pytest.approx((all_pairs + benchmark) / 6)
    assert values["supmpn_sts"] == pytest.approx((all_pairs + benchmark + sick) / 7)
    assert values["supmpn_transfer"] == pytest.approx(_mean("test_accuracy", *(t for t in eight if t != "SST5")))


def test_declutr_takes_the_mean_of_mrpcs_two_figures_and_of_its_two_averages():
    values = averages(SCORES)
    classes = ("CR", "MR", "MPQA", "SUBJ", "SST2", "SST5", "TREC", "SNLI", "SICKEntailment")
    whole = (
        9 * _mean("test_accuracy", *classes)
        + (SCORES["MRPC"]["test_accuracy"] + SCORES["MRPC"]["test_f1"]) / 2
        + 2 * _mean("test_spearman_regressor", "SICKRelatedness", "STSBenchmark")
        + SCORES["ImageCaptionRetrieval"]["test_recall"]
        + 5 * _mean("spearman_mean", *GROUPS["sts"])
    )
    assert values["declutr_downstream"] == pytest.approx(whole / 18)
    assert values["declutr_all"] == pytest.approx((values["declutr_downstream"] + values["declutr_probing"]) / 2)
    snli = SCORES["SNLI"]["dev_accuracy"]
    without = (18 * values["development_declutr_downstream"] - snli) / 17
    assert values["development_declutr_without_snli"] == pytest.approx(without)


def test_a_missing_score_makes_a_missing_average():
    assert set(averages({}).values()) == {None}
    for scores in (_without("SST5"), _without("SST5", "test_accuracy")):
        values = averages(scores)
        assert values["liao_transfer"] is None
        assert values["declutr_all"] is None
        assert values["supmpn_transfer"] is not None
        assert values["declutr_probing"] is not None


def test_what_an_average_is_of():
    assert describe("liao_sts") == "`spearman_wmean` of STS12, STS13, STS14, STS15, STS16"
    assert "`test_accuracy` and `test_f1` of MRPC; `test_spearman_regressor` of SICK" in describe("declutr_downstream")
    assert describe("development_declutr_all") == "`development_declutr_downstream` and `development_declutr_probing`"


@pytest.mark.parametrize(
    ("task", "number", "sentence"),
    [
        ("MRR", "test_accuracy", "no task is called 'MRR'; did you mean 'MR'?"),
        ("MR", "dev_acuracy", "no number of MR is called 'dev_acuracy'; did you mean 'dev_accuracy'?"),
    ],
)
def test_misspelt_scores_are_refused(task: str, number: str, sentence: str):
    with pytest.raises(UserError, match=re.escape(f"average 'mine': {sentence}")):
        Average("mine", cells(("SST2",), "test_accuracy") + cells((task,), number))
    with pytest.raises(UserError, match=re.escape(f"goal 'mine': {sentence}")):
        Goal("mine", "mine", (task,), number)


def test_an_average_of_ones_own():
    mine = Average("mine", cells(("MR", "CR"), "test_accuracy"))
    AVERAGES.add(mine)
    try:
        assert averages(SCORES)["mine"] == pytest.approx(_mean("test_accuracy", "MR", "CR"))
        with pytest.raises(UserError, match="the name 'mine' is taken by another average; give yours another name"):
            AVERAGES.add(mine)
    finally:
        AVERAGES.remove("mine")


def test_goals_and_selection_are_over_what_is_there():
    only = {"MR": SCORES["MR"], "CR": {"dev_accuracy": None}}
    assert GOALS["sts"].of(only, {}) is None
    assert GOALS["transfer"].of(only, {}) == SCORES["MR"]["dev_accuracy"]
    assert SELECTION.of(only, {}) == SCORES["MR"]["dev_accuracy"]
    assert SELECTION.of({}, {}) is None
    sts, transfer = SCORES["STSBenchmark"]["dev_spearman_cosine"], _mean("dev_accuracy", *GROUPS["transfer"])
    assert [GOALS[name].of(SCORES, {}) for name in ("sts", "transfer")] == pytest.approx([sts, transfer])
    assert SELECTION.of(SCORES, {}) == pytest.approx((sts + transfer) / 2)
