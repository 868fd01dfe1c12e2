"""Training steps in a steady state: ours against sentence-transformers' trainer, and against the machine's own rate.

Each side is a process of its own with the same batches of sentences, the same loss and precision, and everyone's
defaults; `--peers` names settings of sentence-transformers. Each trains once. After its warm-up the sides take turns,
some steps each, first one, then another first; a ratio is taken within a turn, so that other work on the machine
affects all alike. Ratios are of the tokens of the data: a text that stands in several rows counts each time, however
often a side encodes it. The machine's rate is that of a product of the encoder's own shape, taken in each turn; a
side's arithmetic is that of the real tokens that it encodes, forward and backward, so that padding and all other work
lower its share.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from benchmarks._arithmetic import forward_flops, machine_rate
from benchmarks._asked import add_encoder, add_pairs, check_numbers, chosen_encoder
from benchmarks._training_loops import PEERS, WORK, Step, Turns, rotated, side
from trainables.corpora.layouts import Layout
from trainables.errors import UserError, choices
from trainables.recipe import Recipe
from trainables.trial.data_requests import sampler_request

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGETS = {"MNRL triples": 2.8, "SCL rows": 4.5}
"""How many times as fast as sentence-transformers with its defaults."""
SHARES = {"fp32": 0.8, "bf16": 0.5}
"""Of the machine's rate."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, batch_size=2, warm_up=1, steps=1, turns=2, threads=1)
    cores = sorted(os.sched_getaffinity(0))
    if max(asked.threads) > len(cores):
        raise UserError(f"--threads {max(asked.threads)} is more than the cores of this process, {len(cores)}")
    import torch
    from transformers import AutoConfig

    from trainables.machine import native_bf16

    encoder = chosen_encoder(asked)
    for name in asked.work:
        recipe = _recipe(encoder, asked, "fp32", name)
        recipe.part(Layout).check(sampler_request(recipe, seed=0))
    config = AutoConfig.from_pretrained(encoder)
    print(f"torch {torch.__version__}, batch {asked.batch_size}, {Path(asked.data).name}, {asked.turns} turns ", end="")
    print(f"of {asked.steps} steps after {asked.warm_up} of warm-up; means ± deviation over turns, ratios' ends\n")
    columns = ["threads", "precision", "work", "side", "triples or pairs a second", "tokens of the data a second"]
    columns += ["of the machine's rate", "padding", "peak MB", "ours is faster by"]
    print(f"| {' | '.join(columns)} |\n" + "|---" * len(columns) + "|", flush=True)
    for threads in asked.threads:
        os.sched_setaffinity(0, cores[:threads])  # of its processes, too: a tokenizer's threads find no other core
        torch.set_num_threads(threads)
        for precision in asked.precisions:
            if precision == "bf16" and native_bf16("cpu") is False:
                print("\nThis processor has no instructions for bf16, so it is left out.")
                continue
            for name in asked.work:
                sides = _measured(_recipe(encoder, asked, precision, name), asked, threads, config)
                for one, cells in table(sides, TARGETS.get(name), SHARES[precision]).items():
                    print("| " + " | ".join([str(threads), precision, name, one, *cells]) + " |", flush=True)


def _recipe(encoder: str, asked: argparse.Namespace, precision: str, name: str) -> Recipe:
    return Recipe().preferring(
        {
            "encoder.name": encoder,
            "pooling.mode": "mean",
            "corpus.nli": asked.data,
            "optimisation.batch_size": asked.batch_size,
            "optimisation.precision": precision,
            "objective.guide": encoder,
        }
        | WORK[name]
    )


def _measured(
    recipe: Recipe, asked: argparse.Namespace, threads: int, config: Any
) -> dict[str, list[dict[str, float]]]:
    """By side, turn by turn."""
    import torch

    precision = torch.bfloat16 if recipe.optimisation.precision == "bf16" else torch.float32
    sides = ["ours", *asked.peers]
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    rates = []
    with _waiting(sides, recipe, asked, threads) as wires:
        for turn in range(asked.turns):
            rates.append(machine_rate(config, precision))
            for name in rotated(sides, turn):
                wires[name].send("go on")
                seconds[name].append(wires[name].recv())
        measured = {}
        for name, wire in wires.items():
            wire.send("end")
            steps, peak = wire.recv()
            steps = steps[asked.warm_up :]
            turns = [steps[i * asked.steps : (i + 1) * asked.steps] for i in range(asked.turns)]
            measured[name] = [
                turn_numbers(*each, config) | {"peak": peak} for each in zip(turns, seconds[name], rates, strict=True)
            ]
    return measured


