"""How long the rest of a study takes, as it is said while trials run side by side."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from study.callbacks.eta import TimeLeft, TrainingGroup
from study.search.budget import Budget, makespan
from study.trial import Trial
from tests.simulated_study import Machine, Study, planned, record_of, simulate


def drawn(low: float, high: float, what: str) -> Callable[[Trial], float]:
    """Seconds, the same for all seeds of a recipe."""
    return lambda trial: random.Random(f"{what}{trial.name}").uniform(low, high)


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
    wrong = [
        f"at {at:.0f} of {whole:.0f} s: {seconds}"
        for at, seconds in forecasts
        if at > whole / 3 and (seconds is None or abs(seconds - (whole - at)) > max(0.2 * (whole - at), 0.03 * whole))
    ]
    assert wrong == []


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
    wrong = [
        f"at {at:.0f} of {whole:.0f} s: {seconds}"
        for at, seconds in forecasts
        if at > whole / 3 and (seconds is None or abs(seconds - (whole - at)) > 0.2 * whole)
    ]
    assert wrong == []


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
    assert rough.seconds is not None
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
    assert times.forecast(0.0, [(TrainingGroup(0.0, 1), "a")], []).seconds is None
    times = TimeLeft([record_of(trial, 100, 20)], 2)
    times.know_hardware(trial.resources.hardware)
    assert times.forecast(30.0, [(TrainingGroup(0.0, 1), "a")], []).seconds == 90.0


def test_a_resumed_training_counts_by_the_steps_of_this_process() -> None:
    group = TrainingGroup(100.0, 1)
    group.stepped(110.0, 900, 1000)  # its first step here took long: the checkpoint was read
    group.stepped(112.0, 910, 1000)
    assert group.training_left(112.0) == pytest.approx(18.0)
    assert group.training_left(130.0) == 0.0


def test_trials_are_laid_out_on_places_as_they_get_free() -> None:
    assert makespan([], 3) == 0
    assert makespan([10] * 5, 2) == 30
    assert makespan([10, 10, 1, 1], 2) == 11
    assert makespan([10, 10], 2, busy=[5, 1]) == 15
    assert makespan([10], 2, busy=[5]) == 10
