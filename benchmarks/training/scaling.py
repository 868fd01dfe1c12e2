"""Steps a second of one trial on several workers of this machine.

A side is a group of gloo processes with so many threads each, which trains MNRL on triples by a small encoder, as a
trial does. After its warm-up the groups take turns, some steps each; a ratio is taken within a turn. Bytes and seconds
of exchanges, the wait for slower workers included, are those of the first worker.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.options import add_encoder, add_number, add_pairs, chosen_encoder, parser_of
from benchmarks.tables import head, row
from benchmarks.training._loops import WORK, built
from benchmarks.training._turns import Turns, add_turns, take_turns
from trainables.recipe import Recipe

Mark = tuple[float, float, float]
"""Of the first worker so far: processor seconds, seconds of exchanges, bytes that it handed to them."""


@dataclass(frozen=True)
class Turn:
    """What a group's first worker did in it."""

    rate: float  # steps a second
    processor: float  # seconds a step
    waiting: float  # share of its time in exchanges
    megabytes: float  # a step


class Meter:
    """What this process hands to exchanges, and how long they take."""

    def __init__(self) -> None:
        self.bytes, self.seconds = 0, 0.0

    def timed(self, run: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Run it; its seconds count."""
        began = time.perf_counter()
        result = run(*arguments, **options)
        self.seconds += time.perf_counter() - began
        return result

    def counted(self, exchange: Callable[..., Any]) -> Callable[..., Any]:
        """The same function of `torch.distributed`, with the bytes of its tensors and its seconds counted."""
        from torch import Tensor

        def run(*arguments: Any, **options: Any) -> Any:
            self.bytes += sum(argument.nbytes for argument in arguments if isinstance(argument, Tensor))
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
    parser = parser_of(__name__, __doc__)
    add_encoder(parser)
    add_pairs(parser)
    add_number(parser, "--layers", 2, "of them the first so many")
    add_number(parser, "--workers", [1, 2, 4], "workers of a group")
    add_number(parser, "--threads", 1, "threads of a worker")
    add_number(parser, "--batch-size", 64, "triples of a step, of all workers", least=2)
    add_turns(parser)
    options = parser.parse_args(arguments)
    encoder = chosen_encoder(options)
    import torch

    recipe = recipe_of(encoder, options.layers, options.data, options.batch_size)
    cores = len(os.sched_getaffinity(0))
    print(f"torch {torch.__version__}, {cores} cores, {options.threads} threads a worker, {options.layers} layers,")
    print(
        f"batch {options.batch_size}, {Path(options.data).name}, {options.turns} turns of {options.steps} steps after"
    )
    print(f"{options.warm_up} of warm-up; means ± deviation over turns, ratios' ends\n", flush=True)
    print("\n".join(table(measured(sorted({1, *options.workers}), recipe, options))))


def recipe_of(encoder: str, layers: int, data: str, batch_size: int) -> Recipe:
    """What all sides train."""
    settings = {"encoder.name": encoder, "encoder.layers": layers, "pooling.mode": "mean", "corpus.nli": data}
    return Recipe().preferring(settings | {"optimisation.batch_size": batch_size} | WORK["MNRL triples"])


def measured(groups: Sequence[int], recipe: Recipe, options: Any) -> dict[int, list[Turn]]:
    """By number of workers, turn by turn."""
    with tempfile.TemporaryDirectory() as folder:
        sides = {
            workers: (
                worker,
                [
                    (workers, rank, f"file://{folder}/{workers}", recipe.flat(), options.threads)
                    for rank in range(workers)
                ],
            )
            for workers in groups
        }
        seconds, marks = take_turns(sides, options)
    return {
        workers: [
            turn_of(options.steps, *turn)
            for turn in zip(
                seconds[workers], pairwise(marks[workers][options.warm_up - 1 :: options.steps]), strict=True
            )
        ]
        for workers in groups
    }


def turn_of(steps: int, seconds: float, ends: tuple[Mark, Mark]) -> Turn:
    """From the first worker's marks before it and after it."""
    processor, waiting, sent = (after - before for before, after in zip(*ends, strict=True))
    return Turn(steps / seconds, processor / steps, waiting / seconds, sent / steps / 1e6)


def table(groups: Mapping[int, Sequence[Turn]]) -> Iterator[str]:
    """Its lines."""
    columns = ("workers", "steps a second", "times one worker", "processor seconds of a step and worker")
    yield head(*columns, "time waiting for exchanges", "MB a step and worker")
    for workers, turns in groups.items():
        rates = [turn.rate for turn in turns]
        ratios = [turn.rate / alone.rate for alone, turn in zip(groups[1], turns, strict=True)]
        cells = [f"{fmean(rates):.2f} ± {stdev(rates):.2f}"]
        cells.append("" if workers == 1 else f"{fmean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
        cells.append(f"{fmean(turn.processor for turn in turns):.3f}")
        cells.append("" if workers == 1 else f"{fmean(turn.waiting for turn in turns):.0%}")
        cells.append("" if workers == 1 else f"{fmean(turn.megabytes for turn in turns):.1f}")
        yield row(workers, *cells)


def worker(workers: int, rank: int, meeting: str, recipe: dict[str, Any], threads: int, turns: Turns) -> None:
    """Be one worker of a group and train. The first one takes turns; at the end it sends a mark for each step."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import torch
    import torch.distributed as dist

    from trainables.training.distributed import Workers
    from trainables.training.loop import Watcher, train

    torch.set_num_threads(threads)
    meter, place = Meter(), Workers()
    marks: list[Mark] = []
    if workers > 1:
        dist.init_process_group("gloo", init_method=meeting, rank=rank, world_size=workers)
        place = Workers.joined()
        dist.all_reduce, dist.all_gather = meter.counted(dist.all_reduce), meter.counted(dist.all_gather)

    class Marking(Watcher):
        def step(self, step: int, scalars: dict[str, float]) -> None:
            marks.append((time.process_time(), meter.seconds, meter.bytes))
            turns.after(step)

    with redirect_stdout(sys.stderr):  # the table is for the other
        read = Recipe.from_flat(recipe)
        training, _ = built(read)
        # A step is told of when the next one is done.
        longer = read.override({"optimisation.max_steps": turns.last + 1, "optimisation.epochs": turns.last + 1})
        train(training.model, training.sampler, longer, 1, Marking(), place)
    if rank == 0:
        turns.wire.send(marks[: turns.last])
    if workers > 1:
        dist.destroy_process_group()
