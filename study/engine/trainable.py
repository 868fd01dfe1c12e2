"""An actor of Ray Tune that runs one task after another, and keeps a worker group alive between tasks."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import ray
from ray import tune

from study.engine.messages import Done, WorkerTask
from study.engine.worker_group import WorkerGroup
from study.trial import Resources

HEAD = {"node:__internal_head__": 0.001}
"""Resources of a trainable with several workers. It runs on the head node and takes no core from workers, so trainables
can never fill the cluster and wait for workers that do not fit."""
LEAVING = 30.0
"""Seconds that a group of several workers may take to end after it was dismissed."""
TRIES = 3
"""How often a group is restarted for one task before the task is given up."""


def config_of(task: WorkerTask, coordinator: str, perform: str) -> dict[str, Any]:
    """Return Ray Tune's config of a task, in plain values. The actor named `coordinator` passes on the task itself."""
    resources = dataclasses.asdict(task.resources)
    return {"key": task.key, "resources": resources, "coordinator": coordinator, "perform": perform}


def placement(config: Mapping[str, Any]) -> tune.PlacementGroupFactory:
    """Return the resources that Tune reserves for a task, from its config (`config_of`)."""
    resources = Resources(**config["resources"])
    return tune.PlacementGroupFactory([HEAD if resources.most_workers > 1 else resources.per_worker])


class TaskTrainable(tune.Trainable):
    """Gives one task after another to a worker group, and reports their ends to Tune."""

    def setup(self, config: dict[str, Any]) -> None:
        self.group: WorkerGroup | None = None
        self.coordinator = ray.get_actor(config["coordinator"])
        self.reset_config(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.task, self.resources = dict(new_config), Resources(**new_config["resources"])
        return True

    def step(self) -> dict[str, Any]:
        """Run one whole task. Tune calls this once per task."""
        tries = 0
        while tries <= TRIES:
            group = self._assign()
            outcome = ray.get(self.coordinator.outcome.remote(group.name))
            if isinstance(outcome, Done):
                return {"done": True}
            group.thread.join()
            tries += not outcome.taken  # else the coordinator has counted it
        ray.get(self.coordinator.abandon.remote(group.name, f"its workers did not start: {outcome.reason}"))
        self.group = None
        return {"done": True}

    def cleanup(self) -> None:
        if self.group is not None:
            ray.get(self.coordinator.dismiss.remote(self.group.name))
            if self.group.several:  # Train returns the reserved resources before this process ends
                self.group.thread.join(LEAVING)

    def _assign(self) -> WorkerGroup:
        """Give the task to a group of the right shape: the current group, or a new one."""
        if self.group is not None and not self.group.alive and not self.group.several:
            ray.actor.exit_actor()  # its process must be renewed; Tune starts another one for this task
        if self.group is not None and (self.group.resources != self.resources or not self.group.alive):
            ray.get(self.coordinator.dismiss.remote(self.group.name))
            self.group.thread.join()
            self.group = None
        if self.group is None:
            self.group = WorkerGroup(self.resources, self.task["coordinator"], self.task["perform"])
        me = ray.get_runtime_context().current_actor
        ray.get(self.coordinator.assign.remote(self.group.name, self.task["key"], me))
        return self.group
