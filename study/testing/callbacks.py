"""Tests that every callback and every tracker must pass. Tests of your own inherit them:

class TestMine(CallbackContract):
    @pytest.fixture
    def entry(self, monkeypatch: pytest.MonkeyPatch) -> CallbackEntry:
        monkeypatch.setenv("MY_SERVER", "...")  # switches the callback on
        return CALLBACKS["mine"]
"""

from __future__ import annotations

import copy
import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from reports.ledger import LEDGER, Ledger, Record
from reports.testing import made_record
from study.callbacks import Callback, CallbackEntry, StudyState
from study.cli.options import parse
from study.engine.messages import Event, Failed, NotStarted, Rung, Scored, Started, Step, TrialsInterrupted
from study.plan import decide, read_request
from study.results_folder.prepare import prepare_results
from study.trial import Resources, Trial

HARDWARE = "2 cores"
SCORES: dict[str, dict[str, Any]] = {
    **{f"STS{year}": {"spearman_wmean": 50.0 + year, "examples": 1000, "seconds": 1.5} for year in range(12, 17)},
    "MR": {"dev_accuracy": 70.0, "test_accuracy": 71.5, "ratio": float("nan")},
    "CR": {"reason": "no data"},
    "STSBenchmark": {"dev_spearman_cosine": 60.0, "test_spearman_cosine": 58.25},
}
MEASURED = {
    **{f"STS{year}/spearman_wmean": 50.0 + year for year in range(12, 17)},
    "MR/dev_accuracy": 70.0,
    "MR/test_accuracy": 71.5,
    "STSBenchmark/dev_spearman_cosine": 60.0,
    "STSBenchmark/test_spearman_cosine": 58.25,
    "average/liao_sts": 64.0,
    "development/selection": 65.0,
    "development/sts": 60.0,
    "development/transfer": 70.0,
    "training/negatives_per_anchor": 61.5,
    "training/steps": 90.0,
    "cost/seconds": 30.0,
    "cost/crew/busy": 9.0,
    "cost/crew/idle": 1.0,
}
"""The numbers that trackers store of a record with `SCORES`."""


def study_state(results: Path, space: str = "scl_tau", *arguments: str) -> StudyState:
    """Prepare a study in the folder, and return its state: two places, and four trials still to run."""
    command = ["--space", space, "--scale", "laptop", "--results", str(results), *arguments]
    plan = decide(read_request(parse(command)), 0)
    prepare_results(plan, HARDWARE)
    return StudyState(plan, Ledger(plan.results / LEDGER), 2, lambda: 4, lambda: ())


def trial(state: StudyState, number: int = 0, name: str | None = None) -> Trial:
    """Return one of the study's trials."""
    planned = state.plan.fixed_trials()[number]
    resources, evaluation = Resources(hardware=HARDWARE), state.plan.evaluation
    return dataclasses.replace(planned, name=name or planned.name, evaluation=evaluation, resources=resources)


def record(of: Trial, stopped: str | None = None) -> Record:
    """Return a made record of the trial. `stopped`: the reason why the trial was stopped early; None: it finished."""
    return made_record(
        of.recipe.flat(),
        of.recipe_hash,
        of.seed,
        status="pruned" if stopped else "finished",
        scores={} if stopped else SCORES,
        protocol=of.evaluation.protocol,
        training={"negatives_per_anchor": 61.5, "steps": 90, "stopped": stopped},
        cost={"seconds": 30.0, "crew": {"busy": 9.0, "idle": 1.0}},
    )


