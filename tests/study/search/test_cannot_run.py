"""A search asks for no recipe that these data, a part of them, or this encoder cannot train."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from reports.ledger import Record
from reports.ledger.finals import PART_SEED
from reports.ledger.record import LEFT_OUT
from reports.testing import made_record
from study.plan import Plan
from study.results_folder.prepare import prepare_results
from study.search.agenda import Agenda
from study.search.budget import Budget
from study.search.explorer import OptunaExplorer
from study.testing.agenda import SimulatedClock, SimulatedTrial, drive
from study.trial import Trial
from tests.conftest import slow_case
from tests.study.own.test_study import write
from tests.study.plans import plan_of
from trainables.senteval.tasks import TASKS
from trainables.trial import check_recipes

pytestmark = pytest.mark.usefixtures("own_folder")

LIMITED = ("--encoder", "scenes-small", "--limit", "minutes=60", "--sampler", "random")
NOTHING_MINED = "corpus.negatives_from=mined finds no negative for any anchor"


def searched_by(*arguments: str, steps: int = 8) -> tuple[Plan, list[SimulatedTrial]]:
    """A study on simulated time in which a recipe that its data cannot train ends it, and nothing can be mined.
    `steps`: of a training on an eighth of the data."""
    plan = plan_of(*arguments, *LIMITED)
    prepare_results(plan, "")
    clock = SimulatedClock()

    def outcome(trial: Trial) -> tuple[float, Record]:
        check_recipes([trial.recipe], plan.evaluation)
        flat = trial.recipe.flat()
        cost = {"seconds": 60.0, "train_seconds": 50.0}
        record = made_record(flat, trial.recipe_hash, trial.seed, scores=scores(plan, trial), cost=cost)
        record = dataclasses.replace(record, training={**record.training, "planned_steps": steps})
        if flat.get("corpus.negatives_from") == "mined":
            training = {**record.training, "stopped": LEFT_OUT + NOTHING_MINED}
            record = dataclasses.replace(record, status="pruned", evaluations=[], cost={}, training=training)
        return 60.0, record

    return plan, drive(Agenda(plan.design, Budget(plan.limits, clock=clock), (), OptunaExplorer(plan)), clock, outcome)


def scores(plan: Plan, trial: Trial) -> dict[str, dict[str, float]]:
    """Whatever trains gains, or recipes would begin on half of the data."""
    (goal,) = plan.space.searched_goals
    return {task: {TASKS[task].development: 50.0 if trial.recipe.trains else 40.0} for task in goal.tasks}


@pytest.mark.parametrize(
    ("kind", "rows", "batches"),
    [slow_case("pairs", 1600, {16, 32, 64, 128}), slow_case("labelled", 700, {16, 32, 64}), ("pairs", 160, {16, 32})],
)
def test_no_recipe_is_asked_for_that_has_no_batch_in_its_part(kind: str, rows: int, batches: set[int]) -> None:
    """In an eighth of the data there is no batch of the largest, or none with four texts of a label; the smallest data
    have no part."""
    plan, ran = searched_by("--train", write(kind, rows))
    (offered,) = [domain.choices for domain in plan.space.domains if domain.key == "optimisation.batch_size"]
    explored = [each.trial.recipe for each in ran if not each.trial.row]
    assert plan.design.allows_parts == any(each.trial.seed == PART_SEED for each in ran) == (rows > 160)
    assert {recipe.optimisation.batch_size for recipe in explored} == batches <= {*offered}
    assert len(explored) > 30


@pytest.mark.slow
def test_what_has_a_batch_in_the_part_that_recipes_begin_on_is_asked_for() -> None:
    """A quarter, where an eighth has too few steps to tell anything."""
    plan, ran = searched_by("--train", write("pairs", 1600), steps=2)
    explored = [each.trial.recipe for each in ran if each.trial.seed == PART_SEED and each.trial.name[:3] == "1/4"]
    assert 256 in {recipe.optimisation.batch_size for recipe in explored}
    assert plan.base.optimisation.batch_size < 256


@pytest.mark.slow
def test_a_value_that_a_training_told_of_is_not_asked_for_again() -> None:
    _, ran = searched_by("--train", write("pairs", 1600))
    mined = [each for each in ran if each.trial.recipe.flat().get("corpus.negatives_from") == "mined"]
    assert 1 <= len(mined) <= 2  # as many as run at once
    assert all(each.record is not None and each.record.unsuited == NOTHING_MINED for each in mined)
    layouts = Counter(each.trial.recipe.corpus.layout for each in ran)
    assert layouts["pairs"] > 25
