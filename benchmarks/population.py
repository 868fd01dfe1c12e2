"""Trials over a frozen encoder (CLSR): a population trained as one against one trial after another.

There are two comparisons, both in processor time of one thread (unless --threads), so that other work on the machine
affects both sides alike.

Whole trials: the encoder is loaded, it embeds the training and the test sentences, the adapter is trained, and
SentEval's STS tasks are scored. One after another, each trial does all of that with a store of embeddings of its own.
In the population only training and scoring are done for each member; the rest is done once.

Training only (the steps): both sides find the embeddings in the store, and neither evaluates.

One after another only a sample of the members is timed, a different one in each run, and their losses are compared
with the population's. Members differ in temperature, learning rate and seed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks._minilm import minilm
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import SCENES, SCENES_ENCODER, Recipe
from trainables.trial.spec import TrialSpec

EVALUATION = EvaluationConfig(SCENES, ("sts", "STSBenchmark"))


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    import torch

    from trainables.trial.run import run_trial

    torch.set_num_threads(asked.threads)
    run_trial(
        _trials(asked, SCENES_ENCODER, 8)[0].recipe.override({"optimisation.max_steps": 1}), 0, EVALUATION
    )  # loads libraries
    print(
        f"torch {torch.__version__}, {asked.threads} thread(s), {asked.members} members, {asked.steps} steps, "
        f"{asked.runs} runs of {asked.sample} trials one after another; ratios: median (least to most)\n"
    )
    print(
        "| encoder | batch | whole trial, s | in a population, s | ratio | step, ms | in a population, ms | ratio |",
        end="",
    )
    print(" loss, largest relative difference |\n" + "|---" * 9 + "|")
    for encoder in asked.encoders:
        for batch_size in asked.batch_sizes:
            runs = [_run(asked, encoder, batch_size, number) for number in range(asked.runs)]
            whole = sorted(run.trial / run.trial_together for run in runs)
            steps = sorted(run.step / run.step_together for run in runs)
            print(
                f"| {Path(encoder).name} | {batch_size} "
                f"| {median(run.trial for run in runs):.1f} | {median(run.trial_together for run in runs):.2f} "
                f"| {median(whole):.1f} ({whole[0]:.1f} to {whole[-1]:.1f}) "
                f"| {1000 * median(run.step for run in runs):.1f} "
                f"| {1000 * median(run.step_together for run in runs):.2f} "
                f"| {median(steps):.1f} ({steps[0]:.1f} to {steps[-1]:.1f}) "
                f"| {max(run.difference for run in runs):.1e} |",
                flush=True,
            )


@dataclass(frozen=True)
class _Run:
    """Seconds of processor time for one trial, and for one step of its training."""

    trial: float
    trial_together: float
    step: float
    step_together: float
    difference: float


def _run(asked: argparse.Namespace, encoder: str, batch_size: int, number: int) -> _Run:
    from trainables.trial.population import run_population
    from trainables.trial.run import run_trial

    specs = _trials(asked, encoder, batch_size)
    chosen = [(number * asked.sample + i) % asked.members for i in range(asked.sample)]
    with tempfile.TemporaryDirectory() as scratch:
        shared = Path(scratch)
        begin = time.process_time()
        together = list(run_population(specs, shared=shared))
        trial_together = (time.process_time() - begin) / len(specs)
        begin = time.process_time()
        alone = [run_trial(specs[i].recipe, specs[i].seed, EVALUATION, shared=shared / f"of {i} alone") for i in chosen]
        trial = (time.process_time() - begin) / len(chosen)
        step, step_together = _training_only(specs, chosen, shared)
    losses = [(result.training["loss"], together[i].training["loss"]) for i, result in zip(chosen, alone, strict=True)]
    difference = max(abs(one - other) / abs(one) for one, other in losses if one is not None and other is not None)
    return _Run(trial, trial_together, step / asked.steps, step_together / asked.steps, difference)


def _training_only(specs: Sequence[TrialSpec], chosen: Sequence[int], shared: Path) -> tuple[float, float]:
    """Seconds of one member's training by itself, and of its share in the population's."""
    from trainables.training.distributed import Workers
    from trainables.training.loop import Watcher, train
    from trainables.training.population_training import train_population
    from trainables.trial.population import build_members

    members, _ = build_members(specs, shared)
    begin = time.process_time()
    train_population(members)
    together = (time.process_time() - begin) / len(members)
    fresh, _ = build_members([specs[i] for i in chosen], shared)
    begin = time.process_time()
    for member, i in zip(fresh, chosen, strict=True):
        train(member.model, member.sampler, member.recipe, specs[i].seed, Watcher(), Workers())
    return (time.process_time() - begin) / len(chosen), together


def _trials(asked: argparse.Namespace, encoder: str, batch_size: int) -> list[TrialSpec]:
    """The members."""
    base = Recipe().preferring(
        {
            "encoder.name": encoder,
            "encoder.adapter": "mlp",
            "pooling.mode": "mean",
            "head.kind": "linear",
            "corpus.nli": SCENES,
            "corpus.layout": "pairs",
            "corpus.limit": asked.pairs,
            "objective.name": "ntxent",
            "optimisation.batch_size": batch_size,
            "optimisation.epochs": asked.steps,
            "optimisation.max_steps": asked.steps,
            "optimisation.optimiser": "sgd",
            "optimisation.schedule": "cosine",
            "optimisation.weight_decay": 1e-4,
        }
    )
    recipes = [
        base.override(
            {
                "objective.temperature": (0.05, 0.1, 0.2, 0.5)[i % 4],
                "optimisation.learning_rate": (0.02, 0.05, 0.1)[i // 4 % 3],
            }
        )
        for i in range(asked.members)
    ]
    return [TrialSpec(recipe, 1 + i // 12, EVALUATION) for i, recipe in enumerate(recipes)]


def _encoders() -> list[str]:
    """The built-in encoder, and MiniLM where it is installed."""
    return [SCENES_ENCODER, *filter(None, [minilm()])]


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise UserError(f"{text!r} is no whole number above 0")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks population", description=__doc__)
    parser.add_argument("--encoders", nargs="+", default=_encoders(), help="default: the built-in one and MiniLM")
    parser.add_argument("--batch-sizes", type=_positive, nargs="+", default=[64, 512])
    parser.add_argument("--members", type=_positive, default=16)
    parser.add_argument("--steps", type=_positive, default=16)
    parser.add_argument("--pairs", type=_positive, default=3000, help="labelled pairs, of which a third are entailed")
    parser.add_argument("--sample", type=_positive, default=1, help="members timed one after another in each run")
    parser.add_argument("--runs", type=_positive, default=3)
    parser.add_argument("--threads", type=_positive, default=1)
    return parser
