"""A worker group: a Ray Train run whose workers stay from trial to trial.

A group of one worker runs in its trainable's own process, which is Ray Train's local mode: one process per trial that
runs at once, on the machine that has the trial's GPU. Several workers are processes of their own. Train runs
`take_tasks` on each worker. Data that trials need again stay in the process: imports, the process group, corpora,
untrained weights. All else that a trial leaves is cleaned up after it.
"""

from __future__ import annotations

import gc
import os
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import ray
import ray.train
import ray.util
from ray.actor import ActorHandle

from study.engine.coordinator import HALT, SAVE
from study.engine.messages import Event, WorkerTask
from study.engine.ray_internals import RAYS_WATCHER, death_of, local_trainer, make_failed_start_callback, unwrap_error
from study.engine.starts import is_raised, last_line
from study.trial import Resources
from trainables.registry import load


class WorkerGroup:
    """A worker group. Its Ray Train run is started in a thread of its trainable."""

    def __init__(self, resources: Resources, coordinator: str, perform: str) -> None:
        """`coordinator`: name of its actor. `perform`: `"module:function"`, which gets each task and the `Worker`."""
        self.resources, self.coordinator, self.perform = resources, coordinator, perform
        self.name = uuid.uuid4().hex[:12]
        self.began = time.time()
        self.thread = threading.Thread(target=self._run, name=f"worker group {self.name}", daemon=True)
        self.thread.start()

    @property
    def several(self) -> bool:
        return self.resources.most_workers > 1

    @property
    def alive(self) -> bool:
        return self.thread.is_alive()

    def _run(self) -> None:
        reason, failed = "its workers were renewed", False
        try:
            self._trainer().fit()
        except BaseException as error:  # whatever the error is, the trainable must not wait for ever
            reason, failed = last_line(error), is_raised(error)
        ray.get(ray.get_actor(self.coordinator).ended.remote(self.name, reason, failed))

    def _trainer(self) -> Any:
        config = {
            "group": self.name,
            "coordinator": self.coordinator,
            "perform": self.perform,
            "began": self.began,
            "several": self.several,
        }
        if not self.several:
            return local_trainer(take_tasks, config)
        from ray.train.torch import TorchTrainer

        os.environ[RAYS_WATCHER] = "0"  # Train passes it on to workers, on any cluster
        interruptions = Interruptions(self.coordinator, self.name)
        least, most = self.resources.workers, self.resources.most_workers
        return TorchTrainer(
            take_tasks,
            train_loop_config=config,
            scaling_config=ray.train.ScalingConfig(
                num_workers=least if least == most else (least, most),
                use_gpu=self.resources.gpus > 0,
                resources_per_worker=self.resources.per_worker,
            ),
            run_config=ray.train.RunConfig(
                name=self.name,
                failure_config=ray.train.FailureConfig(max_failures=-1),
                callbacks=[interruptions, make_failed_start_callback(interruptions.tell)],
            ),
        )


class Interruptions(ray.train.UserCallback):
    """Reports to the coordinator that workers of a group of several died or failed. Train restarts them without a
    message, and may wait for machines for hours."""

    def __init__(self, coordinator: str, group: str) -> None:
        self.coordinator, self.group = coordinator, group

    def after_exception(self, run_context: Any, worker_exceptions: Mapping[int, Exception]) -> None:
        self.tell(worker_exceptions)

    def tell(self, errors: Mapping[int, BaseException]) -> None:
        """Report errors by rank. If a machine died, other workers may have died of that, so no cause is given."""
        ends = [*map(unwrap_error, errors.values())]
        deaths = [death_of(end) for end in ends if not is_raised(end)]
        notices = [death for death in deaths if death is not None]
        complete = notices and len(notices) == len(deaths)
        details = (frozenset(node for node, _ in notices), notices[0][1]) if complete else ()
        ray.get_actor(self.coordinator).interrupted.remote(self.group, *details)


@dataclass
class Timesheet:
    """Seconds that a group's first worker has spent on each activity since its last trial ended."""

    spent: dict[str, float] = field(default_factory=dict)

    def add(self, state: str, seconds: float) -> None:
        self.spent[state] = self.spent.get(state, 0.0) + seconds

    @contextmanager
    def during(self, state: str) -> Iterator[None]:
        """Add the time spent inside the `with` block to that activity."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(state, time.perf_counter() - began)

    def read_and_reset(self) -> dict[str, float]:
        """Return the seconds so far, and reset them for the next trial."""
        spent, self.spent = self.spent, {}
        return spent


class Orders(threading.Thread):
    """Waits for the coordinator's orders as long as the group lives."""

    def __init__(self, coordinator: ActorHandle, group: str) -> None:
        super().__init__(name="orders", daemon=True)
        self.coordinator, self.group = coordinator, group
        self.save = threading.Event()
        """Set if a checkpoint is wanted now."""
        self.halt = threading.Event()
        """Set if training must stop after that checkpoint."""

    def run(self) -> None:
        heard = 0
        while True:
            try:
                orders = ray.get(self.coordinator.orders.remote(self.group, heard))
            except ray.exceptions.RayError:
                return  # the study is gone, and this process will end soon
            heard += len(orders)
            if HALT in orders:
                self.halt.set()
            if HALT in orders or SAVE in orders:
                self.save.set()


@dataclass(frozen=True)
class Worker:
    """This worker's rank in its group, and its connections. The argument of a task's `perform`."""

    group: str
    rank: int
    count: int
    coordinator: ActorHandle
    orders: Orders
    """Orders to the group. Only the first worker receives any."""
    timesheet: Timesheet

    def tell(self, event: Event) -> None:
        """Send an event to the study; return when the coordinator has it."""
        ray.get(self.coordinator.tell.remote(self.group, event))

    def finish(self, task: WorkerTask, reason: str | None = None, details: str = "", renew: bool = False) -> None:
        """Report that the group is done with the task. For the arguments see `Coordinator.finish`."""
        ray.get(self.coordinator.finish.remote(self.group, task.number, reason, details, renew))


def take_tasks(config: Mapping[str, Any]) -> None:
    """Take tasks and run them until the group is dismissed or renewed.

    `config`: names of `group` and `coordinator`; `perform`; `began`, the `time.time` when the group was requested;
    `several`, whether Train reserved places for the group. A group of one runs inside its trainable.
    """
    context = ray.train.get_context()
    rank, node = context.get_world_rank(), ray.get_runtime_context().get_node_id()
    coordinator, group = ray.get_actor(config["coordinator"]), config["group"]
    if config["several"] and rank == 0:  # at once: if the trainable died now, nobody else would free the places
        ray.get(coordinator.note_placement.remote(group, ray.util.get_current_placement_group()))
    gc.disable()  # nothing imported is garbage, and the search for garbage takes a sixth of a worker's start
    try:
        perform = load(config["perform"])
    except BaseException as error:
        if config["several"] and rank == 0:  # Train restarts the workers, and reports no reason
            ray.get(coordinator.not_started.remote(group, last_line(error)))
        raise
    gc.enable()
    orders, timesheet = Orders(coordinator, group), Timesheet()
    timesheet.add("starting", max(0.0, time.time() - config["began"]))
    if rank == 0:
        orders.start()
    me = Worker(group, rank, context.get_world_size(), coordinator, orders, timesheet)
    number, life = -1, uuid.uuid4().hex
    while True:
        with timesheet.during("idle"):
            task = ray.get(coordinator.take.remote(group, rank, life, node, number))
        if task is None:
            return
        number = task.number
        perform(task, me)
