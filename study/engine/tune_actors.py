"""Tune's own care for its actors, but for one death that it does not know.

Where the memory of a machine is full, Ray kills an actor to keep it. Tune takes the error of that for a fault of its
own and ends the whole study; here it is a dead actor like any other, and its trial is begun again.
"""

from __future__ import annotations

from typing import Any

from ray.air.execution._internal import RayActorManager
from ray.exceptions import OutOfMemoryError, RayActorError
from ray.tune.execution import tune_controller


class Actors(RayActorManager):
    """Tune's actors, which may be killed for their memory."""

    def _actor_task_failed(self, tracked_actor_task: Any, exception: Exception) -> None:
        if isinstance(exception, OutOfMemoryError):
            exception = RayActorError(error_msg=str(exception))
        super()._actor_task_failed(tracked_actor_task, exception)


def survive_full_memory() -> None:
    """Have every later study of this process do so."""
    tune_controller.RayActorManager = Actors