class Followed:
    """Sends events to a study's state, and then to one callback, as a study does."""

    def __init__(self, state: StudyState, callback: Callback | None) -> None:
        assert callback is not None, "nobody has asked for it; set in the fixture what does"
        self.state, self.callback = state, callback

    def started(self, trials: Sequence[Trial]) -> None:
        self._handle(Started(tuple(trial.key for trial in trials)), trials)

    def interrupted(self, trials: Sequence[Trial]) -> None:
        self._handle(TrialsInterrupted(tuple(trial.key for trial in trials)), trials)

    def not_started(self, trials: Sequence[Trial], starts: int, reason: str) -> None:
        self._handle(NotStarted(tuple(trial.key for trial in trials), reason, starts), trials)

    def step(self, trial: Trial, step: int, steps: int, scalars: Mapping[str, float]) -> None:
        self._handle(Step((trial.key,), step, steps, scalars), [trial])

    def rung(self, trial: Trial, number: int, scores: Mapping[str, float]) -> None:
        self._handle(Rung(trial.key, number, scores), [trial])

    def finished(self, trial: Trial, record: Record) -> None:
        self._handle(Scored(trial.key, record, None, None), [trial])

    def failed(self, trial: Trial, reason: str) -> None:
        self._handle(Failed(trial.key, reason), [trial])

    def tick(self) -> None:
        self.state.tick()
        self.callback.tick()

    def close(self) -> None:
        self.state.close()
        self.callback.close()

    def _handle(self, event: Event, trials: Sequence[Trial]) -> None:
        self.state.handle(event, trials)
        self.callback.handle(event, trials)


class CallbackContract:
    """Tests of a callback; they need a fixture `entry`."""

    def test_it_says_what_it_is(self, entry: CallbackEntry) -> None:
        assert entry.name
        assert entry.meaning

    def test_it_bears_whatever_happens(self, entry: CallbackEntry, tmp_path: Path) -> None:
        """Trials train together, are interrupted, are stopped, fail, end without having begun, and have any names. The
        callback writes nothing outside the results, and does not change its arguments."""
        state = study_state(tmp_path / "results")
        names = ["../../../out/\x1b[31m\n" + "x" * 300, "[red]%s{0}", "=1+1", "ärger 猫"]
        first, second, third, fourth = (trial(state, number, name) for number, name in enumerate(names))
        scalars, scores = {"loss": 2.0, "learning_rate": 1e-5}, {"sts": 61.5, "transfer": 70.0}
        whole = record(first)
        before = copy.deepcopy((first, scalars, scores, dataclasses.asdict(whole)["training"]))
        followed = Followed(state, entry.build(state))
        followed.tick()
        followed.started([first, second])
        for step in (0, 45, 90):
            followed.step(first, step, 90, scalars)
            followed.step(second, step, 90, {"loss": math.nan})
            followed.tick()
        followed.rung(first, 1, scores)
        followed.interrupted([first, second])
        followed.step(first, 50, 90, scalars)  # arrives late
        followed.not_started([first, second], 1, "ImportError: \x1b[31m" + "x" * 300)
        followed.tick()
        followed.started([first, second])
        followed.step(first, 45, 90, scalars)
        followed.finished(first, whole)
        followed.finished(second, record(second, stopped="stopped by asha\n"))
        followed.failed(third, "CUDA\nout of memory")
        followed.finished(fourth, Record(fourth.recipe.flat(), fourth.recipe_hash, fourth.seed))
        followed.tick()
        followed.close()
        assert before == (first, scalars, scores, dataclasses.asdict(whole)["training"])
        assert [path.name for path in tmp_path.iterdir()] == ["results"]

    def test_it_can_end_before_anything_happened(self, entry: CallbackEntry, tmp_path: Path) -> None:
        state = study_state(tmp_path / "results")
        Followed(state, entry.build(state)).close()


