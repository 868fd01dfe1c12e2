"""A whole search: ours, with and without its finals, against sentence-transformers' documented one, the same recipes.

    python -m benchmarks whole_search --train triplets.jsonl --dev dev.csv --test test.csv --encoder FOLDER

The peer is what its page on hyperparameter search shows: `SentenceTransformerTrainer.hyperparameter_search` by Optuna,
the loss MNRL, a model's score by Spearman on the dev part. Recipes are drawn beforehand, and both sides run them in the
same order: epochs 1 to 2, batch 32 to 128, warm-up 0 to 30 %, learning rate 1e-6 to 1e-4. A side is a whole process,
from its start to its last word; they take turns, and a ratio is taken within one turn. Ours places its trials as it
does by default.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks._asked import add_encoder, check_numbers, chosen_encoder
from trainables.errors import UserError

SIDES = ("sentence_transformers", "ours", "ours with finals")
SAMPLER = """
import json
from pathlib import Path

from optuna.samplers import BaseSampler

from study.search.samplers import SAMPLERS, SamplerEntry

RECIPES = json.loads(Path({asked!r}).read_text())["recipes"]


class Listed(BaseSampler):
    def infer_relative_search_space(self, study, trial):
        return {{}}

    def sample_relative(self, study, trial, search_space):
        return {{}}

    def sample_independent(self, study, trial, name, distribution):
        return RECIPES[trial.number % len(RECIPES)][name]


SAMPLERS.add(SamplerEntry("listed", lambda seed: Listed(), "recipes of a list", limits=False))
"""
"""A plugin for our side, which asks for the recipes of the file that both sides read."""
SPACE = """
import json
from pathlib import Path

from search_spaces.space import Domain, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.senteval.tasks import TASKS, Task

ASKED = json.loads(Path({asked!r}).read_text())
TASKS.add(Task("dev", "scored_pairs", "table", files=(ASKED["dev"], ASKED["test"])))
SPACE = Space(
    name="whole_search",
    title="A whole search",
    paper="sentence-transformers' example of a search",
    base=Recipe().preferring(
        {{
            "encoder.name": ASKED["encoder"],
            "pooling.mode": "mean",
            "corpus.nli": ASKED["train"],
            "corpus.layout": "groups",
            "objective.name": "mnrl",
            "objective.positives": 1,
            "objective.negatives": 1,
            "objective.temperature": 0.05,
        }}
    ),
    evaluation=EvaluationConfig(tasks=("dev",)),
    domains=(
        Domain("optimisation.epochs", low=1, high=2),
        Domain("optimisation.batch_size", low=32, high=128),
        Domain("optimisation.warmup", low=0.0, high=0.3),
        Domain("optimisation.learning_rate", low=1e-6, high=1e-4, log=True),
    ),
    goals=("dev",),
    shown=(),
)
"""
"""Its space."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, recipes=1, turns=1)
    encoder = chosen_encoder(asked)
    print(f"{asked.recipes} recipes, {asked.turns} turns, {os.cpu_count()} cores, {Path(encoder).name}\n")
    print("| side | minutes | of the peer's time | best on dev |\n|---|---|---|---|")
    turns: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    for turn in range(asked.turns):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "asked.json"
            here = {"train": asked.train, "dev": asked.dev, "test": asked.test, "encoder": encoder}
            here = {name: str(Path(place).resolve()) for name, place in here.items()}
            file.write_text(json.dumps({**here, "recipes": recipes(asked.recipes, seed=turn)}), encoding="utf-8")
            for side in SIDES:
                turns[side].append(_measured(side, file))
    for side in SIDES:
        minutes = [seconds / 60 for seconds, _ in turns[side]]
        ratios = [ours / theirs for (ours, _), (theirs, _) in zip(turns[side], turns[SIDES[0]], strict=True)]
        best = ", ".join(f"{score:.2f}" for _, score in turns[side])
        print(f"| {side} | {_spread(minutes)} | {_spread(ratios)} | {best} |")


def recipes(number: int, seed: int) -> list[dict[str, Any]]:
    """So many recipes, drawn as the peer's example draws them: a key of ours and its value."""
    drawn = np.random.default_rng(seed)
    return [
        {
            "optimisation.epochs": int(drawn.integers(1, 3)),
            "optimisation.batch_size": int(drawn.integers(32, 129)),
            "optimisation.warmup": float(drawn.uniform(0, 0.3)),
            "optimisation.learning_rate": float(np.exp(drawn.uniform(np.log(1e-6), np.log(1e-4)))),
        }
        for _ in range(number)
    ]


def written(asked: Path) -> tuple[Path, Path]:
    """Our side's plugin and space, beside the file that both sides read."""
    sampler, space = asked.with_name("listed.py"), asked.with_name("whole_search.py")
    sampler.write_text(SAMPLER.format(asked=str(asked)), encoding="utf-8")
    space.write_text(SPACE.format(asked=str(asked)), encoding="utf-8")
    return sampler, space


def _measured(side: str, file: Path) -> tuple[float, float]:
    """Seconds of the whole process, and the best score on the dev part in %."""
    trials = len(json.loads(file.read_text(encoding="utf-8"))["recipes"])
    command = [sys.executable, "-m", "benchmarks._peer_search", str(file)]
    results = file.parent / side.replace(" ", "-")
    if side != SIDES[0]:
        sampler, space = written(file)
        finals = "3x5" if side == SIDES[2] else "none"
        command = [
            sys.executable,
            "study/run.py",
            "--space",
            str(space),
            "--plugin",
            str(sampler),
            "--search",
            "optuna",
        ]
        command += ["--sampler", "listed"]
        command += ["--trials", str(trials), "--finals", finals, "--results", str(results)]
    began = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if done.returncode:
        raise UserError(f"{side} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
    if side == SIDES[0]:
        return seconds, float(done.stdout.split()[-1])
    with (results / "trials.csv").open(encoding="utf-8", newline="") as rows:
        scores = [float(row["dev.dev_spearman"]) for row in csv.DictReader(rows) if row["dev.dev_spearman"]]
    return seconds, max(scores)


def _spread(numbers: list[float]) -> str:
    """The median, and from least to most."""
    return f"{median(numbers):.2f} ({min(numbers):.2f} to {max(numbers):.2f})"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks whole_search", description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True, help="triplets with the columns anchor, positive, negative (JSONL)")
    parser.add_argument("--dev", required=True, help="scored pairs with the columns sentence1, sentence2, score (CSV)")
    parser.add_argument("--test", required=True, help="likewise, what our finals are judged by")
    add_encoder(parser)
    parser.add_argument("--recipes", type=int, default=20, help="recipes of each search (default: 20)")
    parser.add_argument("--turns", type=int, default=1, help="how often each side runs (default: 1)")
    return parser
