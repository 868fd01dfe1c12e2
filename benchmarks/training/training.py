"""Training steps in a steady state: ours against sentence-transformers' trainer, and against the machine's own rate.

Each side is a process of its own with the same batches of sentences, the same loss and precision, and its own defaults.
The side "best" is sentence-transformers with its fastest settings. Each side trains once. After its warm-up the sides
take turns of some steps; a ratio is taken within a turn. Ratios are of the tokens of the data: a text in several rows
counts each time, however often a side encodes it. The machine's rate is that of a matrix product of the encoder's
shape, measured in each turn. A side's arithmetic is that of the real tokens that it encodes, forward and backward, so
padding and all other work lower its share.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks.options import add_encoder, add_number, chosen_encoder, parser_of
from benchmarks.tables import head, row
from benchmarks.training._arithmetic import forward_flops, machine_rate
from benchmarks.training._loops import WORK, TrainedStep, take_turns
from trainables.corpora.layouts import Layout
from trainables.errors import UserError, choices
from trainables.recipe import SCENES, Recipe
from trainables.trial.data_requests import sampler_request

TARGETS = {"MNRL triples": 2.8, "SCL rows": 4.5}
"""Target speeds of our training, as multiples of the speed of sentence-transformers with its defaults."""
SHARES = {"fp32": 0.8, "bf16": 0.5}
"""Target shares of the machine's rate that our training should reach, by precision."""


def main(arguments: Sequence[str]) -> None:
    """Measure all trainings, and print a markdown table."""
    options = _parser().parse_args(arguments)
    cores = sorted(os.sched_getaffinity(0))
    if max(options.threads) > len(cores):
        raise UserError(f"--threads {max(options.threads)} is more than the cores of this process, {len(cores)}")
    import torch
    from transformers import AutoConfig

    from trainables.machine import native_bf16

    encoder = chosen_encoder(options)
    for name in options.work:
        recipe = _recipe(encoder, options, "fp32", name)
        recipe.part(Layout).check(sampler_request(recipe, seed=0))
    config = AutoConfig.from_pretrained(encoder)
    print(
        f"torch {torch.__version__}, batch {options.batch_size}, {Path(options.data).name}, {options.turns} turns of "
    )
    print(f"{options.steps} steps after {options.warm_up} of warm-up; means ± deviation over turns, ratios' ends\n")
    columns = ("threads", "precision", "work", "side", "triples or pairs a second", "tokens of the data a second")
    print(head(*columns, "of the machine's rate", "padding", "peak MB", "ours is faster by"), flush=True)
    for threads in options.threads:
        os.sched_setaffinity(0, cores[:threads])  # for its processes too: threads of a tokenizer use only these cores
        torch.set_num_threads(threads)
        for precision in options.precisions:
            if precision == "bf16" and native_bf16("cpu") is False:
                print("\nThis processor has no instructions for bf16, so it is left out.")
                continue
            for name in options.work:
                turns = _measured(_recipe(encoder, options, precision, name), options, threads, config)
                for title, cells in table(turns, TARGETS.get(name), SHARES[precision]).items():
                    print(row(threads, precision, name, title, *cells), flush=True)


def _recipe(encoder: str, options: argparse.Namespace, precision: str, name: str) -> Recipe:
    settings = {
        "encoder.name": encoder,
        "pooling.mode": "mean",
        "corpus.nli": options.data,
        "optimisation.batch_size": options.batch_size,
        "optimisation.precision": precision,
        "objective.guide": encoder,
    }
    return Recipe().preferring(settings | WORK[name])


def _measured(
    recipe: Recipe, options: argparse.Namespace, threads: int, config: Any
) -> dict[str, list[dict[str, float]]]:
    """Return the measured numbers of each turn (`turn_numbers`), by side."""
    import torch

    precision = torch.bfloat16 if recipe.optimisation.precision == "bf16" else torch.float32
    rates: list[float] = []
    seconds, ends = take_turns(recipe, threads, options, lambda: rates.append(machine_rate(config, precision)))
    measured = {}
    for name, (all_steps, peak) in ends.items():
        steps = all_steps[options.warm_up :]
        turns = [steps[i * options.steps : (i + 1) * options.steps] for i in range(options.turns)]
        measured[name] = [
            turn_numbers(*turn, config) | {"peak": peak} for turn in zip(turns, seconds[name], rates, strict=True)
        ]
    return measured


def turn_numbers(steps: Sequence[TrainedStep], seconds: float, rate: float, config: Any) -> dict[str, float]:
    """Return the numbers of one side's turn; `rate` is the machine's rate in operations a second."""
    encoded = [length for step in steps for length in step.encoded]
    return {
        "units": sum(step.units for step in steps) / seconds,
        "tokens": sum(step.tokens for step in steps) / seconds,
        "share": 3 * forward_flops(config, encoded) / seconds / rate,
        "padding": 1 - sum(encoded) / sum(step.padded for step in steps),
    }


def table(sides: dict[str, list[dict[str, float]]], goal: float | None, share: float) -> dict[str, list[str]]:
    """Return the cells of the table's line of each side, by side. `goal` is the target ratio, if any, `share` the
    target share of the machine's rate."""
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
    parser = parser_of(__name__, __doc__)
    add_encoder(parser)
    pairs = "labelled pairs: files, a folder or a hub id, as --nli of a study takes them (default: the built-in ones)"
    parser.add_argument("--data", default=SCENES, help=pairs)
    works = choices(map(repr, WORK))
    parser.add_argument(
        "--work", nargs="+", metavar="WORK", choices=list(WORK), default=list(WORK), help=f"{works} (default: all)"
    )
    both = ["fp32", "bf16"]
    parser.add_argument("--precisions", nargs="+", choices=both, default=both, help="default: both")
    add_number(parser, "--threads", [1], "threads and cores of a side")
    add_number(parser, "--batch-size", 64, "triples or pairs of a step", least=2)
    add_number(parser, "--warm-up", 10, "steps before the first turn")
    add_number(parser, "--steps", 10, "steps of a side in a turn")
    add_number(parser, "--turns", 5, "turns", least=2)
    return parser