@dataclass
class TrackedRun:
    """A trial as a tracker stores it."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)
    points: dict[str, dict[int, float]] = field(default_factory=dict)
    """The values of each logged number, by name and by step."""
    finished: bool = True
    reason: str = ""
    """Why the run did not finish; empty if it did, or if the tracker stores no reason."""


class TrackerContract(CallbackContract):
    """Tests of a tracker. Besides `entry` they need a method `tracked`, which returns, by trial key, the runs that the
    tracker stored for a results folder."""

    def tracked(self, results: Path) -> Mapping[str, TrackedRun]:
        raise NotImplementedError

    def test_trials_have_their_recipe_curves_rungs_and_every_score(self, entry: CallbackEntry, tmp_path: Path) -> None:
        """Also of trials that run at the same time."""
        state = study_state(tmp_path / "results")
        specs = [trial(state, 0), trial(state, 1)]
        followed = Followed(state, entry.build(state))
        followed.started(specs)
        for step in (1, 45, 90):
            for number, spec in enumerate(specs):
                followed.step(spec, step, 90, {"loss": number + 1 / step, "learning_rate": 1e-5})
            followed.tick()
            if step == 45:
                followed.rung(specs[0], 1, {"sts": 61.5})
                followed.rung(specs[1], 1, {"sts": 61.5, "transfer": 80.0})
        for spec in specs:
            followed.finished(spec, record(spec))
        followed.close()

        runs = self.tracked(tmp_path / "results")
        assert set(runs) == {spec.key for spec in specs}
        for number, spec in enumerate(specs):
            run = runs[spec.key]
            assert run.name == f"{spec.name} seed {spec.seed}"
            assert (run.finished, run.reason) == (True, "")
            told_of = {**spec.recipe.flat(), **spec.evaluation.flat(), "label": spec.name, "seed": spec.seed}
            for key, value in told_of.items():
                assert _is_logged(run.parameters.get(key), value), key
            assert run.points.pop("train/loss") == pytest.approx({step: number + 1 / step for step in (1, 45, 90)})
            assert run.points.pop("train/learning_rate")[90] == pytest.approx(1e-5)
            assert run.points.pop("development/rung") == {45: 1}
            rungs = {"sts": 61.5, "transfer": 80.0} if number else {"": 61.5}
            for goal, score in rungs.items():
                assert run.points.pop(f"development/score/{goal}".rstrip("/")) == {45: score}
            assert run.points == {name: {90: pytest.approx(value)} for name, value in MEASURED.items()}

    def test_trials_that_were_stopped_failed_or_interrupted_say_why(self, entry: CallbackEntry, tmp_path: Path) -> None:
        state = study_state(tmp_path / "results")
        stopped, failed, cut = (trial(state, number) for number in range(3))
        followed = Followed(state, entry.build(state))
        followed.started([stopped, failed, cut])
        followed.finished(stopped, record(stopped, stopped="stopped by asha"))
        followed.failed(failed, "CUDA\nout of memory")
        followed.close()
        runs = {key: (run.finished, run.reason) for key, run in self.tracked(tmp_path / "results").items()}
        whole, why = runs.pop(cut.key)
        assert not whole
        assert why in ("", "the study was stopped; run it again to continue")
        assert runs == {stopped.key: (False, "stopped by asha"), failed.key: (False, "CUDA\\nout of memory")}

    def test_steps_that_are_repeated_are_told_once_also_where_the_study_is_run_again(
        self, entry: CallbackEntry, tmp_path: Path
    ) -> None:
        """The same trial of another study has a run of its own."""
        state = study_state(tmp_path / "results")
        spec = trial(state)
        followed = Followed(state, entry.build(state))
        for steps in ((1, 2), (2, 3)):  # a worker group died after step 2, its checkpoint was of step 1
            followed.started([spec])
            for step in steps:
                followed.step(spec, step, 5, {"loss": float(step)})
        followed.close()
        state = study_state(tmp_path / "results")
        followed = Followed(state, entry.build(state))
        followed.started([spec])
        for step in (3, 4, 5):
            followed.step(spec, step, 5, {"loss": float(step)})
        followed.finished(spec, record(spec))
        followed.close()
        (run,) = self.tracked(tmp_path / "results").values()
        assert run.points["train/loss"] == {step: float(step) for step in range(1, 6)}
        assert (run.finished, run.reason) == (True, "")

        other = study_state(tmp_path / "elsewhere")
        followed = Followed(other, entry.build(other))
        followed.started([spec])
        followed.close()
        (run,) = self.tracked(tmp_path / "elsewhere").values()
        assert not run.points.get("train/loss")


def _is_logged(logged: Any, value: Any) -> bool:
    if value is None:
        return logged is None
    if isinstance(value, tuple | list):
        value = ", ".join(map(str, value))
    if isinstance(value, bool | str):
        return str(logged) == str(value)
    return float(logged) == value
