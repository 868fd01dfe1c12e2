"""Batches of 64 to 4,096: the plain step and the gradient cache side by side, seconds and peak memory.

A step is forward and backward of multiple negatives ranking on triples of random tokens, whose lengths are alike to
those of SNLI, in training precision. Each measurement is a process of its own, so that its peak memory is its own. A
plain step that is expected to take more than half of the free memory is left out on a CPU: the process would be killed.
"""

from __future__ import annotations

import argparse
import multiprocessing
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.options import add_number, parser_of
from benchmarks.tables import head, row
from trainables.errors import UserError

LONGEST_WARM_UP = 1024
"""A larger batch is not done once before it is timed."""

Chunk = int | None
"""Tokens of a pass; None: the plain step."""


@dataclass(frozen=True)
class BatchCost:
    """Steps of one batch size."""

    seconds: float  # of one step
    peak_mb: float


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    options = _parser().parse_args(arguments)
    print(f"{options.encoder}, {options.threads} thread(s), MNRL on triples; passes of {options.chunk} tokens\n")
    print(head("triples", "plain, s a step", "plain, peak MB", "in passes, s a step", "in passes, peak MB"))
    for size in options.sizes:
        sides = [_alone(options, size, chunk) for chunk in (None, options.chunk)]
        print(row(f"{size:,}", *(cell for side in sides for cell in _cells(side))), flush=True)


def _cells(measured: BatchCost | None) -> tuple[str, str]:
    return ("does not fit", "") if measured is None else (f"{measured.seconds:.2f}", f"{measured.peak_mb:,.0f}")


def _alone(options: argparse.Namespace, size: int, chunk: Chunk) -> BatchCost | None:
    """In a process of its own; None where it does not fit."""
    context = multiprocessing.get_context("spawn")
    wire, other = context.Pipe()
    process = context.Process(target=_measure, args=(options, size, chunk, other), daemon=True)
    process.start()
    other.close()
    try:
        measured: BatchCost | None = wire.recv()
    except EOFError:
        process.join()
        if process.exitcode != -signal.SIGKILL:
            raise UserError("a measurement broke off; what it says above is why") from None
        measured = None  # killed, for the machine's memory was full
    finally:
        process.join(10)
        process.terminate()
    return measured


def _measure(options: argparse.Namespace, size: int, chunk: Chunk, wire: Connection) -> None:
    """Send what one batch size takes."""
    import torch

    from trainables.recipe import Recipe
    from trainables.training.chunks import USABLE, Chunks
    from trainables.training.distributed import Workers
    from trainables.training.gradients import GradientSum
    from trainables.training.memory import available_bytes, held_bytes
    from trainables.trial.build import build_encoder, build_model
    from trainables.trial.peak import forget_peak

    torch.set_num_threads(options.threads)
    recipe = Recipe().preferring(
        {
            "encoder.name": options.encoder,
            "pooling.mode": "mean",
            "corpus.layout": "groups",
            "objective.name": "mnrl",
            "objective.temperature": 0.05,
        }
    )
    encoder: Any = build_encoder(recipe, 1, None)
    model = build_model(recipe, encoder)
    model.train()
    batch = _triples(size, encoder.tokenizer.vocab_size)
    device = encoder.device
    free = available_bytes(device)
    if chunk is None and device.type == "cpu" and free is not None:
        sample = batch.tokens[:64]
        each = held_bytes(encoder, sample) / sum(map(len, sample))
        if each * sum(map(len, batch.tokens)) > USABLE * free:
            wire.send(None)
            return
    with GradientSum(model.parameters(), Workers()) as gradients:
        chunks = Chunks(model, chunk, size, Workers(), gradients)
        forget_peak()
        try:
            if size <= LONGEST_WARM_UP or device.type == "cuda":
                chunks.step(batch, 0)
            begin = time.perf_counter()
            for step in range(options.steps):
                chunks.step(batch, step)
            if device.type == "cuda":
                torch.cuda.synchronize()
        except torch.OutOfMemoryError:
            wire.send(None)
            return
    wire.send(BatchCost((time.perf_counter() - begin) / options.steps, _peak_mb(device)))


def _peak_mb(device: Any) -> float:
    import resource

    import torch

    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _triples(size: int, words: int) -> Any:
    """Anchors, positives and hard negatives; 7 to 23 tokens each, 14 in the mean."""
    import torch

    from trainables.training.model import TokenizedBatch

    random = torch.Generator().manual_seed(0)
    lengths = (7 + 16 * torch.rand(3 * size, generator=random) ** 1.3).round().long().tolist()
    anchor = torch.arange(size)
    return TokenizedBatch(
        tokens=[torch.randint(words, (length,), generator=random).tolist() for length in lengths],
        text=torch.arange(3 * size),
        premise=anchor.repeat(2),
        hypothesis=torch.cat([anchor + size, anchor + 2 * size]),
        label=torch.tensor([0, 2]).repeat_interleave(size),
        group=anchor.repeat(2),
    )


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--encoder", default="scenes-small", help="a model folder (default: scenes-small)")
    add_number(parser, "--sizes", [64, 256, 1024, 4096], "triples a step", least=2)
    add_number(parser, "--chunk", 4096, "tokens of a pass of the cache")
    add_number(parser, "--steps", 1, "steps that are timed")
    add_number(parser, "--threads", 1, "threads")
    return parser
