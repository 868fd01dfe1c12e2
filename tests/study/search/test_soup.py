"""Which averages of the finals' models are scored, and when: with a ledger on disk and no Ray cluster."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import pytest

from reports.facts.answer import Answer
from reports.facts.results import Results
from reports.ledger import Record, StudyInfo, fresh_seeds, is_fresh, is_soup, split_key
from reports.ledger.finals import SOUP_SHARES, SoupVariant
from reports.testing import write_trial
from study.engine.launch import _drop_models, to_run
from study.engine.models_kept import ModelsKept
from study.plan import Plan
from study.search.after_finals import _averages, plan_soups
from study.trial import Trial
from tests.conftest import slow_case
from tests.study.plans import ALLOTMENT
from tests.study.search.test_learning_curve import SEARCH, SEEDS, points, record_of
from tests.study.search.test_learning_curve import Study as CurveStudy

SOUPS = ("--finals", f"1x{SEEDS}", "--soup", "seeds")
BEST = 0.5
"""The share of training whose soup is best here."""


def saved(trial: Trial, plan: Plan, seconds: float = 60.0) -> Record:
    """Its record, with a model; a soup is a point better than its recipe, and best at `BEST`."""
    record = record_of(trial, plan, seconds)
    if trial.averaged:
        variant = SoupVariant.of(trial.seed)
        lost = 0.1 * (variant.without is not None)
        level = points(dataclasses.replace(trial, seed=0)) + 1.0 - 8 * abs(variant.share - BEST) - lost
        scores = {
            task: {name: level if isinstance(value, float) else value for name, value in numbers.items()}
            for task, numbers in record.scores.items()
        }
        record = dataclasses.replace(
            record, evaluations=[dataclasses.replace(each, scores=scores) for each in record.evaluations]
        )
        record = dataclasses.replace(
            record, data={**record.data, "averaged": {"models": [*trial.averaged], "share": variant.share}}
        )
    return dataclasses.replace(record, checkpoint=f"models/{trial.key}" if to_save(trial) else None)


def to_save(trial: Trial) -> bool:
    return trial.trains or (bool(trial.averaged) and SoupVariant.of(trial.seed).without is None)


class Study(CurveStudy):
    """With soups."""

    of_finals = 60.0
    """Seconds of one of their trainings; all else takes 60."""

    def __init__(self, results: Path, *arguments: str) -> None:
        super().__init__(results, *SEARCH, *SOUPS, *arguments)

    def outcome(self, trial: Trial) -> Record:
        return saved(trial, self.plan, self.of_finals if is_fresh(trial.seed) and trial.trains else 60.0)


def soups(trials: list[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.averaged]


WHOLE = [SoupVariant(share).seed for share in SOUP_SHARES]
LEFT_OUT = [SoupVariant(BEST, seed).seed for seed in fresh_seeds(SEEDS)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, list[Trial], int]:
    study = Study(tmp_path_factory.mktemp("whole"), "--learning-curve")
    foretold = study.searcher.agenda.remaining
    return study, study.run(), foretold


def test_each_share_and_then_the_chosen_one_without_each_seed(whole: tuple[Study, list[Trial], int]) -> None:
    study, ran, foretold = whole
    assert len(ran) == foretold
    answer = Answer.of(Results.load(study.results))
    made = soups(ran)
    assert [trial.seed for trial in made] == WHOLE + LEFT_OUT
    assert {trial.recipe_hash for trial in made} == {answer.to_train.recipe}
    models = [f"{answer.to_train.recipe}-{seed}" for seed in fresh_seeds(SEEDS)]
    assert [trial.averaged for trial in made[: len(WHOLE)]] == [tuple(models)] * len(WHOLE)
    for index, trial in enumerate(made[len(WHOLE) :]):
        assert trial.averaged == tuple(key for key in models if key != models[index])
    assert all(trial.part for trial in ran[ran.index(made[-1]) + 1 :])


def test_the_answer_ships_it(whole: tuple[Study, list[Trial], int]) -> None:
    answer = Answer.of(Results.load(whole[0].results))
    ship = answer.ship
    assert (ship.share, ship.seeds) == (BEST, SEEDS)
    assert ship.over_seed.gain == pytest.approx(1.0, abs=0.3)
    assert ship.over_seed.low < ship.over_seed.gain < ship.over_seed.high
    assert ship.averaged == f"models/{answer.to_train.recipe}-{SoupVariant(BEST).seed}"


@pytest.mark.slow
def test_a_last_round_that_a_limit_leaves_out_does_not_end_it(tmp_path: Path) -> None:
    """What is left is too little for another training, and enough to score."""
    study = Study(tmp_path, "--limit", f"worker_hours={26 / 60}")
    study.of_finals = 110.0
    ran = study.run()
    rounds = [trial.seed for trial in ran if is_fresh(trial.seed) and trial.trains]
    assert 2 <= len({*rounds}) < SEEDS
    assert len(soups(ran)) >= 1
    assert sum(110 if is_fresh(trial.seed) and trial.trains else 60 for trial in ran) <= 26 * 60


def test_no_choice_hears_of_it(whole: tuple[Study, list[Trial], int], tmp_path: Path) -> None:
    without = Study(tmp_path, "--learning-curve", "--soup", "none")
    assert [trial.key for trial in without.run()] == [trial.key for trial in whole[1] if not trial.averaged]
    assert Answer.of(Results.load(tmp_path)).ship is None


@pytest.mark.parametrize("more", [len(WHOLE) + 1, *map(slow_case, (0, 2, len(WHOLE)))])
def test_a_study_that_was_killed_goes_on_with_what_is_left(
    more: int, whole: tuple[Study, list[Trial], int], tmp_path: Path
) -> None:
    ran = whole[1]
    study = Study(tmp_path, "--learning-curve")
    begun = study.run(ran.index(soups(ran)[0]) + more)
    models = {record.key for record in study.ledger.read() if record.checkpoint}
    assert dropped(study) == models  # not before all is scored
    rest = Study(tmp_path).run()
    assert [trial.key for trial in [*begun, *rest]] == [trial.key for trial in ran]


def dropped(study: Study) -> set[str]:
    """Drop the models that are not needed any more; returns those that are left."""
    vars(study.plan)["ledger"] = study.ledger  # where made-up records are done, whatever data they name
    _drop_models(study.searcher)
    return {record.key for record in study.ledger.read() if record.checkpoint}


@pytest.mark.slow
def test_models_go_once_all_is_scored_and_a_finished_study_stays_as_it_is(
    whole: tuple[Study, list[Trial], int], tmp_path: Path
) -> None:
    shutil.copytree(whole[0].results, tmp_path, dirs_exist_ok=True)
    study, ran = Study(tmp_path), whole[1]
    assert study.run() == []
    before = Answer.of(Results.load(tmp_path)).ship
    left = dropped(study)
    recipe = soups(ran)[0].recipe_hash
    assert f"{recipe}-{SoupVariant(BEST).seed}" in left
    fresh = [key for key in left if not is_soup(split_key(key)[1]) and is_fresh(split_key(key)[1])]
    assert len({split_key(key)[0] for key in fresh}) == len(fresh) > 1
    again = Study(tmp_path)
    assert again.run() == []
    assert dropped(again) == left
    after = Answer.of(Results.load(tmp_path)).ship
    assert after == before
    more = Study(tmp_path, "--finals", "1x5")
    assert [trial for trial in more.run() if trial.averaged] == []
    assert Answer.of(Results.load(tmp_path)).ship.seeds == SEEDS
    assert f"{recipe}-{SoupVariant(BEST).seed}" in dropped(more)


def test_what_has_no_average(whole: tuple[Study, list[Trial], int], tmp_path: Path) -> None:
    shutil.copytree(whole[0].results, tmp_path, dirs_exist_ok=True)
    study, ran = Study(tmp_path), whole[1]
    StudyInfo.load(whole[0].results).save(tmp_path)
    recipes = [trial.recipe for trial in ran if not trial.part]
    for trial in soups(ran):
        (tmp_path / "ledger" / f"{trial.key}.json").unlink()
    assert len(plan_soups(Results.load(tmp_path), recipes)) == len(WHOLE)
    lost = next(trial for trial in ran if trial.key in soups(ran)[0].averaged)
    write_trial(tmp_path, dataclasses.replace(saved(lost, study.plan), checkpoint=None))
    assert plan_soups(Results.load(tmp_path), recipes) == []
    assert not _averages(recipes[-1].preferring({"encoder.adapter": "mlp"}))
    assert not _averages(recipes[-1].preferring({"optimisation.epochs": 0}))


def test_it_runs_on_one_worker_and_a_soup_that_lacks_a_seed_saves_no_model(
    whole: tuple[Study, list[Trial], int],
) -> None:
    study, ran, _ = whole
    models = ModelsKept("rows", study.searcher.goals, averages=True)
    plan = [to_run(trial, study.plan, ALLOTMENT, models, False, "") for trial in soups(ran)]
    assert [trial.saves_model for trial in plan] == [True] * len(WHOLE) + [False] * SEEDS
    assert all(study.searcher.populations.key(trial) is None for trial in plan)


def test_the_numbers_of_soups_are_their_own() -> None:
    variants = [SoupVariant(share, seed) for share in SOUP_SHARES for seed in (None, *fresh_seeds(7))]
    numbers = [variant.seed for variant in variants]
    assert len({*numbers}) == len(numbers)
    assert all(
        is_soup(number) and SoupVariant.of(number) == variant for number, variant in zip(numbers, variants, strict=True)
    )
    assert not any(is_soup(seed) for seed in fresh_seeds(100))
