"""Steps a second of one trial on several workers of this machine, with all rows of its word vectors sent or few.

A side is a group of gloo processes with so many threads each, which trains MNRL on triples by a small encoder, as a
trial does. After its warm-up the groups take turns, some steps each, first one, then another first; a ratio is taken
within a turn. "All rows": word vectors travel as other gradients do, which is done for this table alone. What is
exchanged, and how long it holds a worker up, its wait for slower workers included, is that of the first worker.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks._asked import add_encoder, add_pairs, check_numbers, chosen_encoder
from benchmarks._training_loops import WORK, Turns, built, rotated
from trainables.recipe import Recipe


@dataclass(frozen=True)
class Side:
    """A group of workers."""

    workers: int
    whole: bool = False
    """Whether all rows of its word vectors are sent."""

    @property
    def sent(self) -> str:
        return "" if self.workers == 1 else "all" if self.whole else "with a gradient"


Mark = tuple[float, float, float]
"""Of the first worker so far: processor seconds, seconds that exchanges held it up, bytes that it handed to them."""


@dataclass(frozen=True)
class Turn:
    """What a group's first worker did in it."""

    rate: float  # steps a second
    processor: float  # seconds a step
    held: float  # share of its time
    megabytes: float  # a step


class Meter:
    """What this process hands to exchanges, and how long they hold it up."""

    def __init__(self) -> None:
        self.bytes, self.seconds = 0, 0.0

    def timed(self, run: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Run it; its seconds count."""
        began = time.perf_counter()
        done = run(*arguments, **options)
        self.seconds += time.perf_counter() - began
        return done

    def counted(self, exchange: Callable[..., Any]) -> Callable[..., Any]:
        """The same function of `torch.distributed`, with what it is handed and its seconds counted."""
        from torch import Tensor

        def run(*arguments: Any, **options: Any) -> Any:
            self.bytes += sum(given.nbytes for given in arguments if isinstance(given, Tensor))
            work = self.timed(exchange, *arguments, **options)
            return _Counted(work, self) if options.get("async_op") else work

        return run


@dataclass(frozen=True)
class _Counted:
    """An exchange on its way."""

    work: Any
    meter: Meter

    def wait(self) -> None:
        self.meter.timed(self.work.wait)


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, workers=1, threads=1, layers=1, batch_size=2, warm_up=1, steps=1, turns=2)
    encoder = chosen_encoder(asked)
    import torch

    recipe = recipe_of(encoder, asked.layers, asked.data, asked.batch_size)
    sides = [Side(1), *(Side(n, whole) for n in sorted({*asked.workers} - {1}) for whole in (True, False))]
    print(
        f"torch {torch.__version__}, {len(os.sched_getaffinity(0))} cores, {asked.threads} threads a worker, ", end=""
    )
    print(f"{asked.layers} layers, batch {asked.batch_size}, {Path(asked.data).name}, {asked.turns} turns of ", end="")
    print(f"{asked.steps} steps after {asked.warm_up} of warm-up; means ± deviation over turns, ratios' ends")
    sentences = first_step(recipe)
    words = {word for ids in sentences for word in ids}
    print(f"first step: {len(sentences):,} sentences of {sum(map(len, sentences)):,} tokens, ", end="")
    print(f"{len(words):,} different words\n", flush=True)
    print("\n".join(table(measured(sides, recipe, asked))))


def recipe_of(encoder: str, layers: int, data: str, batch_size: int) -> Recipe:
    """What all sides train."""
    given = {"encoder.name": encoder, "encoder.layers": layers, "pooling.mode": "mean", "corpus.nli": data}
    return Recipe().preferring(given | {"optimisation.batch_size": batch_size} | WORK["MNRL triples"])


def first_step(recipe: Recipe) -> list[list[int]]:
    """The token ids of its sentences."""
    training, encoder = built(recipe)
    ids: list[list[int]] = encoder.tokenize(training.sampler.batch(0).sentences)
    return ids


def measured(sides: Sequence[Side], recipe: Recipe, asked: argparse.Namespace) -> dict[Side, list[Turn]]:
    """By side, turn by turn."""
    seconds: dict[Side, list[float]] = {side: [] for side in sides}
    with _waiting(sides, recipe, asked) as wires:
        for turn in range(asked.turns):
            for side in rotated(sides, turn):
                wires[side].send("go on")
                seconds[side].append(wires[side].recv())
        found = {}
        for side, wire in wires.items():
            wire.send("end")
            marks = pairwise(wire.recv()[asked.warm_up - 1 :: asked.steps])
            found[side] = [turn_of(asked.steps, *each) for each in zip(seconds[side], marks, strict=True)]
    return found


def turn_of(steps: int, seconds: float, ends: tuple[Mark, Mark]) -> Turn:
    """From where the first worker was before it and after it."""
    processor, held, handed = (after - before for before, after in zip(*ends, strict=True))
    return Turn(steps / seconds, processor / steps, held / seconds, handed / steps / 1e6)


def table(found: dict[Side, list[Turn]]) -> Iterator[str]:
    """Its lines."""
    columns = ["workers", "rows of word vectors sent", "steps a second", "times one worker"]
    columns += ["processor seconds of a step and worker", "held up by exchanges", "MB a step and worker"]
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for side, turns in found.items():
        rates = [turn.rate for turn in turns]
        ratios = [turn.rate / one.rate for one, turn in zip(found[Side(1)], turns, strict=True)]
        cells = [str(side.workers), side.sent, f"{fmean(rates):.2f} ± {stdev(rates):.2f}"]
        cells.append("" if side.workers == 1 else f"{fmean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        cells.append(f"{fmean(turn.processor for turn in turns):.3f}")
        if side.workers > 1:
            cells.append(f"{fmean(turn.held for turn in turns):.0%}")
            cells.append(f"{fmean(turn.megabytes for turn in turns):.1f}")
        yield f"| {' | '.join(cells + [''] * (len(columns) - len(cells)))} |"


@contextmanager
def _waiting(sides: Sequence[Side], recipe: Recipe, asked: argparse.Namespace) -> Iterator[dict[Side, Connection]]:
    """A wire to the first worker of each group, after its warm-up. The others wait for it in their exchanges."""
    context = multiprocessing.get_context("spawn")
    wires, processes = {}, []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for number, side in enumerate(sides):
                wires[side], other = context.Pipe()
                turns = Turns(other, asked.warm_up, asked.steps, asked.turns)
                for rank in range(side.workers):
                    meeting = f"file://{folder}/{number}"
                    given = (side, rank, meeting, recipe.flat(), asked.threads, turns)
                    processes.append(context.Process(target=worker, args=given, daemon=True))
                    processes[-1].start()
                other.close()  # so that a group that ends is noticed
                wires[side].recv()
            yield wires
        finally:
            for process in processes:
                process.join(10)
                process.terminate()


def worker(side: Side, rank: int, meeting: str, recipe: dict[str, Any], threads: int, turns: Turns) -> None:
    """Be one worker of a group and train. The first one takes turns; at the end it sends a mark for each step."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import torch
    import torch.distributed as dist

    from trainables.training import gradients
    from trainables.training.distributed import Workers
    from trainables.training.loop import Watcher, train

    torch.set_num_threads(threads)
    meter, place = Meter(), Workers()
    marks: list[Mark] = []
    if side.workers > 1:
        dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=side.workers)
        place = Workers.joined()
        dist.all_reduce, dist.all_gather = meter.counted(dist.all_reduce), meter.counted(dist.all_gather)
    if side.whole:
        gradients.TABLE_ROWS = sys.maxsize

    class Telling(Watcher):
        def step(self, step: int, scalars: dict[str, float]) -> None:
            marks.append((time.process_time(), meter.seconds, meter.bytes))
            turns.after(step)

    with redirect_stdout(sys.stderr):  # the table is for the other
        read = Recipe.from_flat(recipe)
        training, _ = built(read)
        # A step is told of when the next one is done.
        longer = read.override({"optimisation.max_steps": turns.last + 1, "optimisation.epochs": turns.last + 1})
        train(training.model, training.sampler, longer, 1, Telling(), place)
    if rank == 0:
        turns.wire.send(marks[: turns.last])
    if side.workers > 1:
        dist.destroy_process_group()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks scaling", description=__doc__)
    add_encoder(parser)
    parser.add_argument("--layers", type=int, default=2, help="of them the first so many (default: 2)")
    add_pairs(parser)
    parser.add_argument("--workers", nargs="+", type=int, default=[1, 2, 4], help="workers of a group (default: 1 2 4)")
    parser.add_argument("--threads", type=int, default=1, help="threads of a worker (default: 1)")
    parser.add_argument("--batch-size", type=int, default=64, help="triples of a step, of all workers (default: 64)")
    parser.add_argument("--warm-up", type=int, default=10, help="steps before the first turn (default: 10)")
    parser.add_argument("--steps", type=int, default=10, help="steps of a group in a turn (default: 10)")
    parser.add_argument("--turns", type=int, default=5, help="turns (default: 5)")
    return parser
