"""An actor that Ray kills for its memory is a dead actor, not the end of the study."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ray")

from ray.air.execution import PlacementGroupResourceManager
from ray.air.execution._internal import RayActorManager
from ray.exceptions import OutOfMemoryError, RayActorError
from ray.tune.execution import tune_controller

from study.engine.tune_actors import Actors, survive_full_memory


def killed(manager: RayActorManager) -> list[Any]:
    """What the actor's owner is told when its task ends with that error."""
    told: list[Any] = []
    actor = SimpleNamespace(actor_id=1, _on_error=lambda tracked, error: told.append(error))
    manager._cleanup_actor = lambda tracked_actor: None
    manager._actor_task_failed(
        SimpleNamespace(_tracked_actor=actor, _on_error=None), OutOfMemoryError("1 worker was killed")
    )
    return told


def test_it_is_told_as_a_death() -> None:
    (error,) = killed(Actors(PlacementGroupResourceManager()))
    assert isinstance(error, RayActorError)
    assert "1 worker was killed" in str(error)


def test_tune_by_itself_ends_the_study() -> None:
    """If this fails, Ray has learned it, and `study.engine.tune_actors` can go."""
    with pytest.raises(RuntimeError, match="unexpected exception"):
        killed(RayActorManager(PlacementGroupResourceManager()))


def test_tune_takes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune_controller, "RayActorManager", RayActorManager)
    survive_full_memory()
    assert tune_controller.RayActorManager is Actors
