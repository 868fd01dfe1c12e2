"""Ray Tune's side of a trial: an actor that Tune keeps from trial to trial, and the crew that it keeps alive.

A crew of one worker runs in this very actor, which is Ray Train's local mode: one process a slot, on the machine that
has the slot's GPU. Several workers are a Train worker group, and this actor only waits for them.
"""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any

import ray
import ray.train
from ray import tune
from ray.tune.execution.placement_groups import PlacementGroupFactory

from study.engine.worker_group import member
from study.trial import RUNG, VALUES

HEAD = {"node:__internal_head__": 0.001}
"""What a driver of several workers asks for. It sits on the head node and takes no core from the workers, so drivers
can never fill the cluster and wait for workers that fit nowhere."""
LEAVING = 30.0
"""Seconds that a crew of several may take to end."""
RAYS_WATCHER = "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER"
"""Ray Train's switch for its own watcher of machines that are about to go. It is off: the desk's serves crews of one
worker too, and a crew trains until its machine is gone, where Train would start all workers anew at the deadline."""
TRIES = 3
"""How often a crew is started anew for one task before it is given up."""


def resources(config: Mapping[str, Any]) -> PlacementGroupFactory:
    """What Tune reserves for a trial."""
    first = config["trials"][0]
    return PlacementGroupFactory([HEAD if first["most_workers"] > 1 else dict(first["per_worker"])])


class Driver(tune.Trainable):
    """Hands its trials to a crew, and tells Tune what the crew says of them."""

    def setup(self, config: dict[str, Any]) -> None:
        self.task = config
        self.desk = ray.get_actor(config["desk"])
        self.crew: Crew | None = None
        self.given = False
        self.tries = 0

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.task, self.given, self.tries = new_config, False, 0
        return True

    def step(self) -> dict[str, Any]:
        """Until the next rung, or to the trial's end."""
        if not self.given:
            self._give()
        while True:
            assert self.crew is not None
            event = ray.get(self.desk.event.remote(self.crew.name))
            if event["kind"] == "rung":
                return {VALUES: list(event["scores"].values()), RUNG: event["number"]}
            if event["kind"] == "done":
                return {VALUES: None, RUNG: -1, "done": True}
            self.crew.thread.join()
            self.tries += not event["taken"]  # else the desk has counted it
            if self.tries > TRIES:
                ray.get(self.desk.abandon.remote(self.crew.name, f"its workers did not start: {event['reason']}"))
                self.crew = None
                return {VALUES: None, RUNG: -1, "done": True}
            self._give()

    def cleanup(self) -> None:
        if self.crew is not None:
            ray.get(self.desk.dismiss.remote(self.crew.name))
            if self.crew.several:  # Train gives its places back before this process ends
                self.crew.thread.join(LEAVING)

    def _give(self) -> None:
        """Hand the task to a crew of the right shape: the one at hand, or a new one."""
        first = self.task["trials"][0]
        shape = (first["workers"], first["most_workers"], tuple(sorted(first["per_worker"].items())))
        if self.crew is not None and not self.crew.alive and not self.crew.several:
            ray.actor.exit_actor()  # its process is to be renewed; Tune starts another one for this trial
        if self.crew is not None and (self.crew.shape != shape or not self.crew.alive):
            ray.get(self.desk.dismiss.remote(self.crew.name))
            self.crew.thread.join()
            self.crew = None
        if self.crew is None:
            self.crew = Crew(self.task, shape)
        ray.get(self.desk.assign.remote(self.crew.name, self.task))
        self.given = True


class Crew:
    """A Train run in a thread of the driver."""

    def __init__(self, task: Mapping[str, Any], shape: tuple[Any, ...]) -> None:
        self.shape = shape
        self.least, self.most = shape[:2]
        self.per_worker = dict(shape[2])
        self.name = uuid.uuid4().hex[:12]
        self.desk = ray.get_actor(task["desk"])
        self.config = {
            "crew": self.name,
            "desk": task["desk"],
            "perform": task["perform"],
            "began": time.time(),
            "several": self.several,
        }
        self.thread = threading.Thread(target=self._run, name=f"crew {self.name}", daemon=True)
        self.thread.start()

    @property
    def several(self) -> bool:
        return bool(self.most > 1)

    @property
    def alive(self) -> bool:
        return self.thread.is_alive()

    def _run(self) -> None:
        reason = "its crew was renewed"
        try:
            self._trainer().fit()
        except BaseException as error:  # whatever it is, the driver must not wait for ever
            reason = " ".join(str(error).strip().splitlines()[-1:])
        ray.get(self.desk.lost.remote(self.name, reason))

    def _trainer(self) -> Any:
        if not self.several:
            # Without torch's own trainer: alone there is no process group to set up.
            from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

            return DataParallelTrainer(
                member, train_loop_config=self.config, scaling_config=ray.train.ScalingConfig(num_workers=0)
            )
        from ray.train.torch import TorchTrainer

        os.environ[RAYS_WATCHER] = "0"  # Train hands it on from here, on whatever cluster
        workers = self.least if self.least == self.most else (self.least, self.most)
        return TorchTrainer(
            member,
            train_loop_config=self.config,
            scaling_config=ray.train.ScalingConfig(
                num_workers=workers, use_gpu="GPU" in self.per_worker, resources_per_worker=self.per_worker
            ),
            run_config=ray.train.RunConfig(
                name=self.name,
                failure_config=ray.train.FailureConfig(max_failures=-1),
                callbacks=[Interruptions(self.config["desk"], self.name)],
            ),
        )


class Interruptions(ray.train.UserCallback):
    """Tells the desk when workers of a crew of several died or failed: Train itself starts them anew, and says so to
    nobody, though it may wait for machines for hours."""

    def __init__(self, desk: str, crew: str) -> None:
        self.desk, self.crew = desk, crew

    def after_exception(self, run_context: Any, worker_exceptions: Mapping[int, Exception]) -> None:
        ray.get_actor(self.desk).interrupted.remote(self.crew)
