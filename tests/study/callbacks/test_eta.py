"""How long the rest of a study takes, as it is said while trials run side by side."""

from __future__ import annotations

import dataclasses
import functools
import math
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from reports.ledger import STAGES, StageTime
from study.callbacks.eta import TimeLeft, TrainingGroup
from study.search.agenda import Agenda
from study.search.budget import Budget, makespan
from study.search.finals import SearchFinals
from study.search.outlook import Outlook, outlook
from study.testing.callbacks import study_state, trial
from study.trial import Trial
from tests.conftest import slow_case
from tests.simulated_search import follow
from tests.simulated_study import Machine, Study, planned, record_of, simulate
from tests.study.search.test_agenda import BASE, RATES, agenda, as_it_came, outcome

FINALS = SearchFinals(2, 10, BASE, {as_it_came(BASE).hash: "untrained", BASE.hash: "base"})


def drawn(low: float, high: float, what: str) -> Callable[[Trial], float]:
    """Seconds, the same for all seeds of a recipe."""
    return lambda trial: random.Random(f"{what}{trial.name}").uniform(low, high)


def wrong(forecasts: Iterable[tuple[float, float | None]], whole: float, bound: Callable[[float], float]) -> list[str]:
    """What is said after the first third, and is wrong by more than the bound of what is left."""
    return [
        f"at {at:.0f} of {whole:.0f} s: {seconds}"
        for at, seconds in forecasts
        if at > whole / 3 and (seconds is None or abs(seconds - (whole - at)) > bound(whole - at))
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("machine", "rows", "seeds", "training", "scoring"),
    [
        pytest.param(Machine(1), 12, 1, (20, 20), (10, 10), id="one after another"),
        pytest.param(Machine(2), 12, 2, (20, 20), (10, 10), id="two places"),
        pytest.param(Machine(4), 15, 3, (25, 45), (5, 15), id="four places, recipes of unequal length"),
        pytest.param(Machine(3), 10, 1, (40, 40), (20, 20), id="a last round that is not full"),
        pytest.param(Machine(4, elsewhere=True), 40, 1, (20, 40), (10, 20), id="scored beside the next training"),
        pytest.param(Machine(2, between=1.0), 200, 1, (0.1, 0.2), (0.1, 0.2), id="no work between the starts"),
        pytest.param(Machine(2, together=6), 24, 2, (3, 3), (4, 4), id="populations"),
    ],
)
def test_it_is_right_from_the_first_third_on(
    machine: Machine,
    rows: int,
    seeds: int,
    training: tuple[float, float],
    scoring: tuple[float, float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = Study(tmp_path, monkeypatch, planned(rows, seeds), machine.places)
    course = study.begin()
    forecasts = [
        (at, course.forecast().seconds)
        for at in simulate(study, course, machine, drawn(*training, "training"), drawn(*scoring, "scoring"))
    ]
    whole = study.now - 1000
    assert course.ended == rows * seeds
    assert wrong(forecasts, whole, lambda left: max(0.2 * left, 0.03 * whole)) == []


SEARCHES: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "20 minutes, one place": ({"minutes": 20, "places": 1}, {}),
    "20 minutes, two places": ({"minutes": 20}, {}),
    "60 minutes, four places": ({"minutes": 60, "places": 4}, {}),
    "30 minutes, epochs differ": ({"minutes": 30, "epochs": (1, 2, 1, 3)}, {"whole": 60.0}),
    "120 minutes, slow to begin": ({"minutes": 120}, {"begin": 30.0}),
    "8 minutes, room for two trainings": ({"minutes": 8, "places": 1}, {}),
    "2 minutes, short trainings": ({"minutes": 2, "epochs": (1, 3)}, {"whole": 9.0, "scoring": 2.0}),
    "12 recipes": ({"rates": RATES[:12]}, {}),
    "30 recipes, epochs differ": ({"rates": RATES[:30], "places": 4, "epochs": (1, 2, 1, 3)}, {}),
    "6 recipes, large finals": ({"rates": RATES[:6], "places": 3, "finals": FINALS}, {}),
    "20 recipes, scoring takes longer": ({"rates": RATES[:20]}, {"whole": 60.0, "scoring": 120.0}),
    "2 hours of workers": ({"limits": {"worker_hours": 2.0}}, {}),
    "2 hours, 12 recipes": ({"minutes": 120, "rates": RATES[:12]}, {}),
    "2 hours, 1 of workers": ({"minutes": 120, "limits": {"minutes": 120.0, "worker_hours": 1.0}}, {}),
    "3 minutes, short trainings that are slow to begin": (
        {"minutes": 3, "epochs": (1, 3)},
        {"whole": 9.0, "scoring": 2.0, "begin": 3.0},
    ),
    "6 minutes, the best takes ten times as long": (
        {"minutes": 6, "rates": [3e-4, 1e-4, 9e-4, 1e-3, *RATES[:30]], "epochs": (1, 3, 1, 10)},
        {"whole": 14.0, "scoring": 2.0},
    ),
    "6 minutes, all of the data are quicker than parts": (
        {"minutes": 6, "epochs": (1, 3)},
        {"whole": 24.0, "scoring": 2.0, "quicker": 0.5},
    ),
    "20 minutes, some parts are late": ({"minutes": 20, "epochs": (1, 3)}, {"late": 3.0}),
    "6 minutes, some parts are late": ({"minutes": 6, "epochs": (1, 3)}, {"whole": 24.0, "scoring": 2.0, "late": 3.0}),
    "6 minutes, the best has no room in the finals": (
        {"minutes": 6, "rates": [3e-4, 1e-4, 1e-3, 2e-5, *RATES[:30]], "epochs": (1, 3, 13, 3)},
        {"whole": 14.0, "scoring": 2.0},
    ),
    "90 minutes, 60 recipes that take longer than the base settings": (
        {"minutes": 90, "rates": RATES[:60], "epochs": (10, 1, 3, 3)},
        {"whole": 56.0, "scoring": 9.0},
    ),
    "60 minutes, recipes take three times as long": ({"minutes": 60, "epochs": (3,)}, {"whole": 56.0, "scoring": 9.0}),
}
"""What a search asks for, and what its trainings cost."""
QUICK = ("3 minutes", "6 minutes")
"""How those begin that soon have run."""


def wrong_by_a_third(
    name: str, results: Path, monkeypatch: pytest.MonkeyPatch, of: Callable[[Agenda], Outlook] = outlook
) -> list[str]:
    """What such a search says wrongly of its end at two looks in a row, from its first tenth on, and from when a
    training has ended; until then the limit is all that is known. `of`: what is thought to be ahead of it."""
    how, costs = SEARCHES[name]
    search, clock, _ = agenda(**how)
    monkeypatch.setattr("time.monotonic", lambda: clock.seconds)
    forecasts: list[tuple[float, float | None]] = []
    every = float(how.get("minutes", 20))
    for at, state in follow(search, clock, outcome(**costs), results, every=every):
        state.ahead = functools.partial(of, search)
        trained = any(record.recipe["optimisation.epochs"] for record in search.progress.done.values())
        forecasts += [(at, state.forecast().seconds)] * trained
    whole = clock.seconds
    late = [(at, seconds) for at, seconds in forecasts if at >= whole / 10]
    assert late[0][0] <= whole / 4
    misses = [
        seconds is None or abs(seconds - (whole - at)) > max((whole - at) / 3, 0.03 * whole) for at, seconds in late
    ]
    return [
        f"at {at:.0f} of {whole:.0f} s: {seconds}"
        for (at, seconds), *looks in zip(late[1:], misses, misses[1:], strict=False)
        if all(looks)
    ]


@pytest.mark.parametrize("name", [slow_case(name, when=not name.startswith(QUICK)) for name in SEARCHES])
def test_a_search_says_within_a_third_when_it_ends(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert wrong_by_a_third(name, tmp_path, monkeypatch) == []


@pytest.mark.parametrize("name", [name for name in SEARCHES if name.startswith(QUICK)])
def test_without_its_finals_it_would_be_wrong(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(search: Agenda) -> Outlook:
        return dataclasses.replace(outlook(search), rounds=())

    assert wrong_by_a_third(name, tmp_path, monkeypatch, without) != []


@pytest.mark.parametrize("name", ["20 minutes, two places", "60 minutes, recipes take three times as long"])
def test_stages_share_what_is_left_and_finals_begin_about_when_they_say(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    how, costs = SEARCHES[name]
    search, clock, _ = agenda(**how)
    monkeypatch.setattr("time.monotonic", lambda: clock.seconds)
    course: list[tuple[float, dict[str, StageTime]]] = []
    for at, state in follow(search, clock, outcome(**costs), tmp_path, every=20.0):
        stages = {stage.name: stage for stage in state.stages()}
        course += [(at, stages)] if stages else []
        assert [*stages] == [name for name in STAGES if name in stages]
        if stages:
            assert math.fsum(stage.left for stage in stages.values()) == pytest.approx(state.forecast().seconds, abs=1)
    begun = next(at for at, stages in course if stages["finals"].passed)
    assert [at for at, stages in course if at > begun and stages["search"].left] == []
    early = [(at, stages) for at, stages in course if begun / 2 <= at < begun]
    assert len(early) > 5
    assert [at for at, stages in early if abs(at + stages["search"].left - begun) > max((begun - at) / 3, 60.0)] == []


@pytest.mark.parametrize("machine", [Machine(1), Machine(3)], ids=["one place", "three places"])
def test_a_limit_ends_a_study_sooner(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for a dozen of 60 trials of about 30 s."""
    study = Study(tmp_path, monkeypatch, planned(60), machine.places)
    study.budget = Budget({"worker_hours": 12.5 * 30 / 3600})
    course = study.begin()
    forecasts = [
        (at, course.forecast().seconds)
        for at in simulate(study, course, machine, drawn(18, 22, "training"), drawn(9, 11, "scoring"))
    ]
    whole = study.now - 1000
    assert course.ended == 12
    assert (course.queued, course.coming) == (48, 0)
    assert wrong(forecasts, whole, lambda left: 0.2 * whole) == []


def test_a_limit_in_minutes_bounds_the_forecast_from_the_first_steps_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a trial has ended nothing says how many have room: 60 of 40 s on two places would take 20 minutes."""
    study = Study(tmp_path, monkeypatch, planned(60), 2)
    study.budget = Budget({"minutes": 5.0}, places=2, clock=lambda: study.now)
    course = study.begin()
    moments = simulate(study, course, Machine(2, start=0), lambda trial: 20.0, lambda trial: 20.0)
    forecasts = {at: course.forecast().seconds for at in moments}
    known = {at: seconds for at, seconds in forecasts.items() if seconds is not None}
    assert min(known) < 20
    assert all(seconds <= max(300 - at, 0) + 41 for at, seconds in known.items())  # what runs goes on to its end
    assert known[min(known)] > 250


def test_something_is_known_soon_and_more_where_an_earlier_run_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = planned(10)
    study = Study(tmp_path, monkeypatch, trials[1:], 2)
    course = study.begin()
    moments = iter(simulate(study, course, Machine(2, start=0), lambda trial: 100.0, lambda trial: 20.0))
    assert course.forecast().seconds is None
    while next(moments) < 10:
        pass
    rough = course.forecast()
    assert rough.seconds == pytest.approx(5 * 200 - 10, rel=0.05)  # scoring is thought to last as long as training
    assert "scoring is taken to last as long as training" in rough.how

    # One record of the same machine tells how long scoring takes.
    study = Study(tmp_path / "continued", monkeypatch, trials[1:], 2)
    study.ledger.write(record_of(trials[0], 100, 20))
    course = study.begin()
    moments = iter(simulate(study, course, Machine(2, start=0), lambda trial: 100.0, lambda trial: 20.0))
    while next(moments) < 10:
        pass
    assert course.forecast().seconds == pytest.approx(5 * 120 - 10, rel=0.05)
    assert course.forecast().how == "from 1 trial that ended and the steps of 2 trials that run"
    assert course.forecast().a_minute == pytest.approx(1.0, rel=0.05)


def test_records_of_another_machine_do_not_count() -> None:
    (trial,) = planned(1)
    times = TimeLeft([record_of(trial, 100, 20)], 2)
    times.know_hardware("8 GPUs")
    assert times.forecast(0.0, [(TrainingGroup(0.0, 1), "a")], Outlook()).seconds is None
    times = TimeLeft([record_of(trial, 100, 20)], 2)
    times.know_hardware(trial.resources.hardware)
    assert times.forecast(30.0, [(TrainingGroup(0.0, 1), "a")], Outlook()).seconds == 90.0


def test_a_first_step_says_less_than_an_earlier_trial_of_the_recipe() -> None:
    """Until it the training has begun, too: a model was loaded, and data were read."""
    (trial,) = planned(1)
    times, group = TimeLeft([record_of(trial, 100, 20)], 2), TrainingGroup(0.0, 1)
    times.know_hardware(trial.resources.hardware)
    group.pace.stepped(12.0, 1, 100)
    assert times.forecast(12.0, [(group, trial.recipe_hash)], Outlook()).seconds == 108.0
    group.pace.stepped(20.0, 11, 100)
    seconds = times.forecast(20.0, [(group, trial.recipe_hash)], Outlook()).seconds
    assert seconds == pytest.approx(0.8 * 89 + 20)


def test_a_resumed_training_counts_by_the_steps_of_this_process() -> None:
    group = TrainingGroup(100.0, 1)
    group.pace.stepped(110.0, 900, 1000)  # its first step here took long: the checkpoint was read
    group.pace.stepped(112.0, 910, 1000)
    assert group.training_left(112.0) == pytest.approx(18.0)
    assert group.training_left(130.0) == 0.0


def test_trials_are_laid_out_on_places_as_they_get_free() -> None:
    assert makespan([], 3) == 0
    assert makespan([10] * 5, 2) == 30
    assert makespan([10, 10, 1, 1], 2) == 11
    assert makespan([10, 10], 2, busy=[5, 1]) == 15
    assert makespan([10], 2, busy=[5]) == 10


def test_a_trial_is_trained_once_its_last_step_is_done(tmp_path: Path) -> None:
    state = study_state(tmp_path)
    (first, second) = trial(state, 0), trial(state, 1)
    state.started([first])
    for step, trained in ((0, False), (8, False), (9, True)):
        if step:
            state.step(first, step, 9, {})
        assert state.trained(first.key) == trained
    assert not state.trained(second.key)
    state.interrupted([first])
    state.started([first])
    assert not state.trained(first.key)