def turn_numbers(steps: Sequence[Step], seconds: float, rate: float, config: Any) -> dict[str, float]:
    """What a turn of a side comes to; `rate` is the machine's, in operations a second."""
    encoded = [length for step in steps for length in step.encoded]
    return {
        "units": sum(step.units for step in steps) / seconds,
        "tokens": sum(step.tokens for step in steps) / seconds,
        "share": 3 * forward_flops(config, encoded) / seconds / rate,
        "padding": 1 - sum(encoded) / sum(step.padded for step in steps),
    }


@contextmanager
def _waiting(
    sides: Sequence[str], recipe: Recipe, asked: argparse.Namespace, threads: int
) -> Iterator[dict[str, Connection]]:
    """A process for each side, after its warm-up."""
    context = multiprocessing.get_context("spawn")
    wires, processes = {}, []
    try:
        for name in sides:
            wires[name], other = context.Pipe()
            turns = Turns(other, asked.warm_up, asked.steps, asked.turns)
            process = context.Process(target=side, args=(name, recipe.flat(), threads, turns), daemon=True)
            process.start()
            other.close()  # so that a process that ends is noticed
            processes.append(process)
            wires[name].recv()
        yield wires
    finally:
        for process in processes:
            process.join(10)
            process.terminate()


def table(sides: dict[str, list[dict[str, float]]], goal: float | None, share: float) -> dict[str, list[str]]:
    """The cells of each side's line; `goal` is the ratio that is aimed at, if any, `share` that of the machine's
    rate."""
    lines = {}
    for name, turns in sides.items():
        number = {key: [turn[key] for turn in turns] for key in turns[0]}
        ratios = [ours["tokens"] / turn["tokens"] for ours, turn in zip(sides["ours"], turns, strict=True)]
        ratio = f"{fmean(ratios):.2f} ± {stdev(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        aimed = f" (target {share:.0%})" if name == "ours" else ""
        lines[name if name == "ours" else f"sentence-transformers, {name}"] = [
            f"{fmean(number['units']):.1f} ± {stdev(number['units']):.1f}",
            f"{fmean(number['tokens']):.0f}",
            f"{fmean(number['share']):.0%}{aimed}",
            f"{fmean(number['padding']):.0%}",
            f"{number['peak'][0] / 2**20:.0f}",
            "" if name == "ours" else ratio + (f", target {goal:g}" if name == "default" and goal else ""),
        ]
    return lines


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks training", description=__doc__)
    add_encoder(parser)
    add_pairs(parser)
    works = choices(map(repr, WORK))
    parser.add_argument(
        "--work", nargs="+", metavar="WORK", choices=list(WORK), default=list(WORK), help=f"{works} (default: all)"
    )
    parser.add_argument(
        "--peers",
        nargs="+",
        metavar="PEER",
        choices=list(PEERS),
        default=["default", "best"],
        help=f"settings of sentence-transformers: {choices(PEERS)} (default: default best)",
    )
    parser.add_argument(
        "--precisions", nargs="+", choices=("fp32", "bf16"), default=["fp32", "bf16"], help="default: both"
    )
    parser.add_argument("--threads", nargs="+", type=int, default=[1], help="threads and cores of a side (default: 1)")
    parser.add_argument("--batch-size", type=int, default=64, help="triples or pairs of a step (default: 64)")
    parser.add_argument("--warm-up", type=int, default=10, help="steps before the first turn (default: 10)")
    parser.add_argument("--steps", type=int, default=10, help="steps of a side in a turn (default: 10)")
    parser.add_argument("--turns", type=int, default=5, help="turns (default: 5)")
    return parser
