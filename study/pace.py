"""On how much of the data a study with a limit in minutes trains.

Where one training on all rows would take most of the limit nothing could be searched, and often nothing be answered.
Such a study trains on a part that leaves room for both; `--recipe RESULTS --train FILE` trains its answer on all rows.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import time
from collections.abc import Sequence
from pathlib import Path

from reports.ledger import STUDY, StudyInfo
from reports.ledger.finals import SHARE
from reports.markdown import duration
from search_spaces.own_data import EPOCHS
from study.engine.cluster import Allotment
from study.own_leaks import splits_of
from study.plan import Draft, Plan
from trainables.corpora.held_out import rows_of
from trainables.corpora.own_rows import texts
from trainables.evaluation_config import parse_assignment
from trainables.recipe import Recipe
from trainables.senteval import task_names
from trainables.senteval.tasks import TASKS
from trainables.trial.population_key import population_key

LEAST, ROOMS = 4, 8
"""Whole trainings: with room for fewer than the least the data are cut to have room for so many."""
FEWEST = 1000
"""Rows that are left at least."""
TRAINING = 3.0
"""What it takes to train on a text, in times that it takes to embed it: the way back costs twice as much as the way
there."""
READ, SAMPLE, BEFORE = 2000, 64, 8
"""Of the first rows so many are embedded, evenly spread, and some before, which are not timed."""


def cut_to_limit(plan: Plan, allotment: Allotment) -> Draft | None:
    """The plan's draft with the share of the data that has room, which is said on the console. None where it stays, and
    where only a trial could tell how long it takes: on GPUs."""
    flat, minutes = plan.base.flat(), plan.limits.get("minutes")
    if minutes is None or not plan.request.train or not plan.explored:
        return None
    same = population_key(plan.base) is not None or plan.base.optimisation.max_steps is not None
    if SHARE not in flat or SHARE in plan.draft.fixed or same:  # no shorter on a part of the data
        return None
    if (plan.results / STUDY).is_file():
        before = dict(map(parse_assignment, StudyInfo.load(plan.results).request.set)).get(SHARE)
        return None if before is None else _set(plan.draft, float(str(before)))
    train = Path(str(flat["corpus.nli"]))
    if allotment.gpus_per_worker or not train.is_file():
        return None
    with train.open("rb") as lines:
        rows = sum(1 for _ in lines)
    first = [*itertools.islice(rows_of(train), READ)]
    sample = [texts(row) for row in first[:: max(1, len(first) // SAMPLE)]]
    a_text = seconds_a_text(plan.base, [*itertools.chain(*sample)], allotment)
    a_row = a_text * len([*itertools.chain(*sample)]) / len(sample)
    training = rows * a_row * TRAINING * float(str(flat[EPOCHS]))
    share = fitting_share(rows, training, _texts_scored(plan) * a_text, 60 * minutes * allotment.concurrent)
    if share is None:
        return None
    print(
        f"one training on all {rows:,} rows would take about {duration(training)}, too long to search in {minutes:g} "
        f"min: the study trains on {100 * share:.2g}% of them, drawn by chance, also when it goes on; for more start one in "
        f"other --results under a larger limit, or with --set {SHARE}=1 for all",
        flush=True,
    )
    return _set(plan.draft, share)


def fitting_share(rows: int, training: float, scoring: float, limit: float) -> float | None:
    """The share of the rows with room for `ROOMS` trainings and their scoring, all in seconds; None for all of them,
    which have room for so many."""
    if limit >= LEAST * (training + scoring):
        return None
    left = max(0.0, limit / ROOMS - scoring) / training
    share = float(f"{max(left, FEWEST / rows):.2g}")
    return share if share < 1 else None


def seconds_a_text(recipe: Recipe, sample: Sequence[str], allotment: Allotment) -> float:
    """To embed a text with the untrained encoder, on as many cores as a trial has."""
    import torch

    from trainables.trial.build import load_base

    encoder, threads = load_base(recipe, 0), torch.get_num_threads()
    torch.set_num_threads(max(1, allotment.workers * allotment.cpus_per_worker))
    try:
        encoder.encode(sample[:BEFORE])
        began = time.monotonic()
        encoder.encode(sample)
        return (time.monotonic() - began) / len(sample)
    finally:
        torch.set_num_threads(threads)


def _texts_scored(plan: Plan) -> int:
    """How many texts of one's own tasks a trial embeds."""
    own = [TASKS[name] for name in task_names(plan.evaluation.tasks) if all(map(os.path.isabs, TASKS[name].files))]
    splits = [split for task in own for part in ("dev", "test") for split in splits_of(task, part)]
    return sum(len(split) + len(split.documents.texts if split.documents else split.right or ()) for split in splits)


def _set(draft: Draft, share: float) -> Draft:
    """As if the person had set it."""
    request = dataclasses.replace(draft.request, set=(*draft.request.set, f"{SHARE}={share:g}"))
    own = {SHARE: share}
    return dataclasses.replace(
        draft, request=request, fixed={**draft.fixed, **own}, overrides={**draft.overrides, **own}
    )
