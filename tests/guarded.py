"""A whole study for the tests of guards, and how they spoil it."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from reports.facts.guards import Flag, find_flags, sentence
from reports.facts.results import Results
from reports.ledger import LEDGER, Ledger, Record, StudyInfo
from reports.testing import changed
from tests.synthetic_results import make_results
from trainables.recipe import Recipe

BASELINE, AUGMENT, SCL, LAMBDA = "SBERT baseline", "3p3n-Augment", "3palln-lambda0.5-SCL", "3palln-lambda1.0-SCL"
ROWS = [BASELINE, AUGMENT, SCL, LAMBDA]
SEEDS = (1, 2, 3)
STS = frozenset({"STS12", "STS13"})
TASKS = ("STS12", "STS13", "MR", "MRPC")
Change = Callable[[Record], Record]


def clean_study(folder: Path) -> Path:
    """Four rows under three seeds, with predictions; no guard finds anything."""
    return Path(shutil.copytree(_clean().name, folder))


@lru_cache(maxsize=1)
def _clean() -> tempfile.TemporaryDirectory[str]:
    made = tempfile.TemporaryDirectory()
    make_results(Path(made.name), rows=ROWS, seeds=SEEDS, spread=1.0, predictions=True)
    rewrite(Path(made.name), known)
    return made


def known(record: Record) -> Record:
    """With everything that records of today hold, on a few tasks, and a loss of its own."""
    scores = {task: record.scores[task] for task in TASKS}
    tasks = {task: {"items": 60, "seen": 0} for task in scores}
    chance = int(record.recipe_hash, 16) % 997 + record.seed
    return changed(
        record,
        scores=scores,
        training={**record.training, "tokens": 90_000, "loss": 0.5 + chance / 1e4},
        cost={**record.cost, "seconds": 60 + chance / 1e3},
        data={**record.data_read, "encoder": {"name": "e", "fingerprint": "feed", "fresh": []}, "overlap": tasks},
    )


def rewrite(folder: Path, change: Change, row: str | None = None, seed: int | None = None) -> None:
    """Change the records of a row, or of all, under one seed or all."""
    ledger, row_hash = Ledger(folder / LEDGER), StudyInfo.load(folder).row_hashes.get(row or "")
    for record in ledger.read():
        if (row is None or record.recipe_hash == row_hash) and seed in (None, record.seed):
            ledger.write(change(record))


def put(**parts: Any) -> Change:
    """Records with some entries replaced, within objects."""

    def change(record: Record) -> Record:
        new = {}
        for name, value in parts.items():
            old = record.data_read if name == "data" else getattr(record, name)
            new[name] = {**old, **value} if isinstance(old, dict) else value
        return changed(record, **new)

    return change


def score(task: str, **numbers: Any) -> Change:
    """Records with other numbers of one task."""
    return lambda record: put(scores={task: {**record.scores[task], **numbers}})(record)


def load(folder: Path) -> Results:
    """The results, read anew only where a file has changed: most of a guard's time is reading predictions."""
    return _load(folder, tuple((path, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*.*"))))


@lru_cache(maxsize=1)
def _load(folder: Path, files: object) -> Results:
    return Results.load(folder)


def flags_of(folder: Path, guard: str) -> list[Flag]:
    """A guard's flags, each of which has words."""
    flags = [flag for flag in find_flags(load(folder)).all if flag.guard == guard]
    assert all(sentence(load(folder), flag) for flag in flags)
    return flags


def between(folder: Path, first: str, second: str, tasks: frozenset[str] = STS) -> set[str]:
    """The guards that forbid a verdict on two rows."""
    results = load(folder)
    hashes = [results.info.row_hashes[label] or "" for label in (first, second)]
    return {flag.guard for flag in find_flags(results).between(hashes[0], hashes[1], tasks)}


def labels(folder: Path, flag: Flag) -> set[str]:
    names = load(folder).labels
    return {names[recipe] for recipe in flag.recipes}


def rename(folder: Path, row: str, **keys: Any) -> None:
    """Give a row another recipe, and what follows from that its new hash."""
    info, ledger = StudyInfo.load(folder), Ledger(folder / LEDGER)
    old = info.row_hashes[row]
    new = ""
    for record in ledger.read():
        if record.recipe_hash == old:
            recipe = Recipe.from_flat(record.recipe).override({key.replace("__", "."): v for key, v in keys.items()})
            new = recipe.hash
            renamed = changed(
                record,
                recipe=dict(recipe.flat()),
                recipe_hash=new,
                predictions=f"predictions/{new}-{record.seed}.npz",
            )
            ledger.path(record.recipe_hash, record.seed).unlink()
            ledger.write(renamed)
            (folder / record.predictions[0]).rename(folder / renamed.predictions[0])
    dataclasses.replace(info, row_hashes={**info.row_hashes, row: new}).save(folder)
