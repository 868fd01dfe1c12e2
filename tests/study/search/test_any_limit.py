"""Whatever the limit and the pace, a study comes to an answer in time, and runs nothing that cannot change it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from reports.ledger import is_fresh
from study.search.agenda import Agenda
from study.testing.agenda import SimulatedTrial, drive
from tests.conftest import slow_case
from tests.study.search.test_agenda import BASE, MINUTE, RATES, agenda, outcome, quality, seeds
from trainables.recipe import Recipe

LIMITS, PACES, PLACES = (1, 2, 5, 10, 30, 90, 300), (10, 30, 90, 300, 1200), (1, 2, 8)
"""Minutes, seconds of a training with the base settings, and trials that run at once."""
WORSE = [1e-5 / number for number in range(1, 40)]
"""Learning rates that are all below the base settings."""
QUICK = {(1, 10, 1), (1, 10, 8), (5, 90, 2), (10, 300, 8), (30, 300, 2), (90, 1200, 2), (300, 1200, 1)}


def ran_in(minutes: float, pace: float, places: int, rates: Sequence[float]) -> tuple[Agenda, list[SimulatedTrial]]:
    """What ran in that time, each trial once; starts and scores take a tenth of a training, and a second."""
    study, clock, _ = agenda(minutes, rates, places)
    ran = drive(study, clock, outcome(pace, scoring=1.0, begin=0.1 * pace))
    assert clock.seconds <= minutes * MINUTE
    assert len({run.trial.key for run in ran}) == len(ran)
    return study, ran


def explored(ran: Sequence[SimulatedTrial]) -> set[str]:
    """Names of the recipes that were tried on all of the data or a part, the base aside."""
    ended = [run.trial for run in ran if run.record is not None and not run.trial.row and not is_fresh(run.trial.seed)]
    return {trial.name.rpartition(": ")[2] for trial in ended} - {"base settings"}


def compared(ran: Sequence[SimulatedTrial], recipe: Recipe) -> bool:
    return any(run.trial.recipe == recipe and not run.trial.part and run.record is not None for run in ran)


@pytest.mark.parametrize(
    ("minutes", "pace", "places"),
    [slow_case(*case, when=case not in QUICK) for case in itertools.product(LIMITS, PACES, PLACES)],
)
def test_a_limit_ends_with_an_answer(minutes: float, pace: float, places: int) -> None:
    study, ran = ran_in(minutes, pace, places, RATES[:60])
    trainings = minutes * MINUTE / (1.1 * pace + 1)  # one after another
    if trainings < 1.4:
        return
    assert compared(ran, BASE)
    if study.finals is None:
        assert trainings < {1: 3.8, 2: 2.4}.get(places, 1.7)
        return
    (pick,) = study.finalists or ()
    assert quality(pick.recipe) > quality(BASE)
    assert len(explored(ran)) >= 3
    assert 1 <= seeds(ran, pick.recipe) == seeds(ran, BASE) >= study.finals.seeds - 1


@pytest.mark.parametrize(("minutes", "pace", "places"), [(10, 30, 1), (30, 90, 2), (30, 300, 8)])
def test_no_finals_of_a_recipe_below_the_base_settings(minutes: float, pace: float, places: int) -> None:
    """Neither is one promoted."""
    study, ran = ran_in(minutes, pace, places, WORSE)
    assert study.finalists == []
    assert {run.trial.recipe.optimisation.learning_rate for run in ran if is_fresh(run.trial.seed)} == {
        BASE.optimisation.learning_rate
    }
    wholes = [run.trial for run in ran if run.trial.recipe.trains and run.trial.recipe.flat()["corpus.share"] > 0.125]
    assert {trial.recipe.optimisation.learning_rate for trial in wholes} == {BASE.optimisation.learning_rate}
    assert len(explored(ran)) >= 3
