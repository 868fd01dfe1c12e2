"""What a worker group asks Ray Train for, without a cluster."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
import ray
import ray.train
from ray.exceptions import RayActorError
from ray.train.v2._internal.callbacks.preemption_callback import PreemptionCallback
from ray.train.v2._internal.constants import get_env_vars_to_propagate
from ray.train.v2._internal.exceptions import WorkerGroupStartupFailedError, WorkerHealthCheckFailedError
from ray.train.v2._internal.execution.controller import TrainController
from ray.train.v2._internal.execution.controller.state import ReschedulingState, RunningState
from ray.train.v2.api.exceptions import ControllerError

from study.engine.ray_internals import RAYS_WATCHER
from study.engine.worker_group import WorkerGroup, take_tasks
from study.trial import Resources


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of a group of two workers."""
    monkeypatch.setenv(RAYS_WATCHER, "1")
    monkeypatch.setenv("RAY_TRAIN_ENABLE_CONTROLLER_STRUCTURED_LOGGING", "0")  # as a study does; else Ray starts
    monkeypatch.delattr("ray.init")
    group: Any = object.__new__(WorkerGroup)
    resources = Resources(workers=2, most_workers=2)
    vars(group).update(name="a", resources=resources, coordinator="that of a study", perform="", began=0.0)
    return group._trainer()


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the coordinator is told of interruptions, failed starts and ends."""
    calls: list[tuple[Any, ...]] = []
    method = SimpleNamespace(remote=lambda *given: calls.append(given))
    coordinator = MagicMock(interrupted=method, not_started=method, ended=method)
    monkeypatch.setattr(ray, "get_actor", {"that of a study": coordinator}.__getitem__)
    monkeypatch.setattr(ray, "get", lambda reference: reference)
    return calls


def watchers(folder: Path) -> list[object]:
    """Ray Train's own, of a run that begins in this process's environment."""
    config = ray.train.RunConfig(name="a", storage_path=str(folder))
    run: Any = MagicMock(run_config=config, backend_config=None)
    controller = TrainController(MagicMock(), run, MagicMock(), MagicMock())
    return [each for each in controller._worker_group_callbacks_to_propagate if isinstance(each, PreemptionCallback)]


def test_train_watches_no_machine_as_the_coordinator_does(
    trainer: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a joined cluster too, as the variable goes on from the trainable's process."""
    handed_on = get_env_vars_to_propagate()
    monkeypatch.delenv(RAYS_WATCHER)
    assert len(watchers(tmp_path)) == 1  # what Ray does by itself
    for name, value in handed_on.items():
        monkeypatch.setenv(name, value)
    assert watchers(tmp_path) == []


def test_the_coordinator_hears_of_workers_that_train_starts_anew(
    trainer: Any, heard: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    deaths = {"first": ("n1", "killed"), "second": ("n2", "crashed")}
    monkeypatch.setattr("study.engine.worker_group.death_of", lambda error: deaths.get(str(error)))
    alive, started = trainer.run_config.callbacks

    def death(text: str) -> Exception:
        return WorkerHealthCheckFailedError("", RayActorError(error_msg=text))

    alive.after_exception(MagicMock(), {1: RuntimeError("a mistake")})
    alive.after_exception(MagicMock(), {0: death("first"), 1: death("second"), 2: RuntimeError("nobody answers")})
    alive.after_exception(MagicMock(), {0: death("first"), 1: death("its machine is gone")})
    failure = WorkerGroupStartupFailedError("at least one failed")
    failure.__cause__ = RayActorError(error_msg="first")
    for state in (RunningState(), ReschedulingState(ControllerError(failure))):
        started.after_controller_state_update(MagicMock(), state)
    both, first = (frozenset({"n1", "n2"}), "killed"), (frozenset({"n1"}), "killed")
    assert heard == [("a",), ("a", *both), ("a",), ("a", *first)]


@pytest.mark.parametrize(
    ("error", "calls"),
    [
        (ImportError("replaced"), ("ImportError: replaced", True)),
        (ray.exceptions.ActorDiedError(), ("The actor died unexpectedly before finishing this task.", False)),
        (None, ("its workers were renewed", False)),
    ],
)
def test_the_coordinator_hears_whether_a_group_ended_by_an_error(
    error: Exception | None, calls: tuple[str, bool], heard: list[tuple[Any, ...]]
) -> None:
    group: Any = object.__new__(WorkerGroup)
    trainer = MagicMock(fit=MagicMock(side_effect=error))
    vars(group).update(name="a", coordinator="that of a study", _trainer=lambda: trainer)
    group._run()
    ((name, reason, failed),) = heard
    assert (name, failed) == ("a", calls[1])
    assert calls[0] in reason


@pytest.mark.parametrize(("several", "rank", "calls"), [(True, 0, 1), (True, 1, 0), (False, 0, 0)])
def test_of_a_start_that_train_repeats_the_first_worker_tells(
    several: bool, rank: int, calls: int, heard: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of a group of one worker is told anyway."""
    monkeypatch.setattr(ray, "get_runtime_context", MagicMock())
    monkeypatch.setattr(ray.util, "get_current_placement_group", MagicMock())
    monkeypatch.setattr(ray.train, "get_context", lambda: MagicMock(get_world_rank=lambda: rank))
    config = {"group": "a", "coordinator": "that of a study", "several": several, "perform": "no_such_module:perform"}
    with pytest.raises(Exception, match="no_such_module"):
        take_tasks(config)
    assert [name for name, _ in heard] == ["a"] * calls
    assert all("no_such_module" in reason for _, reason in heard)
