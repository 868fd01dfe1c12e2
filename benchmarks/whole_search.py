"""A whole search: ours, with and without its finals, against sentence-transformers' documented one, the same recipes.

    python -m benchmarks whole_search --train triplets.jsonl --dev dev.csv --test test.csv --encoder FOLDER

The peer is what its page on hyperparameter search shows: `SentenceTransformerTrainer.hyperparameter_search` by Optuna,
the loss MNRL, a model's score by Spearman on the dev part. Recipes are drawn beforehand, and both sides run them in the
same order: epochs 1 to 2, batch 32 to 128, warm-up 0 to 30 %, learning rate 1e-6 to 1e-4. A side is a whole process,
from its start to its last word; they take turns, and a ratio is taken within one turn. Ours places its trials as it
does by default.

A second table says where our time went. `start`, `search`, `finals` and `end` follow each other and are the whole
process: until its first trial begins, until its last recipe is scored, until its last trial is, and the report. The
rest is of its trials: how many ran at once, and what they spent their own seconds on.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks._asked import add_encoder, check_numbers, chosen_encoder
from reports.ledger import LEDGER, Ledger, Record
from reports.ledger.finals import is_fresh
from study.callbacks.console import spent_on
from trainables.errors import UserError

PEER, FINALS = "sentence_transformers", "ours with finals"
SIDES = (PEER, "ours", FINALS)
PHASES = ("start", "search", "finals", "end")
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


@dataclass(frozen=True)
class Turn:
    """What a side took, and found."""

    seconds: float
    best: float
    """Its best score on the dev part, in %."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """Of ours, where the time went (`parts_of`)."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print markdown tables."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, recipes=1, turns=1)
    if PEER not in asked.sides:
        raise UserError(f"--sides must name {PEER} too, as the times of the others are given as parts of its time")
    encoder = chosen_encoder(asked)
    turns: dict[str, list[Turn]] = {side: [] for side in SIDES if side in asked.sides}
    for turn in range(asked.turns):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "asked.json"
            here = {"train": asked.train, "dev": asked.dev, "test": asked.test, "encoder": encoder}
            here = {name: str(Path(place).resolve()) for name, place in here.items()}
            file.write_text(json.dumps({**here, "recipes": recipes(asked.recipes, seed=turn)}), encoding="utf-8")
            for side, found in turns.items():
                found.append(_measured(side, file))
                print(f"turn {turn + 1}, {side}: {found[-1].seconds / 60:.2f} minutes", file=sys.stderr, flush=True)
    print(f"{asked.recipes} recipes, {asked.turns} turns, {os.cpu_count()} cores, {Path(encoder).name}\n")
    print("\n".join(_table(turns)))


def parts_of(records: Sequence[Record], began: float, ended: float) -> dict[str, float]:
    """Where the time of our process went, between these moments (seconds since 1970): the minutes of each of `PHASES`;
    `trials at once`, on average from the first trial's start to the last one's end; and the share of each part of the
    trials' own seconds. A record has its end to the second, so the phases are as exact."""
    ends = [datetime.datetime.fromisoformat(record.finished_at).timestamp() for record in records]
    first = min(end - record.cost["seconds"] for record, end in zip(records, ends, strict=True))
    explored = max(end for record, end in zip(records, ends, strict=True) if not is_fresh(record.seed))
    last = max(ends)
    moments = (began, first, explored, last, ended)
    minutes = [(later - moment) / 60 for moment, later in itertools.pairwise(moments)]
    seconds: Counter[str] = Counter()
    for record in records:
        seconds.update(spent_on(record))
    whole = seconds.total()
    shares = {name: took / whole for name, took in seconds.items()}
    return {**dict(zip(PHASES, minutes, strict=True)), "trials at once": whole / (last - first), **shares}


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


def _measured(side: str, file: Path) -> Turn:
    trials = len(json.loads(file.read_text(encoding="utf-8"))["recipes"])
    command = [sys.executable, "-m", "benchmarks._peer_search", str(file)]
    results = file.parent / side.replace(" ", "-")
    if side != PEER:
        sampler, space = written(file)
        command = [sys.executable, "study/run.py", "--space", str(space), "--plugin", str(sampler)]
        command += ["--search", "optuna", "--sampler", "listed", "--trials", str(trials)]
        command += ["--finals", "3x5" if side == FINALS else "none", "--results", str(results)]
    moment, began = time.time(), time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if done.returncode:
        raise UserError(f"{side} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
    if side == PEER:
        return Turn(seconds, float(done.stdout.split()[-1]))
    records = Ledger(results / LEDGER).read()
    best = max(record.scores["dev"]["dev_spearman"] for record in records if record.scores)
    return Turn(seconds, best, parts_of(records, moment, moment + seconds))


def _table(turns: Mapping[str, Sequence[Turn]]) -> list[str]:
    """Lines of markdown: the sides' times, and below, where ours went."""
    lines = ["| side | minutes | of the peer's time | best on dev |", "|---|---|---|---|"]
    for side, found in turns.items():
        minutes = [turn.seconds / 60 for turn in found]
        ratios = [turn.seconds / peer.seconds for turn, peer in zip(found, turns[PEER], strict=True)]
        best = ", ".join(f"{turn.best:.2f}" for turn in found)
        lines.append(f"| {side} | {_spread(minutes)} | {_spread(ratios)} | {best} |")
    ours = {side: [turn.parts for turn in found] for side, found in turns.items() if side != PEER}
    if ours:
        columns = list(next(iter(ours.values()))[0])
        lines += ["", "Where our time went: minutes by phase, and shares of the trials' own seconds.", ""]
        lines += [f"| side | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
        for side, parts in ours.items():
            cells = [_spread([one[column] for one in parts], _form(column)) for column in columns]
            lines.append(f"| {side} | {' | '.join(cells)} |")
    return lines


def _form(column: str) -> str:
    return ".2f" if column in (*PHASES, "trials at once") else ".0%"


def _spread(numbers: Sequence[float], form: str = ".2f") -> str:
    """The median, and from least to most where there are several."""
    most = f" ({min(numbers):{form}} to {max(numbers):{form}})" if len(numbers) > 1 else ""
    return f"{median(numbers):{form}}{most}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks whole_search", description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True, help="triplets with the columns anchor, positive, negative (JSONL)")
    parser.add_argument("--dev", required=True, help="scored pairs with the columns sentence1, sentence2, score (CSV)")
    parser.add_argument("--test", required=True, help="likewise, what our finals are judged by")
    add_encoder(parser)
    parser.add_argument(
        "--sides", nargs="+", choices=SIDES, default=list(SIDES), help=f"which run; {PEER} must (default: all)"
    )
    parser.add_argument("--recipes", type=int, default=20, help="recipes of each search (default: 20)")
    parser.add_argument("--turns", type=int, default=1, help="how often each side runs (default: 1)")
    return parser
