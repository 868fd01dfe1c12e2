"""What a worker group asks Ray Train for, without a cluster."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
import ray
import ray.train
from ray.train.v2._internal.callbacks.preemption_callback import PreemptionCallback
from ray.train.v2._internal.constants import get_env_vars_to_propagate
from ray.train.v2._internal.execution.controller import TrainController

from study.engine.ray_internals import RAYS_WATCHER
from study.engine.worker_group import WorkerGroup
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


def test_the_coordinator_hears_of_workers_that_train_starts_anew(trainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    actors = {"that of a study": SimpleNamespace(interrupted=SimpleNamespace(remote=told.append))}
    monkeypatch.setattr(ray, "get_actor", actors.__getitem__)
    for callback in trainer.run_config.callbacks:
        callback.after_exception(MagicMock(), {1: RuntimeError("its machine is gone")})
    assert told == ["a"]
