"""Trainings of a pretrained encoder on real data: ten sets, one design of recipes, parts of the data, and rungs.

    python -m benchmarks own_records --to FOLDER --data DIR      # appends to FOLDER/1.jsonl; stop and start at will
    python -m benchmarks own_records --to FOLDER --data DIR --process 2/4      # a fourth of the work, to FOLDER/2.jsonl
    python -m benchmarks own_records --to FOLDER --pack FILE     # all of it as one Parquet file: numbers, no sentences
    python -m benchmarks own_records --table minilm-2 minilm-6   # what packed records say

The space of each set is the one that `--train` makes of its files. A training is the same as in a trial.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trainables
from benchmarks.options import add_encoder, add_number, chosen_encoder, parser_of
from benchmarks.own._page import pages
from benchmarks.own._recipes import AS_IT_CAME, NUMBERS, based, designed
from benchmarks.own._sets import SETS, Prepared, prepared
from benchmarks.own._table import load
from benchmarks.tables import check_page, write_between
from search_spaces import load_space
from trainables.errors import UserError, choices, describe_error
from trainables.recipe import Recipe, Value
from trainables.training.rungs import DEFAULT_RUNGS, Measure, RungPlan
from trainables.trial.reporter import Reporter

BEGIN, END = "<!-- own records: begin -->", "<!-- own records: end -->"
"""Lines of a page between which the tables are written."""
SHARES, LATER = (1.0, 1 / 8), (1 / 4, 1 / 2)
"""Shares of the training data in the order of recording; each training has a whole schedule. The shares of `LATER`
follow once all recipes are trained on those of `SHARES`."""
LAYERS = 2
FIXED: Mapping[str, Value] = {"optimisation.precision": "bf16", "encoder.precision": "bf16"}
"""Settings of every recipe that make a training faster on the recording machine."""


@dataclass(frozen=True)
class Job:
    """A training to record: a recipe under a seed, on a share of a set's data."""

    recipe: int
    share: float
    seed: int


def main(arguments: Sequence[str]) -> None:
    """Record the missing trainings."""
    options = _parser().parse_args(arguments)
    if options.table:
        check_page(options.out, BEGIN)
        text = pages({record: load(record) for record in options.table})
        print(text)
        write_between(options.out, BEGIN, text, END)
        return
    if options.to is None:
        raise UserError("say --to FOLDER, where records go, or --table")
    folder = Path(options.to)
    if options.pack:
        pack(folder, Path(options.pack))
        return
    folder.mkdir(parents=True, exist_ok=True)
    names = options.sets or [*SETS]
    unknown = [name for name in names if name not in SETS]
    if unknown:
        raise UserError(f"{unknown[0]!r} is no set; {choices(SETS)} would work")
    number, processes = options.process
    file, encoder = folder / f"{number}.jsonl", chosen_encoder(options)
    sets = [prepared(name, Path(options.data), folder / f"sets-{number}", encoder) for name in names]
    recorders = {own.name: Recorder(own, file, options.layers, jobs_of(options.after, own)) for own in sets}
    jobs = [*planned({own.name: own.kind for own in sets}, NUMBERS[: options.recipes])]
    for name, job in jobs[number - 1 :: processes]:
        recorders[name].record(job)


def planned(kinds: Mapping[str, str], numbers: Sequence[int]) -> Iterator[tuple[str, Job]]:
    """Yield all jobs of these recipes on sets of these kinds, in the order of recording: the original encoder, recipes
    on all data and on a small share of them, on larger shares, and on all data under a second seed. Labelled sets, on
    which recipes hardly differ, come last."""
    labelled = [name for name, kind in kinds.items() if kind == "labelled"]
    trained = numbers[1:]
    for names in ([name for name in kinds if name not in labelled], labelled):
        yield from ((name, Job(AS_IT_CAME, 1.0, 1)) for name in names)
        for share in SHARES:
            yield from ((name, Job(number, share, 1)) for number in trained for name in names)
        yield from ((name, Job(number, share, 1)) for number in trained for share in LATER for name in names)
        yield from ((name, Job(number, 1.0, 2)) for number in trained for name in names)


def jobs_of(record: str | None, own: Prepared) -> set[Job]:
    """Return the jobs that a packed record has done on the same rows of this set."""
    import pandas as pd

    if record is None:
        return set()
    rows = pd.read_parquet(record)
    same = rows[(rows["set"] == own.name) & (rows["files"] == own.hash)]
    return {Job(*job) for job in same[["recipe", "share", "seed"]].itertuples(index=False)}


class Recorder:
    """Runs jobs on one set, one after another, and appends a line for each to a file."""

    def __init__(self, own: Prepared, file: Path, layers: int | None, done: Collection[Job] = ()) -> None:
        """`done`: jobs to skip, in addition to those in the file."""
        from trainables.trial.process_reset import ProcessReset

        self.own, self.file = own, file
        base = based(own.base)
        self.base = base.override({**FIXED, **({} if layers is None else {"encoder.layers": layers})})
        self.design = designed(own.domains, base.flat())
        self.code = code_version()
        lines = [line for line in lines_of(file.parent) if line["set"] == own.name]
        if any(line["files"] != own.hash for line in lines):
            raise UserError(f"{file.parent} holds trainings on other rows of {own.name}; give another folder with --to")
        self.done = {Job(line["recipe"], line["share"], line["seed"]) for line in lines} | {*done}
        self.between = ProcessReset()

    def record(self, job: Job) -> None:
        """Run a job and append its line, also if it fails. Do nothing if it is done, or the set has no such recipe."""
        if job in self.done or job.recipe not in self.design:
            return
        keys = self.design[job.recipe]
        load_space(self.own.space)  # defines its tasks: a process can have those of one space only
        try:
            with self.between.trial():
                part = {} if job.share == 1 else {"corpus.share": job.share}
                measured = train(self.own, self.base.override({**keys, **part}), job.seed)
        except Exception as error:  # an error of a recipe must not stop the other jobs
            print(f"{self.own.name}, {job}: {describe_error(error)}", file=sys.stderr, flush=True)
            measured = {"dev": None, "failed": type(error).__name__}  # its message may contain paths of this machine
        described = {"set": self.own.name, **dataclasses.asdict(job), "keys": keys}
        line = json.dumps({**described, **measured, "files": self.own.hash, "code": self.code})
        with self.file.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        self.done.add(job)


