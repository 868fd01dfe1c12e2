"""What was run: the command, its cost, the data, and training times."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from reports.document import Block, Bullets, DataTable
from reports.facts.results import Results
from reports.facts.unfinished import extents, total
from reports.ledger import Record, seconds_of
from reports.sections.data_read import data_table
from reports.words.markdown import DASH, code, count, number, text, verbatim


def write(results: Results, pictures: Path) -> list[Block]:
    """Write a list of facts on the study, then tables of the data and of training times."""
    info = results.info
    every = results.trials_and_soups
    finished = [record for record in every if record.status == "finished"]
    pruned = len(every) - len(finished)
    done = [record for record in every if record.status in ("finished", "pruned")]
    of_parts = sum(record.recipe_hash in results.whole_recipes for record in results.parts)
    again = len(results.parts) - of_parts  # in older studies
    own = len(results.records) + len(results.parts)
    elsewhere = [
        (of_parts, "on a part of the data"),
        (again, "once more before the finals"),
        (len(every) - own - len(results.soups), "in the finals alone"),
        (len(results.soups), "averages of models of the finals"),
    ]
    apart = ", ".join(f"{n} {where}" for n, where in elsewhere if n)
    rows = total(extents(results).values())
    missing = rows.planned - rows.done
    hardware = dict.fromkeys([info.hardware, *(record.hardware for record in results.records)])
    facts = [
        f"Paper: {text(results.space.paper)}",
        f"Space: {code(info.space)}" + (f", from {code(info.space_file)}" if info.space_file else ""),
        f"Search: {text(info.search)}" + (f", at most {count(info.trials, 'recipe')}" if info.trials else ""),
        f"Goals: {' and '.join(text(goal.label) for goal in results.goals)}" if info.goals else "",
        f"Limits: {', '.join(code(f'{name}={value:g}') for name, value in info.limits.items())}",
        f"Seeds: {', '.join(map(str, info.seeds))}"
        + (f", and up to {info.most_seeds} of a recipe where more could change an answer" if info.raced else ""),
        *(f"Command: {verbatim(command)}" for command in info.commands),
        f"Started: {text(info.created_at)}" if info.created_at else "",
        f"Trials: {len(finished)} finished{f' (of them {apart})' * bool(apart)}, "
        f"{pruned} stopped early"
        + (f", {missing} of the rows missing" if missing else "")
        + "".join(
            f", {n} {text(name)}"
            for name, n in sorted(info.status_counts.items())
            if name not in ("finished", "pruned")
        ),
        f"Cost: {_cost(done)}",
        f"Time of the workers, until each one's last trial: {_workers_time(done)}",
        f"Hardware: {'; '.join(map(text, filter(None, hardware)))}",
        f"Versions: {', '.join(text(f'{name} {version}') for name, version in sorted(info.versions.items()))}",
    ]
    known = Bullets([fact for fact in facts if fact and not fact.endswith(": ")])
    return [known, *data_table(results), *_training_time(results)]


def _cost(records: Sequence[Record]) -> str:
    def hours(name: str) -> float:
        return math.fsum(seconds_of(record, name) or 0.0 for record in records) / 3600

    peak = max((float(record.cost.get("peak_memory_mb") or 0) for record in records), default=0)
    hours_in_words = (
        f"{number(hours('seconds'))} trial hours ({number(hours('train_seconds'))} training, "
        f"{number(hours('evaluation_seconds'))} evaluation), {number(hours('gpu_seconds'))} GPU hours"
    )
    return hours_in_words + (f", at most {number(peak, 0)} MiB of memory a trial" if peak else "")


def _workers_time(records: Sequence[Record]) -> str:
    """Return the shares of the workers' time by what they did, as it shows whether a GPU waited."""
    spent: Counter[str] = Counter()
    for record in records:
        spent.update({what: float(seconds or 0) for what, seconds in record.cost.get("crew", {}).items()})
    total = math.fsum(spent.values())
    if not total:
        return ""
    words = {
        "busy": "training and encoding",
        "evaluating": "fitting classifiers",
        "waiting": "waiting for results to be written",
        "starting": "starting",
        "idle": "idle",
    }
    return ", ".join(f"{number(100 * spent[what] / total)} % {meaning}" for what, meaning in words.items())


def _training_time(results: Results) -> list[Block]:
    """Return a table of training times as multiples of the baseline's: those in the paper beside ours."""

    def seconds(label: str) -> float | None:
        values = [value for record in results.of_row(label) if (value := seconds_of(record, "train_seconds"))]
        return fmean(values) if values else None

    base = next((row for row in results.space.rows if row.label == results.space.baseline), None)
    if base is None or base.minutes is None:
        return []
    lines = []
    for row in results.space.rows:
        if row.minutes is not None:
            ours, reference = seconds(row.label), seconds(base.label)
            ratio = ours / reference if ours and reference else None
            printed = f"{number(row.minutes, 0)} min ({number(row.minutes / base.minutes)})"
            lines.append([text(row.label), f"{number(ours / 60)} min ({number(ratio)})" if ours else DASH, printed])
    head = ["Training time (multiple of the baseline's)", "ours", "published"]
    return [DataTable(head, lines)]
