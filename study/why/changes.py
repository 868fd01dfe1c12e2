"""What is tried, each change alone: steps far enough to show a setting that is far off, and what looks hold suspect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from reports.ledger.names import to_write
from search_spaces.own_data import BATCH, EPOCHS, MINED_FROM, RATE, TEMPERATURE, USUAL_BATCH
from study.why.case import Case, Cause
from trainables.recipe import Value
from trainables.registry import Registry

Changes = Mapping[str, Value]
FAR, COLDER = 10.0, 5.0
"""The factors of a step in learning rate and in temperature."""
SMALL, LARGE = 16, 256
"""Batches below and above these are tried at the usual size."""
LONGER, LONG = 3, 3
"""So many times the epochs, of recipes of fewer."""
COLLECTED = "why-rows.jsonl"
"""The training rows without suspect ones, within the results."""


@dataclass(frozen=True)
class Change:
    """An entry of `CHANGES`."""

    name: str
    of: Callable[[Case], Iterator[Changes]]


def _rates(case: Case) -> Iterator[Changes]:
    rate = _number(case, RATE)
    yield {RATE: float(f"{rate / FAR:.2g}")}
    yield {RATE: float(f"{rate * FAR:.2g}")}


def _temperatures(case: Case) -> Iterator[Changes]:
    if temperature := _number(case, TEMPERATURE):
        yield {TEMPERATURE: float(f"{temperature / COLDER:.2g}")}
        yield {TEMPERATURE: float(f"{temperature * COLDER:.2g}")}


def _batches(case: Case) -> Iterator[Changes]:
    batch = _number(case, BATCH)
    if batch < SMALL or batch > LARGE:
        yield {BATCH: USUAL_BATCH}


def _epochs(case: Case) -> Iterator[Changes]:
    epochs = _number(case, EPOCHS)
    yield {EPOCHS: int(epochs) * LONGER if epochs < LONG else 1}


def _masked(case: Case) -> Iterator[Changes]:
    key = "objective.false_negatives"
    if case.recipe.flat().get(key) not in (None, "self", "guide"):
        yield {key: "self"}


def _mined(case: Case) -> Iterator[Changes]:
    if case.recipe.flat().get("corpus.layout") == "pairs" and len(case.rows) >= MINED_FROM:
        yield {"corpus.layout": "groups", "corpus.negatives_from": "mined", "objective.negatives": 1}


def _own(case: Case) -> Iterator[Changes]:
    flat = case.recipe.flat()
    if differing := {key: value for key, value in case.own_keys.items() if key in flat and flat[key] != value}:
        yield differing


def _base(case: Case) -> Iterator[Changes]:
    if changes := back(case):
        yield changes


CHANGES = Registry(
    "change",
    Change("configuration", _own),
    Change("rate", _rates),
    Change("temperature", _temperatures),
    Change("batch", _batches),
    Change("epochs", _epochs),
    Change("base", _base),
    Change("masked", _masked),
    Change("mined", _mined),
)


def changes_of(case: Case, causes: Sequence[Cause]) -> list[tuple[str, Changes]]:
    """The name of each change and its keys: first those of suspect rows, which are left out."""
    tried: list[tuple[str, Changes]] = [
        (cause.name, {"corpus.nli": without(case, cause)}) for cause in causes if cause.rows
    ]
    return tried + [(change.name, keys) for change in CHANGES.values() for keys in change.of(case)]


def without(case: Case, cause: Cause) -> str:
    """The file of the rows that a cause does not suspect, which it writes."""
    path, suspect = to_write(case.folder, f"{cause.name}-{COLLECTED}"), {*cause.rows}
    lines = (json.dumps(row, ensure_ascii=False) for number, row in enumerate(case.rows) if number not in suspect)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def back(case: Case) -> Changes:
    """The keys that the recipe changes of the base settings, at their values there."""
    flat, base = case.recipe.flat(), case.base.flat()
    return {key: base[key] for key in flat if key in base and flat[key] != base[key]}


def _number(case: Case, key: str) -> float:
    value = case.recipe.flat().get(key)
    return float(value) if isinstance(value, int | float) else 0.0
