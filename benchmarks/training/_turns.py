"""Trainings side by side: each in a process of its own, which take turns of some steps, so that other work on the
machine affects all alike."""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any


@dataclass
class Turns:
    """Cuts a training into turns, and times them."""

    wire: Connection
    warm_up: int
    steps: int
    count: int
    began: float = 0.0

    @property
    def last(self) -> int:
        """How many steps the whole training has."""
        return self.warm_up + self.count * self.steps

    def after(self, step: int) -> None:
        """To be called after each step, counted from 1. At the end of the warm-up and of each turn it sends the
        seconds, and waits for the word to go on."""
        if self.warm_up <= step <= self.last and (step - self.warm_up) % self.steps == 0:
            self.wire.send(time.perf_counter() - self.began)
            self.wire.recv()
            gc.collect()
            self.began = time.perf_counter()


def take_turns(
    run: Callable[..., None],
    sides: Mapping[str, tuple[Any, ...]],
    options: argparse.Namespace,
    before: Callable[[], None],
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Train each side in a process that runs `run` with the side's arguments and a `Turns`. `before` is called before
    each turn. Returns the seconds of each side's turns, and what its process sends at its end."""
    context = multiprocessing.get_context("spawn")
    wires: dict[str, Connection] = {}
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    processes = []
    try:
        for side, arguments in sides.items():
            wires[side], other = context.Pipe()
            turns = Turns(other, options.warm_up, options.steps, options.turns)
            processes.append(context.Process(target=run, args=(*arguments, turns), daemon=True))
            processes[-1].start()
            other.close()  # so that a process that ends is noticed
            wires[side].recv()
        for turn in range(options.turns):
            before()
            start = turn % len(sides)  # another side is first in each turn
            for side in [*sides][start:] + [*sides][:start]:
                wires[side].send("go on")
                seconds[side].append(wires[side].recv())
        ends = {}
        for side, wire in wires.items():
            wire.send("end")
            ends[side] = wire.recv()
        return seconds, ends
    finally:
        for process in processes:
            process.join(10)
            process.terminate()
