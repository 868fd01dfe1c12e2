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
from typing import Any, Literal

from benchmarks._asked import check_numbers
from trainables.errors import UserError

LONGEST_WARM_UP = 1024
"""A larger batch is not done once before it is timed."""

Chunk = Literal["auto"] | int | None


@dataclass(frozen=True)
class Measured:
    """Steps of one batch size."""

    seconds: float  # of one step
    peak_mb: float
    chunk: object  # how it was done at last: see `trainables.training.checkpoint.Chunk`


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, sizes=2, chunk=1, steps=1, threads=1)
    print(f"{asked.encoder}, {asked.threads} thread(s), MNRL on triples; the cache in passes of {asked.chunk} tokens\n")
    print("| triples | plain, s a step | plain, peak MB | cache, s a step | cache, peak MB | auto takes |")
    print("|---" * 6 + "|")
    for size in asked.sizes:
        plain, cached, auto = (_alone(asked, size, chunk) for chunk in (None, asked.chunk, "auto"))
        told = "the plain step" if auto and auto.chunk is None else "passes" if auto else "does not fit"
        if auto and isinstance(auto.chunk, int):
            told = f"passes of {auto.chunk:,} tokens"
        print(f"| {size:,} | {_cells(plain)} | {_cells(cached)} | {told} |", flush=True)


def _cells(measured: Measured | None) -> str:
    return "does not fit |" if measured is None else f"{measured.seconds:.2f} | {measured.peak_mb:,.0f}"


def _alone(asked: argparse.Namespace, size: int, chunk: Chunk) -> Measured | None:
    """In a process of its own; None where it does not fit."""
    context = multiprocessing.get_context("spawn")
    wire, other = context.Pipe()
    process = context.Process(target=_measure, args=(asked, size, chunk, other), daemon=True)
    process.start()
    other.close()
    try:
        measured: Measured | None = wire.recv()
    except EOFError:
        process.join()
        if process.exitcode != -signal.SIGKILL:
            raise UserError("a measurement broke off; what it says above is why") from None
        measured = None  # killed, for the machine's memory was full
    finally:
        process.join(10)
        process.terminate()
    return measured


def _measure(asked: argparse.Namespace, size: int, chunk: Chunk, wire: Connection) -> None:
    """Send what one batch size takes."""
    import torch

    from trainables.recipe import Recipe
    from trainables.training.chunks import USABLE, Chunks
    from trainables.training.distributed import Workers
    from trainables.training.gradients import GradientSum
    from trainables.training.memory import available_bytes, held_bytes
    from trainables.trial.build import build_encoder, build_model
    from trainables.trial.peak import forget_peak

    torch.set_num_threads(asked.threads)
    recipe = Recipe().preferring(
        {
            "encoder.name": asked.encoder,
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
            for step in range(asked.steps):
                chunks.step(batch, step)
            if device.type == "cuda":
                torch.cuda.synchronize()
        except torch.OutOfMemoryError:
            wire.send(None)
            return
    wire.send(Measured((time.perf_counter() - begin) / asked.steps, _peak_mb(device), chunks.chunk))


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
    parser = argparse.ArgumentParser(prog="python -m benchmarks big_batches", description=__doc__)
    parser.add_argument("--encoder", default="scenes-small", help="a model folder (default: scenes-small)")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[64, 256, 1024, 4096], help="triples a step (default: 64 256 1024 4096)"
    )
    parser.add_argument("--chunk", type=int, default=4096, help="tokens of a pass of the cache (default: 4096)")
    parser.add_argument("--steps", type=int, default=1, help="steps that are timed (default: 1)")
    parser.add_argument("--threads", type=int, default=1, help="default: 1")
    return parser
