"""A crew: a Ray Train run whose workers stay from trial to trial.

`member` is what Train runs on each worker. It takes trials from the study's desk until it is dismissed. What trials
need again stays in the process: imports, the process group, corpora, pristine weights. What a trial itself leaves is
cleaned up after it.
"""

from __future__ import annotations

import gc
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

from study.engine.coordinator import HALT, SAVE
from trainables.registry import load


@dataclass
class Timesheet:
    """What a crew's first worker spends its time on, in seconds since its last trial ended."""

    spent: dict[str, float] = field(default_factory=dict)

    def add(self, state: str, seconds: float) -> None:
        self.spent[state] = self.spent.get(state, 0.0) + seconds

    @contextmanager
    def during(self, state: str) -> Iterator[None]:
        """Count what happens within as that state."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.add(state, time.perf_counter() - began)

    def take(self) -> dict[str, float]:
        """What was spent until now; the next trial begins from nothing."""
        spent, self.spent = self.spent, {}
        return spent


class Ear(threading.Thread):
    """Listens for the desk's orders for as long as the crew lives."""

    def __init__(self, desk: Any, crew: str) -> None:
        super().__init__(name="orders", daemon=True)
        self.desk, self.crew = desk, crew
        self.save = threading.Event()
        """A checkpoint is wanted now."""
        self.halt = threading.Event()
        """And no more training after it."""

    def run(self) -> None:
        heard = 0
        while True:
            try:
                orders = ray.get(self.desk.orders.remote(self.crew, heard))
            except ray.exceptions.RayError:
                return  # the study is gone, and with it this process soon
            heard += len(orders)
            if HALT in orders:
                self.halt.set()
            if HALT in orders or SAVE in orders:
                self.save.set()


@dataclass(frozen=True)
class Member:
    """This worker's place in its crew, and what it talks to. A task's `perform` is given it."""

    crew: str
    rank: int
    count: int
    desk: Any
    ear: Ear
    """Of the first worker; on the others it hears nothing."""
    timesheet: Timesheet

    def tell(self, kind: str, **content: Any) -> None:
        """Tell the study; returns when the desk has it."""
        ray.get(self.desk.tell.remote(self.crew, {"kind": kind, **content}))


def member(config: Mapping[str, Any]) -> None:
    """Take trials and perform them until the crew is dismissed, or renewed.

    `config`: the `crew`'s name, the `desk`'s, `began`: when the crew was asked for, by the clock of `time.time`,
    `perform`: `"module:function"`, which is given each task and this `Member`, and `several`: whether Train made places
    for the crew, which otherwise sits in its driver's.
    """
    context = ray.train.get_context()
    rank, node = context.get_world_rank(), ray.get_runtime_context().get_node_id()
    desk, crew = ray.get_actor(config["desk"]), config["crew"]
    if config["several"] and rank == 0:  # at once: should the driver die now, nobody else gives the places back
        ray.get(desk.sits.remote(crew, ray.util.get_current_placement_group()))
    gc.disable()  # of what is imported nothing is garbage, and looking for some takes a sixth of a worker's start
    perform = load(config["perform"])
    gc.enable()
    ear, timesheet = Ear(desk, crew), Timesheet()
    timesheet.add("starting", max(0.0, time.time() - config["began"]))
    if rank == 0:
        ear.start()
    me = Member(crew, rank, context.get_world_size(), desk, ear, timesheet)
    number, life = -1, uuid.uuid4().hex
    while True:
        with timesheet.during("idle"):
            task = ray.get(desk.take.remote(crew, rank, life, node, number))
        if task is None:
            return
        number = task["number"]
        perform(task, me)
