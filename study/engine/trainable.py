"""Ray Tune's side of a task: an actor that Tune keeps from task to task, and the worker group that it keeps alive."""

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
"""What a trainable of several workers asks for. It sits on the head node and takes no core from the workers, so
trainables can never fill the cluster and wait for workers that fit nowhere."""
LEAVING = 30.0
"""Seconds that a group of several workers may take to end."""
TRIES = 3
"""How often a group is started anew for one task before it is given up."""


def config_of(task: WorkerTask, coordinator: str, perform: str) -> dict[str, Any]:
    """Ray Tune's config of a task, in plain values: the task itself goes by the coordinator of that name."""
    resources = dataclasses.asdict(task.resources)
    return {"key": task.key, "resources": resources, "coordinator": coordinator, "perform": perform}


def placement(config: Mapping[str, Any]) -> tune.PlacementGroupFactory:
    """What Tune reserves for a task."""
    resources = Resources(**config["resources"])
    return tune.PlacementGroupFactory([HEAD if resources.most_workers > 1 else resources.per_worker])


class TaskTrainable(tune.Trainable):
    """Has a worker group run one task after another, and tells Tune of their ends."""

    def setup(self, config: dict[str, Any]) -> None:
        self.group: WorkerGroup | None = None
        self.coordinator = ray.get_actor(config["coordinator"])
        self.reset_config(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.task, self.resources = dict(new_config), Resources(**new_config["resources"])
        return True

    def step(self) -> dict[str, Any]:
        """The whole task."""
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
            if self.group.several:  # Train gives its places back before this process ends
                self.group.thread.join(LEAVING)

    def _assign(self) -> WorkerGroup:
        """Give the task to a group of the right shape: the one at hand, or a new one."""
        if self.group is not None and not self.group.alive and not self.group.several:
            ray.actor.exit_actor()  # its process is to be renewed; Tune starts another one for this task
        if self.group is not None and (self.group.resources != self.resources or not self.group.alive):
            ray.get(self.coordinator.dismiss.remote(self.group.name))
            self.group.thread.join()
            self.group = None
        if self.group is None:
            self.group = WorkerGroup(self.resources, self.task["coordinator"], self.task["perform"])
        me = ray.get_runtime_context().current_actor
        ray.get(self.coordinator.assign.remote(self.group.name, self.task["key"], me))
        return self.group
