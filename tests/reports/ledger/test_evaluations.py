"""One trained model, scored in several ways: each is an entry of its record, and a study takes what it asked for."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from reports.facts.results import Results
from reports.ledger import LEDGER, Evaluation, Ledger, Record, Scoring, StudyInfo
from reports.testing import changed, make_study
from tests.synthetic_results import section_text
from trainables.recipe import Recipe

HASH = Recipe().hash
FULL = Evaluation("full", {"MR": {"test_accuracy": 70.0}}, data={"senteval": {"fingerprint": "aa"}})
MORE = Evaluation("full", {"CR": {"test_accuracy": 80.0}}, data={"senteval": {"fingerprint": "bb"}})
FAST = Evaluation("fast", {"MR": {"test_accuracy": 60.0}}, data={"senteval": {"fingerprint": "aa"}})


def record(*evaluations: Evaluation) -> Record:
    return Record(dict(Recipe().flat()), HASH, 1, evaluations=list(evaluations))


def test_a_trial_is_done_where_all_that_is_asked_was_scored(tmp_path: Path) -> None:
    """By protocol, data and tasks; entries of several tasks add up, and an unknown fingerprint is any."""
    ledger = Ledger(tmp_path)
    ledger.write(record(FAST, FULL, MORE))
    both, known = frozenset({"MR", "CR"}), frozenset({"aa", "bb"})
    for scoring, done in (
        (Scoring("full", known, both), True),
        (Scoring("full", tasks=both), True),
        (Scoring("fast", known, both), False),
        (Scoring("fast", known, frozenset({"MR"})), True),
        (Scoring("full", frozenset({"aa"}), both), False),
        (Scoring("full", frozenset({"cc"}), frozenset({"MR"})), False),
        (Scoring("full", known, both | {"SST2"}), False),
    ):
        scored = Ledger(tmp_path, scoring)
        assert scored.has(HASH, 1) is done, scoring
        assert len(scored.read()) == done
        assert (scored.get(HASH, 1) is not None) is done
        assert len(scored.sift()[0]) == 1
    trial = Ledger(tmp_path, Scoring("fast", known, frozenset({"MR"}))).get(HASH, 1)
    assert trial.scores == FAST.scores
    assert record(dataclasses.replace(FULL, data={})).done(Scoring("full", known, frozenset({"MR"})))
    stopped = dataclasses.replace(record(), status="pruned")
    assert stopped.done(Scoring("fast", tasks=frozenset({"MR"})))


def test_evaluations_of_before_stay_beside_new_ones() -> None:
    again = dataclasses.replace(FULL, scores={"MR": {"test_accuracy": 71.0}})
    assert again.name == FULL.name
    assert record(again).with_earlier_evaluations(record(FAST, FULL)).evaluations == [FAST, again]
    assert record(again).with_earlier_evaluations(None).evaluations == [again]
    assert len({FULL.name, FAST.name, MORE.name}) == 3


def test_a_report_takes_what_the_study_asked_for(tmp_path: Path) -> None:
    """Asked under another protocol, the trials that have no such evaluation are in no figure, and that is said."""
    before = make_study(tmp_path)
    info = StudyInfo.load(tmp_path)
    first, *others = Results.load(tmp_path).records
    other = Evaluation("full", {task: {**numbers} for task, numbers in first.scores.items()})
    Ledger(tmp_path / LEDGER).write(dataclasses.replace(first, evaluations=[*first.evaluations, other]))
    assert Results.load(tmp_path).records == before.records
    dataclasses.replace(info, evaluation={**info.evaluation, "evaluation.protocol": "full"}).save(tmp_path)
    results = Results.load(tmp_path)
    assert [trial.key for trial in results.records] == [first.key]
    assert [trial.key for trial in results.differently_evaluated] == [trial.key for trial in others]
    assert f"`fast` ({len(others)} trials)" in section_text(tmp_path, "trust")


def test_other_data_is_said(tmp_path: Path) -> None:
    study = make_study(tmp_path)
    for trial in study.records:
        Ledger(tmp_path / LEDGER).write(
            changed(trial, data={"senteval": {"source": "x", "fingerprint": f"{trial.seed}"}})
        )
    dataclasses.replace(study.info, evaluated_on=["0"]).save(tmp_path)
    results = Results.load(tmp_path)
    assert {trial.seed for trial in results.records} == {0}
    assert {trial.seed for trial in results.differently_evaluated} == {1}
    from reports.facts.guards import find_flags

    (flag,) = [flag for flag in find_flags(results).all if flag.guard == "protocol"]
    assert (flag.kind, flag.facts) == ("data", {"trials": 2})