def train(own: Prepared, recipe: Recipe, seed: int) -> dict[str, Any]:
    """Return a training's measurements: scores, rungs if trained on all data, processor seconds, steps."""
    import torch

    from trainables.trial.result import TrialResult
    from trainables.trial.run import run_trial

    torch.set_num_threads(1)
    measure = Measure(own.goal.name, own.goal.tasks, own.goal.number)
    whole = recipe.trains and recipe.flat().get("corpus.share", 1.0) == 1
    timed = ProcessorTimes(RungPlan(DEFAULT_RUNGS.unit, DEFAULT_RUNGS.amounts, (measure,)) if whole else None)
    result = run_trial(recipe, seed, own.evaluation, reporter=timed)
    assert isinstance(result, TrialResult), "nothing was handed over"
    rungs = result.training.get("rungs", [])
    return {
        "dev": own.goal.of(result.scores, result.cost),
        "test": own.goal.test_of(result.scores),
        "rungs": [rung["scores"][own.goal.name] for rung in rungs],
        "rung_steps": [rung["step"] for rung in rungs],
        **timed.seconds(),
        "steps": result.training.get("steps", 0),
        **({"failed": result.stopped} if result.stopped else {}),
    }


class ProcessorTimes(Reporter):
    """Measures processor time at the events of a trial, since other processes use the machine too."""

    def __init__(self, rungs: RungPlan | None) -> None:
        self.rung_plan = rungs
        self.start = self.began = self.stepped = time.process_time()
        self.at_rungs = 0.0

    def begin(self, steps: int) -> None:
        self.began = self.stepped = time.process_time()

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        self.stepped = time.process_time()

    def rung(self, number: int, scores: Mapping[str, float]) -> bool:
        self.at_rungs += time.process_time() - self.stepped
        return True

    def seconds(self) -> dict[str, float]:
        """Return processor seconds of the trial until now: of all but rungs, of training alone, of everything after
        training, and of scoring one rung."""
        now = time.process_time()
        return {
            "seconds": now - self.start - self.at_rungs,
            "training_seconds": self.stepped - self.began - self.at_rungs,
            "scoring_seconds": now - self.stepped,
            "rung_seconds": self.at_rungs / len(self.rung_plan.amounts) if self.rung_plan else 0.0,
        }


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Return the lines that all processes recorded in the folder."""
    files = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def pack(folder: Path, to: Path) -> None:
    """Add the folder's lines to a Parquet file as rows."""
    import pandas as pd

    rows = [{"kind": SETS[line["set"]].kind, **packed(line)} for line in lines_of(folder)]
    to.parent.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame(rows)
    if to.exists():
        table = pd.concat([pd.read_parquet(to), table]).drop_duplicates(["set", "recipe", "share", "seed"], keep="last")
    table.to_parquet(to, index=False, compression="zstd")


def packed(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a line of a record as a row of a table. In a short training one pause's scores count for several rungs."""
    pauses = dict(zip(line.get("rung_steps", []), line.get("rungs", []), strict=True))
    rungs = {
        f"rung_{number}": next((score for step, score in pauses.items() if step >= share * line["steps"]), None)
        for number, share in enumerate(DEFAULT_RUNGS.amounts, 1)
    }
    others = {name: value for name, value in line.items() if name not in ("rungs", "rung_steps")}
    return {**others, "keys": json.dumps(line["keys"]), **rungs}


def code_version() -> str:
    """Return a hash of the code that trains and scores."""
    folder = Path(trainables.__path__[0])
    texts = [path.read_bytes() for path in sorted(folder.rglob("*.py"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


def _process(text: str) -> tuple[int, int]:
    number, processes = map(int, text.split("/"))
    if not 1 <= number <= processes:
        raise ValueError(f"{number} is no process of {processes}")
    return number, processes


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--to", metavar="FOLDER", help="where records go, and the sets' files")
    parser.add_argument("--pack", metavar="FILE", help="write what is in --to as one Parquet file, and record nothing")
    parser.add_argument("--after", metavar="FILE", help="a packed record, of which nothing is trained again")
    parser.add_argument("--table", nargs="+", metavar="RECORD", help="what packed records say, such as minilm-2")
    parser.add_argument("--out", type=Path, metavar="PAGE", help=f"a page to write the tables into, after {BEGIN}")
    parser.add_argument("--data", default="../shared/data", metavar="DIR", help="real data (default: %(default)s)")
    parser.add_argument("--sets", nargs="+", metavar="SET", help=f"some of {', '.join(SETS)} (default: all)")
    add_number(parser, "--layers", LAYERS, "of the encoder")
    parser.add_argument(
        "--process", type=_process, default=(1, 1), metavar="K/N", help="one of N that share the work (default: 1/1)"
    )
    add_number(parser, "--recipes", len(NUMBERS), "the first so many")
    add_encoder(parser)
    return parser
