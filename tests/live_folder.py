"""A results folder made up as a study leaves it while it runs: finished, running, queued, failed and stopped trials."""

from __future__ import annotations

import datetime
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

from reports.ledger import FAILURES, Progress, Running, StageTime, StudyInfo, Waiting, add_losses, trial_key
from reports.ledger.moments import now
from search_spaces import Space
from tests.synthetic_results import SPACES, make_results
from trainables.files import write_whole

DONE, RUNNING, QUEUED = 9, 2, 6
MINUTES = 24.0
STEPS = 90


def running_study(
    folder: Path, *, seeds: Sequence[int] = (0, 1, 2), predictions: bool = False, explored: int = 0
) -> Progress:
    """Nine rows are finished under every seed, two run, six wait, one has failed, and one recipe was stopped."""
    space = SPACES["scl_ablation"]
    labels = [row.label for row in space.rows if row.needs is None]
    info = make_results(
        folder, space, seeds=seeds, rows=labels[:DONE], spread=0.3, pruned=1, predictions=predictions, explored=explored
    )
    begun = datetime.datetime.now(datetime.UTC) - datetime.timedelta(minutes=MINUTES)
    hashes = {label: info.row_hashes[label] or "" for label in labels}
    for label in labels[:DONE]:
        add_curve(folder, trial_key(hashes[label], 0), STEPS)
    running = []
    for number, label in enumerate(labels[DONE : DONE + RUNNING]):
        key = trial_key(hashes[label], 0)
        add_curve(folder, key, 60 - 25 * number)
        since = begun + datetime.timedelta(minutes=MINUTES - 1.5 + number)
        words = (label, changes(space, label), 0, objective(space, label))
        running.append(Running(key, *words, since.isoformat(timespec="seconds")))
    failed = labels[DONE + RUNNING]
    fail(folder, trial_key(hashes[failed], 0), failed, "CUDA out of memory; lower optimisation.batch_size")
    waiting = labels[DONE + RUNNING + 1 : DONE + RUNNING + 1 + QUEUED]
    progress = Progress(
        written_at=now(),
        began_at=begun.isoformat(timespec="seconds"),
        counts={"queued": QUEUED, "running": RUNNING, "finished": DONE * len(seeds), "stopped": 1, "failed": 1},
        running=running,
        queued=[Waiting(trial_key(hashes[label], 0), label, changes(space, label), 0) for label in waiting],
        at_once=RUNNING,
        seconds_left=430.0,
        stages=[StageTime("search", 60 * MINUTES, 250.0), StageTime("finals", 0.0, 180.0)],
        estimate=f"from {DONE * len(seeds)} trials that ended in {MINUTES:.1f} minutes of this run; those that run "
        "count by their steps, and all are taken to be equally long",
    )
    progress.save(folder)
    return progress


def empty_study(folder: Path) -> StudyInfo:
    """A study whose first trial has not begun."""
    return make_results(folder, rows=())


def add_curve(folder: Path, key: str, steps: int, *, of: int = STEPS) -> None:
    """Losses that fall with noise, the same for the same key."""
    chance = random.Random(key)
    start, end = 3.6 + chance.random(), 1.9 + 0.6 * chance.random()
    for step in range(1, steps + 1):
        loss = end + (start - end) * math.exp(-4 * step / of) + chance.gauss(0, 0.06)
        add_losses(folder, key, of, [(step, loss)])


def fail(folder: Path, key: str, name: str, reason: str) -> None:
    write_whole(folder / FAILURES / f"{key}.json", json.dumps({"trial": key, "name": name, "reason": reason}))


def objective(space: Space, label: str) -> str:
    return str(space.row(label).overrides.get("objective.name", "scl"))


def changes(space: Space, label: str) -> str:
    return " ".join(f"{key}={value}" for key, value in space.row(label).overrides.items())
