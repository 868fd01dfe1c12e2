"""Trainings side by side: each in processes of its own, which take turns of some steps, so that other work on the
machine affects all alike."""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from benchmarks.options import add_number

SideT = TypeVar("SideT", bound=Hashable)


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


def add_turns(parser: argparse.ArgumentParser) -> None:
    """The options of `take_turns`."""
    add_number(parser, "--warm-up", 10, "steps before the first turn")
    add_number(parser, "--steps", 10, "steps of a side in a turn")
    add_number(parser, "--turns", 5, "turns", least=2)


def take_turns(
    sides: Mapping[SideT, tuple[Callable[..., None], Sequence[tuple[Any, ...]]]],
    options: argparse.Namespace,
    before: Callable[[], None] = lambda: None,
) -> tuple[dict[SideT, list[float]], dict[SideT, Any]]:
    """Train each side, by what its processes run and the arguments of each, before a `Turns`. `before` is called before
    each turn. Returns the seconds of each side's turns, and what its first process sends at its end."""
    context = multiprocessing.get_context("spawn")
    wires: dict[SideT, Connection] = {}
    seconds: dict[SideT, list[float]] = {side: [] for side in sides}
    processes = []
    try:
        for side, (run, group) in sides.items():
            wires[side], other = context.Pipe()
            turns = Turns(other, options.warm_up, options.steps, options.turns)
            for arguments in group:
                processes.append(context.Process(target=run, args=(*arguments, turns), daemon=True))
                processes[-1].start()
            other.close()  # so that a group that ends is noticed
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
