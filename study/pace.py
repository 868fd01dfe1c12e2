"""The share of the data that a study with a limit in minutes trains on.

If one training on all rows would take most of the limit, there would be no room for a search, and often none for an
answer. So the study trains on a part that leaves room; `--recipe RESULTS --train FILE` trains its answer on all rows.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from reports.ledger.finals import SHARE
from reports.words.markdown import duration
from search_spaces.own_data import BATCH, EPOCHS
from study.engine.cluster import Allotment
from study.own.leaks import splits_of
from study.plan import Draft, Plan
from study.search.ladder import STEPS
from trainables.corpora.own.held_out import rows_of
from trainables.corpora.own_rows import Normal, texts
from trainables.evaluation_config import parse_assignment
from trainables.recipe import Recipe
from trainables.senteval import task_names
from trainables.senteval.tasks import TASKS
from trainables.trial.population_key import population_key

LEAST_TRAININGS, WANTED_TRAININGS = 6, 8
"""With room for fewer than `LEAST_TRAININGS` whole trainings, the data are cut to have room for `WANTED_TRAININGS` of
them. In replays of recorded trainings a search with room for four gained nothing, with room for five 3.1 points; and
times are guesses."""
ABREAST = 2
"""At most this many trainings at once are counted as room. More places do not help, as a single training must end
within a part of the limit."""
FEWEST_ROWS = 1000
"""Smallest number of rows that a study is cut to."""
TRAINING_COST = 3.0
"""Cost of training on a text, in embeddings of it: the backward pass costs twice as much as the forward pass."""
READ_ROWS, SAMPLED_ROWS, WARM_UP_TEXTS = 2000, 64, 8
"""Of the first `READ_ROWS` rows about `SAMPLED_ROWS`, evenly spread, are timed. Before, `WARM_UP_TEXTS` texts are
embedded untimed."""


def cut_to_limit(plan: Plan, allotment: Allotment) -> Draft | None:
    """Return the plan's draft with a share of the data that fits the limit, and print the share. None if the data stay
    whole: because no limit requires a part, or because only a trial could show how long a training takes. A continued
    study keeps its share."""
    flat, minutes = plan.base.flat(), plan.limits.get("minutes")
    if not plan.request.train or SHARE not in flat or SHARE in plan.draft.fixed:
        return None
    if before := plan.earlier_study:
        share = dict(map(parse_assignment, before.request.set)).get(SHARE)
        return None if share is None else _set(plan.draft, float(str(share)))
    train = Path(str(flat["corpus.nli"]))
    if minutes is None or not plan.explored or not train.is_file() or allotment.resources.gpus:
        return None
    if plan.request.dry_run:
        print("where one training takes most of the limit, the study trains on a part of the rows", flush=True)
        return None
    if _unknown(plan.base):
        return None
    with train.open("rb") as lines:
        rows = sum(1 for _ in lines)
    first = [*itertools.islice(rows_of(train), READ_ROWS)]
    sampled = first[:: max(1, len(first) // SAMPLED_ROWS)]
    negatives = flat.get("objective.negatives")
    sample = [text for row in sampled for text in trained_texts(row, negatives if isinstance(negatives, int) else None)]
    recipes = {recipe.encoder: recipe for recipe in plan.rows.values() if recipe is not None and recipe.trains}
    a_text = max(seconds_a_text(recipe, sample, allotment) for recipe in recipes.values())
    training = rows * a_text * len(sample) / len(sampled) * TRAINING_COST * float(str(flat[EPOCHS]))
    scoring = _texts_scored(plan) * a_text
    room = 60 * minutes * min(ABREAST, allotment.concurrent)
    for_parts = max(FEWEST_ROWS, WANTED_TRAININGS * STEPS * int(str(flat.get(BATCH, 0))))
    share = fitting_share(rows, training, scoring, room, for_parts)
    if share is None:
        return None
    takes = f"one training on all {rows:,} rows and its scores would take about {duration(training + scoring)}"
    print(
        f"{takes}, too long to search in {minutes:g} min: the study trains on {100 * share:.2g}% of the rows, drawn by "
        f"chance, also when it goes on; for more start one in other --results under a larger limit, or with "
        f"--set {SHARE}=1 for all",
        flush=True,
    )
    return _set(plan.draft, share)


def fitting_share(
    rows: int, training: float, scoring: float, room: float, for_parts: int = FEWEST_ROWS
) -> float | None:
    """Return the share of the rows that leaves room for `WANTED_TRAININGS` trainings and their scoring; None if all
    rows have room for `LEAST_TRAININGS`. Times are in seconds. If scoring takes most of the room, a training may take
    as long as scoring. `for_parts`: rows that a search on parts needs; fewer are left only if these have no room."""
    if room >= LEAST_TRAININGS * (training + scoring):
        return None
    left = max(scoring, room / WANTED_TRAININGS - scoring) / training
    fewest = for_parts if room >= LEAST_TRAININGS * (training * for_parts / rows + scoring) else FEWEST_ROWS
    share = float(f"{max(left, fewest / rows):.2g}")
    return share if share < 1 else None


def seconds_a_text(recipe: Recipe, sample: Sequence[str], allotment: Allotment) -> float:
    """Return the seconds to embed a text with the original encoder, on as many cores as a trial has."""
    import torch

    from trainables.trial.build import load_base

    encoder, threads = load_base(recipe, 0), torch.get_num_threads()
    torch.set_num_threads(max(1, allotment.resources.workers * allotment.resources.cpus))
    try:
        encoder.encode(sample[:WARM_UP_TEXTS])
        began = time.monotonic()
        encoder.encode(sample)
        return (time.monotonic() - began) / len(sample)
    finally:
        torch.set_num_threads(threads)


def trained_texts(row: Normal, negatives: int | None) -> list[str]:
    """Return the texts of a row that an epoch embeds. `negatives`: how many of its negatives at most; None: all."""
    return texts({**row, **({"negative": row["negative"][:negatives]} if "negative" in row else {})})


def _unknown(base: Recipe) -> bool:
    """Whether the time to embed texts says nothing about the time of a training: on a GPU, or if a training on a part
    of the data takes as long as on all of it."""
    frozen = population_key(base) is not None or base.encoder.adapter == "mlp"
    if frozen or base.optimisation.max_steps is not None:
        return True
    import torch

    return torch.cuda.is_available()


def _texts_scored(plan: Plan) -> int:
    """Return how many texts of tasks of a person's own data a trial embeds."""
    own = [TASKS[name] for name in task_names(plan.evaluation.tasks) if TASKS[name].of_own_data]
    splits = [split for task in own for part in ("dev", "test") for split in splits_of(task, part)]
    return sum(len(split) + len(split.documents.texts if split.documents else split.right or ()) for split in splits)


def _set(draft: Draft, share: float) -> Draft:
    """Return the draft as if the command had set `corpus.share` to this share."""
    request = dataclasses.replace(draft.request, set=(*draft.request.set, f"{SHARE}={share:g}"))
    own = {SHARE: share}
    return dataclasses.replace(
        draft, request=request, fixed={**draft.fixed, **own}, overrides={**draft.overrides, **own}
    )
