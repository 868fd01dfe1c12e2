"""An evening: our study and sentence-transformers' documented search, on the same pairs, for the same minutes.

    python -m benchmarks evening --train pairs.csv --dev dev.csv --test test.csv --encoder FOLDER --minutes 30

The files have two columns, such as question and answer. The peer, sentence-transformers' search, tries recipes as its
page on hyperparameter search shows (Optuna over epochs 1 to 2, batches of 32 to 128, warm-up, learning rate 1e-6 to
1e-4; the loss MNRL). It runs whole trainings, one after another on all processors, and keeps the model with the best
development score. The peer's minutes are of its search alone, ours of the whole process. Scores are nDCG@10 in %: each
first text searches for its second text among the second texts of the split. Run nothing else at the same time.
"""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.options import add_encoder, add_number, chosen_encoder, parser_of
from benchmarks.tables import titled
from reports.words.markdown import DASH
from trainables.errors import UserError

OURS, PEER = "ours", "sentence_transformers"


@dataclass(frozen=True)
class Evening:
    """Results of our study, or of the peer's search, after the same minutes. Scores are in %."""

    side: str
    minutes: float
    recipes: int
    """Number of tried recipes, whether on a part or all of the data."""
    dev: float | None
    """Best development score of a training on all of the data."""
    test: float | None
    """Test score of the recommended model."""
    untrained: float | None
    """Test score of the original encoder, by the search's own evaluation."""
    chosen: str
    """The recommended recipe, in words or settings."""
    until_peer: float | None = None
    """Minutes until a training on all of the data reached the peer's best development score."""


def main(arguments: Sequence[str]) -> None:
    """Run our study and the peer's search once each, and print a markdown table."""
    parser = parser_of(__name__, __doc__)
    for name, meaning in (("train", "pairs to train on"), ("dev", "pairs to choose by"), ("test", "pairs that judge")):
        parser.add_argument(f"--{name}", required=True, help=f"{meaning} (CSV, two columns)")
    add_encoder(parser)
    add_number(parser, "--minutes", 30.0, "of each side")
    parser.add_argument("--results", type=Path, default="results/evening", help="a new folder (default: %(default)s)")
    options = parser.parse_args(arguments)
    data = {name: str(Path(getattr(options, name)).resolve()) for name in ("train", "dev", "test")}
    data["encoder"] = str(Path(chosen_encoder(options)).resolve())
    results = options.results
    if results.exists():
        raise UserError(f"--results {str(results)!r} is there already; name a folder that is not")
    results.mkdir(parents=True)
    began = time.time()
    _run(OURS, _our_command(data, options.minutes, results / OURS), results)
    ended = time.time()
    request = json.dumps({**data, "minutes": options.minutes})
    peer = _run(PEER, [sys.executable, "-m", "benchmarks.training._peer_evening", request], results)
    theirs = of_peer(json.loads(peer.splitlines()[-1]))
    print(table([theirs, of_study(results / OURS, began, ended, theirs.dev)], options.minutes))


def of_peer(line: Mapping[str, Any]) -> Evening:
    """Return the peer's results. `line`: the JSON in the last line of its output."""
    settings = ", ".join(f"{name} {number:.3g}" for name, number in line["recipe"].items())
    return Evening(
        PEER, line["minutes"], line["recipes"], line["dev"], line["test"], line["untrained"], settings, line["until"]
    )


def of_study(folder: Path, began: float, ended: float, goal: float | None) -> Evening:
    """Return the results in our study's folder. Times are seconds since 1970; `goal` is the peer's best dev score."""
    from reports.facts.answer import Answer
    from reports.facts.results import Results
    from reports.ledger.finals import PART_SEED

    results = Results.load(folder)
    answer, (first, *_) = Answer.of(results), results.goals
    chosen, encoder = answer.to_use, answer.references.get("encoder")
    records = [record for record in results.of_all_trials if record.seed != PART_SEED]
    scores = [
        (record.finished_at, score) for record in records if (score := first.of(record.scores, record.cost)) is not None
    ]
    moments = [datetime.datetime.fromisoformat(at).timestamp() for at, score in scores if goal and score >= goal]
    return Evening(
        OURS,
        (ended - began) / 60,
        answer.tried or 0,
        max((score for _, score in scores), default=None),
        chosen.figure.gain if chosen and chosen.figure else None,
        encoder.figure.gain if encoder and encoder.figure else None,
        f"{answer.kind}: {chosen.name if chosen else '-'}",
        (min(moments) - began) / 60 if moments else None,
    )


def table(evenings: Sequence[Evening], minutes: float) -> str:
    """Return a markdown table with a line for each search."""
    numbers = ("minutes", "recipes", "best dev", "test of its choice", "untrained", "minutes to the peer's dev")
    rows = []
    for side in evenings:
        values = (side.minutes, side.recipes, side.dev, side.test, side.untrained, side.until_peer)
        cells = (DASH if value is None else f"{value:.4g}" for value in values)
        rows.append([side.side, *cells, side.chosen])
    return titled(f"{minutes:g} minutes", ["side", *numbers, "choice"], rows)


def _our_command(data: Mapping[str, str], minutes: float, results: Path) -> list[str]:
    files = ["--train", data["train"], "--dev", f"pairs={data['dev']}", "--test", f"pairs={data['test']}"]
    limit = ["--limit", f"minutes={minutes:g}", "--results", str(results)]
    return [sys.executable, "study/run.py", *files, "--encoder", data["encoder"], *limit]


def _run(side: str, command: Sequence[str], results: Path) -> str:
    """Run the command, and return its output, which is also written to a file."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    (results / f"{side}.log").write_text(f"{done.stdout}\n{done.stderr}", encoding="utf-8")
    if done.returncode:
        raise UserError(f"{side} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}")
    return done.stdout
