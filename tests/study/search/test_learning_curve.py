"""What a learning curve trains, and when: with a ledger and predictions on disk and no Ray cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from reports.facts.answer import Answer
from reports.facts.results import Results
from reports.ledger import LearningCurve, Record, StudyInfo, fresh_seeds, is_fresh
from reports.ledger.finals import CURVE_SHARES
from reports.made_up import DATA, VERSIONS
from reports.testing import made_record, write_trial
from study.check import check_plan
from study.cli.options import parse
from study.dry_run import preview
from study.engine.launch import to_run
from study.engine.models_kept import ModelsKept
from study.plan import Plan
from study.results_folder.check import continued
from study.results_folder.prepare import prepare_results, save_info
from study.trial import Trial
from tests.conftest import slow_case
from tests.study.plans import ALLOTMENT, CLUSTER
from tests.study.search.test_search import make, searcher_of
from trainables.errors import UserError
from trainables.senteval.tasks import GROUPS

SEARCH = ("--space", "scl_tau", "--search", "optuna", "--trials", "4", "--sampler", "random")
WITHOUT = (*SEARCH, "--finals", "1x3", "--soup", "none")
CURVE = (*WITHOUT, "--learning-curve")
SEEDS, FINALS = 3, 3 + 3 + 3 + 1
"""Of the finals: seeds, and trials of one finalist, the base, the baseline row and the original encoder."""


def points(trial: Trial) -> float:
    """Best for a temperature near 0.3; each halving of the data costs a point; the original encoder is far below."""
    flat = trial.recipe.flat()
    away = abs(float(str(flat.get("objective.temperature", 3.0))) - 0.3)
    lost = {0.5: 1.0, 0.25: 2.0, 0.125: 3.0}.get(float(str(flat.get("corpus.share", 1.0))), 0.0)
    return (60.0 - 4 * away if trial.recipe.trains else 40.0) - lost + 0.05 * (trial.seed % 7)


def record_of(trial: Trial, plan: Plan, seconds: float) -> Record:
    level = points(trial)
    scores: dict[str, Any] = {task: {"spearman_wmean": level} for task in GROUPS["sts"] if task != "STSBenchmark"}
    scores["STSBenchmark"] = {"dev_spearman_cosine": level, "spearman_cosine": level}
    return made_record(
        dict(trial.recipe.flat()),
        trial.recipe_hash,
        trial.seed,
        scores=scores,
        protocol=plan.evaluation.protocol,
        versions=dict(VERSIONS),
        data={**DATA, "senteval": {"source": "scenes", "fingerprint": min(plan.scoring.data)}},
        hardware="2 cores",
        training={"steps": 90, "tokens": 50_000},
        cost={"seconds": seconds, "train_seconds": 0.5 * seconds},
    )


class Study:
    """One on disk, that can be begun again."""

    fails = ""
    """What is called so fails; empty where nothing does."""

    def __init__(self, results: Path, *arguments: str) -> None:
        plan, self.ledger, _ = make(results, *arguments)
        self.results = results
        self.plan = continued(plan)
        self.info = prepare_results(self.plan, "")
        self.searcher = searcher_of(self.plan, self.ledger)

    def outcome(self, trial: Trial) -> Record | None:
        return None if self.fails and self.fails in trial.name else record_of(trial, self.plan, 60.0)

    def run(self, most: int = 1000) -> list[Trial]:
        """All that it hands out, one after another."""
        ran: list[Trial] = []
        while len(ran) < most and isinstance(task := self.searcher.suggest(f"t{len(ran)}"), dict):
            for trial in task["trials"]:
                ran.append(trial)
                record = self.outcome(trial)
                self.searcher.settle(trial.key, write_trial(self.results, record) if record else None)
        save_info(self.plan, self.info, self.searcher.explored, self.searcher.finals)
        return ran


def parts(trials: list[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.part]


def curve_of(study: Study) -> LearningCurve:
    finals = StudyInfo.load(study.results).finals
    return finals.curve


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, list[Trial], int]:
    """A study with a learning curve, its trials, and how many it had foretold."""
    study = Study(tmp_path_factory.mktemp("whole"), *CURVE)
    foretold = study.searcher.agenda.remaining
    return study, study.run(), foretold


@pytest.mark.slow
def test_what_the_answer_says_to_use_is_trained_on_parts_last(whole: tuple[Study, list[Trial], int]) -> None:
    study, ran, foretold = whole
    assert len(ran) == foretold == len(study.plan.fixed_trials()) + 4 + FINALS + 3 * SEEDS
    assert study.searcher.agenda.remaining == 0
    trained = parts(ran)
    assert trained == ran[-3 * SEEDS :]
    assert [(trial.recipe.flat()["corpus.share"], trial.seed) for trial in trained] == [
        (share, seed) for share in (0.5, 0.25, 0.125) for seed in fresh_seeds(SEEDS)
    ]
    answer = Answer.of(Results.load(study.results))
    curve = curve_of(study)
    assert curve.whole == answer.to_train.recipe
    assert curve.parts == {name: trained[SEEDS * index].recipe_hash for index, name in enumerate(CURVE_SHARES)}
    used = next(trial.recipe for trial in ran if trial.recipe_hash == curve.whole)
    assert {trial.recipe.override({"corpus.share": 1.0}) for trial in trained} == {used}
    assert {trial.name for trial in trained} == {f"{name} of the data: {answer.to_train.name}" for name in CURVE_SHARES}


def test_the_report_reads_it(whole: tuple[Study, list[Trial], int]) -> None:
    data = Answer.of(Results.load(whole[0].results)).data
    assert data.trials.done == data.trials.planned == 3 * SEEDS
    for part in data.parts[1:]:
        assert part.gain.gain == pytest.approx(1.0, abs=0.2)


def test_no_choice_hears_of_it(whole: tuple[Study, list[Trial], int], tmp_path: Path) -> None:
    study, ran, _ = whole
    without = Study(tmp_path, *WITHOUT)
    alone = without.run()
    assert [trial.key for trial in alone] == [trial.key for trial in ran if not trial.part]
    assert [trial.value for trial in study.searcher.explorer.ask_tell.study.get_trials()] == [
        trial.value for trial in without.searcher.explorer.ask_tell.study.get_trials()
    ]
    again = Study(study.results, *CURVE)
    assert (again.run(), again.searcher.agenda.remaining) == ([], 0)


@pytest.mark.parametrize("left", [1, slow_case(5), slow_case(9), 10])
def test_killed_anywhere_it_ends_as_if_it_were_not(
    left: int, whole: tuple[Study, list[Trial], int], tmp_path: Path
) -> None:
    """In the curve, at its beginning, and before the last trial of the finals, which may change what it is of."""
    ran = whole[1]
    first = Study(tmp_path, *CURVE).run(most=len(ran) - left)
    second = Study(tmp_path, *CURVE).run()
    assert [trial.key for trial in [*first, *second]] == [trial.key for trial in ran]


@pytest.mark.slow
def test_a_study_that_is_done_goes_on_with_it(whole: tuple[Study, list[Trial], int], tmp_path: Path) -> None:
    alone = Study(tmp_path, *WITHOUT)
    alone.run()
    assert parts([*alone.searcher.agenda.waiting()]) == []
    more = Study(tmp_path, *CURVE).run()
    assert [trial.key for trial in more] == [trial.key for trial in parts(whole[1])]
    later = Study(tmp_path, *WITHOUT)  # the study keeps it, also where a command does not say it again
    assert later.run() == []
    assert curve_of(later).parts


@pytest.mark.slow
def test_more_seeds_of_the_finals_are_more_of_the_curve(tmp_path: Path) -> None:
    Study(tmp_path, *CURVE).run()
    arguments = [*CURVE]
    arguments[arguments.index("1x3")] = "1x4"
    more = Study(tmp_path, *arguments).run()
    assert [trial.seed for trial in parts(more)] == [fresh_seeds(4)[-1]] * 3


def test_it_waits_for_what_runs_and_for_what_failed(tmp_path: Path) -> None:
    study = Study(tmp_path, *CURVE)
    fixed = len(study.plan.fixed_trials())
    study.run(most=fixed + 4 + FINALS - 1)
    last = study.searcher.suggest("last")
    assert study.searcher.suggest("wait") is None
    assert study.searcher.agenda.remaining == 1 + 3 * SEEDS
    study.searcher.settle(last["trials"][0].key, None)
    assert study.run() == []
    assert study.searcher.agenda.remaining == 0
    assert curve_of(study) == LearningCurve()
    again = Study(tmp_path, *CURVE).run()
    assert [trial.part for trial in again] == [False, *[True] * 3 * SEEDS]


@pytest.mark.slow
def test_a_part_that_failed_is_tried_again_in_the_next_run(tmp_path: Path) -> None:
    study = Study(tmp_path, *CURVE)
    study.fails = "1/4 of the data"
    study.run()
    again = Study(tmp_path, *CURVE).run()
    assert {trial.recipe.flat()["corpus.share"] for trial in again} == {0.25}
    assert len(again) == SEEDS


@pytest.mark.slow
def test_a_part_that_is_too_small_for_the_recipe_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A batch has 160 of the 400 pairs."""
    data = tmp_path / "nli.csv"
    rows = [f"premise {n // 2},hypothesis {n},{'entailment' if n % 2 else 'contradiction'}" for n in range(400)]
    data.write_text("premise,hypothesis,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    more = ("--nli", str(data), "--only", "*-SCL", "--set", "optimisation.batch_size=160")
    arguments = (*CURVE[:2], *more, *CURVE[2:])
    study = Study(tmp_path / "results", *arguments)
    ran = study.run()
    assert {trial.recipe.flat()["corpus.share"] for trial in parts(ran)} == {0.5}
    curve = curve_of(study)
    assert [name for name, part in curve.parts.items() if part is None] == ["1/4", "1/8"]
    text = capsys.readouterr().out
    assert "the learning curve has no 1/4 of the data: optimisation.batch_size=160 is more than corpus.nli=" in text
    assert " on 1/2 of its data" in text


@pytest.mark.slow
def test_where_the_encoder_is_kept_as_it_came_nothing_is_trained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = points
    monkeypatch.setattr(f"{__name__}.points", lambda trial: usual(trial) - 30.0 if trial.recipe.trains else 60.0)
    study = Study(tmp_path, *CURVE)
    assert parts(study.run()) == []
    assert study.searcher.agenda.remaining == 0
    text = capsys.readouterr().out
    assert "no learning curve: the answer is to keep the original encoder, so there is nothing to train" in text


def test_its_models_are_not_kept(whole: tuple[Study, list[Trial], int]) -> None:
    study, ran, _ = whole
    models = ModelsKept("all", study.searcher.goals)
    kept = [to_run(trial, study.plan, ALLOTMENT, models, False, "") for trial in ran]
    assert [trial.saves_model for trial in kept] == [not trial.part for trial in ran]
    assert all(trial.evaluation == study.plan.evaluation for trial in kept if trial.part)


class TestLimit:
    @pytest.mark.slow
    def test_room_is_kept_for_it_as_whole_trainings(self, tmp_path: Path) -> None:
        """Nine trials of 1/2, 1/4 and 1/8 should cost as much as three; here each takes as long as a whole one."""
        limit = ("--limit", "worker_hours=0.7")
        arguments = [*CURVE, *limit]
        arguments[arguments.index("4")] = "30"
        study = Study(tmp_path, *arguments)
        ran = study.run()
        assert study.searcher.agenda.limited
        explored = len([trial for trial in ran if not is_fresh(trial.seed)])
        fresh = [trial for trial in ran if is_fresh(trial.seed)]
        assert len(ran) == 42
        assert [trial.part for trial in fresh[:FINALS]] == [False] * FINALS
        assert explored == 42 - FINALS - 3
        assert [trial.recipe.flat()["corpus.share"] for trial in parts(ran)] == [0.5] * 3


class TestAsked:
    @pytest.mark.parametrize("more", [(), ("--search", "optuna", "--finals", "none")])
    def test_it_needs_finals(self, more: tuple[str, ...]) -> None:
        with pytest.raises(UserError, match="--learning-curve trains what the finals of a search say to use"):
            parse(["--space", "scl_tau", "--learning-curve", *more])

    def test_data_that_cannot_be_cut_are_refused(self, tmp_path: Path) -> None:
        space = ("--space", "clsr_main", "--set", "corpus.layout=similar_pairs")
        plan, *_ = make(tmp_path, *space, *CURVE[2:])
        with pytest.raises(UserError, match=r"corpus\.layout=similar_pairs has none \(corpus\.share\); leave it out"):
            check_plan(plan)

    def test_a_dry_run_counts_it(self, tmp_path: Path) -> None:
        plan, *_ = make(tmp_path, *CURVE)
        text = preview(plan, CLUSTER, ALLOTMENT)
        assert f"then the finals, up to {FINALS + 3 * SEEDS} trials: 1 recipe x 3 fresh seeds" in text
        assert "SBERT baseline (3); a learning curve of 9\n" in text
