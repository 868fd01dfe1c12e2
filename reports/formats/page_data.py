"""Data for the script of `report.html`: rows' recipes, gains of each row over each other, and right test items."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from reports.facts.evidence import Evidence
from reports.facts.quantity import Quantity
from reports.facts.results import Results
from reports.formats import Document
from reports.ledger import Record
from trainables.errors import UserError
from trainables.recipe import changed
from trainables.senteval.items import digest
from trainables.senteval.read_task import read_task
from trainables.senteval.tasks import TASKS, Task, kind_of

ABOUT_PAIRS = (
    "Intervals are at 95 %, of each comparison by itself: who looks at many will find some that lie beside zero by "
    "chance. Hold a difference that you found here against the tables, which are corrected for that."
)
ABOUT_ITEMS = "A row is right about an item where most of its seeds are; only tasks with classes know right and wrong."


def page_data(document: Document) -> dict[str, Any]:
    """Return the data as an object for JSON.

    `base`: the flat base recipe. `varied`: the keys in which rows differ from it. `rows`: for each row its `name`, its
    `changes` to the base, whether it has `figures`, and `right`: by task `items` (the items' name), `count` and `bits`
    (base64, the first item first). `figures` and `pairs`: the results of the function `pairs`. `sentences`: texts by
    the items' name and number. `notes`: sentences for the reader.
    """
    results = document.results
    labels = results.asked_rows
    base = results.settings
    rows = [_row(results, label, base) for label in labels]
    figures, compared = pairs(Evidence.of(results), labels)
    sentences, notes = _sentences(rows, document.sentences)
    return {
        "base": base,
        "varied": sorted({key for row in rows for key in row["changes"]}),
        "rows": [{**row, "right": {task: _packed(*right) for task, right in row["right"].items()}} for row in rows],
        "figures": figures,
        "pairs": compared,
        "sentences": sentences,
        "notes": [ABOUT_PAIRS, ABOUT_ITEMS, *notes],
    }


def pairs(evidence: Evidence, labels: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
    """Return the names of the boards' figures and of their tasks, and the differences between every two rows.

    A pair of rows has the key `FIRST-SECOND`, their numbers in `labels`, and for each name `[gain, low, high, why]`,
    first row minus second. Unknown values are None; `why` is what forbids a verdict.
    """
    figures = [*evidence.row_figures]
    figures += {name: part for figure in figures for name, part in figure.by_task().items()}.values()
    hashes = [evidence.results.info.row_hashes.get(label) or "" for label in labels]
    cells_by_pair = {
        f"{first}-{second}": [_cell(evidence, hashes[first], hashes[second], figure) for figure in figures]
        for first, second in combinations(range(len(labels)), 2)
    }
    return [figure.name for figure in figures], {pair: cells for pair, cells in cells_by_pair.items() if any(cells)}


def _cell(evidence: Evidence, first: str, second: str, figure: Quantity) -> list[float | str | None] | None:
    item = evidence.compare(first, second, figure)
    if item is None:
        return None
    flags = evidence.between(first, second, figure)
    why = "one seed" if item.one_seed else ", ".join(dict.fromkeys(flag.guard for flag in flags))
    ends = [None if end is None else round(end, 2) for end in (item.low, item.high)]
    return [round(item.gain, 2), *ends, why]


def _row(results: Results, label: str, base: dict[str, Any]) -> dict[str, Any]:
    records = results.of_row(label)
    changes = changed(base, results.recipe(label))
    tasks = records[0].scores if records else {}
    right = {task: right_items for task in tasks if (right_items := _right(results, records, task)) is not None}
    return {"name": label, "changes": changes, "figures": bool(records), "right": right}


def _right(results: Results, records: list[Record], task: str) -> tuple[str, np.ndarray] | None:
    """Return the name of the task's test items and whether most seeds are right, by item, (items,); None if unknown."""
    if task not in TASKS or kind_of(task).predicted != "classes":
        return None
    read = results.predictions
    every = [items for record in records if (items := read.of_task(record, task)) and read.fits(record, task)]
    names = {f"{task} {items.items_digest or items.gold_digest}" for items in every}
    if len(every) < len(records) or len(names) != 1:
        return None
    return names.pop(), np.mean([items.predicted == items.gold for items in every], axis=0) > 0.5


def _packed(items: str, right: np.ndarray) -> dict[str, Any]:
    return {"items": items, "count": len(right), "bits": base64.b64encode(np.packbits(right).tobytes()).decode()}


def _sentences(rows: list[dict[str, Any]], folder: Path | None) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the texts of items that some rows have right and some have wrong, and notes if texts are missing."""
    if folder is None:
        return {}, ["Items go by their number; the option --sentences FOLDER puts their sentences into this page."]
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; give --sentences the folder of SentEval's data")
    by_items: dict[tuple[str, str], list[np.ndarray]] = {}
    for row in rows:
        for task, (items, right) in row["right"].items():
            by_items.setdefault((task, items), []).append(right)
    sentences: dict[str, dict[str, str]] = {}
    notes = []
    for (task, items), rights in by_items.items():
        split = np.any(rights, axis=0) & ~np.all(rights, axis=0)
        try:
            texts, _ = texts_of(TASKS[task], folder, items.removeprefix(f"{task} "))
        except UserError as error:
            notes.append(f"There are no sentences of {task}: {error}.")
            continue
        sentences[items] = {str(item): texts[item] for item in np.flatnonzero(split)}
    return sentences, notes


def texts_of(task: Task, folder: Path, expected: str) -> tuple[list[str], tuple[str, ...]]:
    """Return the texts of the task's test items and the names of its classes, if its own files have any. Raise
    `UserError` if the folder's items are not those that were scored. No torch is needed."""
    missing = [file for file in task.files if not (folder / file).exists()]
    if missing:
        raise UserError(f"{folder} has no {missing[0]}")
    data = read_task(task, folder)
    splits = kind_of(task.name).tested_splits(data)
    if digest(splits) != expected:
        raise UserError(f"those in {folder} are not the ones that were scored, or the trials do not say which were")
    return [" ⟷ ".join(item) for split in splits for item in split.items()], data.class_names
