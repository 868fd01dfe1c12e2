"""The changes that are tried, each alone: large steps of single settings, and training without suspect rows."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from reports.ledger.names import writable_path
from search_spaces.own_data import BATCH, EPOCHS, MINED_FROM, RATE, TEMPERATURE, USUAL_BATCH
from study.why.case import MOST_ROWS, Cause, StudyCase
from trainables.files import write_whole
from trainables.recipe import Value

Changes = Mapping[str, Value]
FAR, COLDER = 10.0, 5.0
"""The factors by which a tried change raises or lowers the learning rate, and the temperature."""
SMALL, LARGE = 16, 256
"""Recipes with a batch below `SMALL` or above `LARGE` are tried with the usual batch size."""
LONGER, LONG = 3, 3
"""Recipes of fewer than `LONG` epochs are tried with `LONGER` times as many; other recipes with one epoch."""
COLLECTED, SUSPECTS = "why-rows.jsonl", "why-suspects.jsonl"
"""Files in the results: the training rows without suspect ones, and the suspect rows, the worst first."""


def _far(key: str, factor: float, case: StudyCase) -> Iterator[Changes]:
    """Yield two changes: the key's value divided and multiplied by the factor."""
    if value := _number(case, key):
        yield {key: float(f"{value / factor:.2g}")}
        yield {key: float(f"{value * factor:.2g}")}


def _batches(case: StudyCase) -> Iterator[Changes]:
    batch = _number(case, BATCH)
    if batch < SMALL or batch > LARGE:
        yield {BATCH: USUAL_BATCH}


def _epochs(case: StudyCase) -> Iterator[Changes]:
    epochs = _number(case, EPOCHS)
    yield {EPOCHS: int(epochs) * LONGER if epochs < LONG else 1}


def _masked(case: StudyCase) -> Iterator[Changes]:
    key = "objective.false_negatives"
    if case.recipe.flat().get(key) not in (None, "self", "guide"):
        yield {key: "self"}


def _mined(case: StudyCase) -> Iterator[Changes]:
    if case.recipe.flat().get("corpus.layout") == "pairs" and len(case.rows) >= MINED_FROM:
        yield {"corpus.layout": "groups", "corpus.negatives_from": "mined", "objective.negatives": 1}


CHANGES: Mapping[str, Callable[[StudyCase], Iterable[Changes]]] = {
    "configuration": lambda case: filter(None, [case.not_as_configured]),
    "rate": functools.partial(_far, RATE, FAR),
    "temperature": functools.partial(_far, TEMPERATURE, COLDER),
    "batch": _batches,
    "epochs": _epochs,
    "base": lambda case: filter(None, [back(case)]),
    "masked": _masked,
    "mined": _mined,
}


def changes_of(case: StudyCase, causes: Sequence[Cause]) -> list[tuple[str, Changes]]:
    """Return the name and the changed keys of each change; first come the changes that leave out suspect rows."""
    tried: list[tuple[str, Changes]] = [
        (cause.name, {"corpus.nli": cause.mend["train"][0]}) for cause in causes if "train" in cause.mend
    ]
    return tried + [(name, keys) for name, changes in CHANGES.items() for keys in changes(case)]


def by_rows(case: StudyCase, cause: Cause) -> bool:
    """Whether leaving out the suspect rows removes the cause: all rows were examined, and no setting removes it."""
    return bool(cause.rows) and not cause.mend and len(case.rows) <= MOST_ROWS


def without(case: StudyCase, cause: Cause) -> str:
    """Write a file of the rows that a cause does not suspect, and a file of the suspect rows. Return the first file."""
    named = {*cause.rows}
    located = zip(case.row_locations(cause.rows), cause.rows, strict=True)
    _write(case, f"{cause.name}-{SUSPECTS}", ({"place": location, **case.rows[number]} for location, number in located))
    return _write(
        case, f"{cause.name}-{COLLECTED}", (row for number, row in enumerate(case.rows) if number not in named)
    )


def _write(case: StudyCase, name: str, rows: Iterable[Mapping[str, object]]) -> str:
    path = writable_path(case.folder, name)
    write_whole(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    return str(path)


def back(case: StudyCase) -> Changes:
    """Return the keys in which the recipe differs from the base settings, with the base's values."""
    flat, base = case.recipe.flat(), case.base.flat()
    return {key: base[key] for key in flat if key in base and flat[key] != base[key]}


def _number(case: StudyCase, key: str) -> float:
    value = case.recipe.flat().get(key)
    return float(value) if isinstance(value, int | float) else 0.0
