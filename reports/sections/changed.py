"""Test items of the user's own tasks that the recommended recipe mends or breaks: some of each, with their texts."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from reports.document import Block, DataTable, Heading
from reports.facts.results import Results
from reports.items import Item, Items, LabelChange, class_columns, classes_of, of_own_data, shortened
from reports.words.commands import results_location
from reports.words.gains import REFERENCE_NAMES
from reports.words.markdown import code, count, percent, signed, text, verbatim
from trainables.errors import UserError

MAX_SHOWN_ITEMS = 5
"""Largest number of mended, and of broken, items that are shown."""
MAX_SHOWN_LABELS = 8
"""Largest number of labels in the table; those with the most changed items are shown."""
MAX_SHOWN_TASKS = 2
"""Largest number of tasks whose items are shown."""
MEANING = {
    "test_ndcg@10": "100 % where the right texts come first, 63 % where one comes second, 0 % beyond the tenth",
}
"""Explains values of a number for a single item, by the number's name."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Write changed items of each own task that counts in a goal. Empty without finals or kept predictions."""
    judging = dict.fromkeys(task for task, _ in results.own_figure.weights) if results.own_figure else {}
    # Reports must not print SentEval's sentences.
    tasks = [task for task in judging if of_own_data(task)][:MAX_SHOWN_TASKS]
    blocks: list[Block] = []
    for task in tasks:
        try:
            items = Items.of(results, task)
        except UserError:  # nothing can be compared; `--items` reports why
            continue
        blocks += [Heading(text(task))] * (len(tasks) > 1) + _of_task(items, results)
    return blocks


def _of_task(items: Items, results: Results) -> list[Block]:
    better, worse = ("mends", "breaks") if items.right_or_wrong else ("does better on", "worse on")
    name = items.recipe.partition(" ")[0] if items.recipe.startswith("#") else items.recipe
    broke = f"{len(items.broke):,}" if items.broke else "none"
    changed = f"{better} {len(items.mended):,} of {count(items.items, 'test item')} and {worse} {broke}"
    if items.as_a_whole:
        whole = f"is compared on {count(items.items, 'test item')} as a whole"
        changed = f"{whole}; these add most to its gain, and take most from it"
    of_seeds = {share for item in (*items.mended, *items.broke) for share in (item.before, item.after)}
    shares = items.right_or_wrong and not of_seeds <= {0.0, 1.0}  # else each is right under all seeds or none
    how = "Right is what most seeds get right; where half of them do, nothing changed." if shares else ""
    if not (items.right_or_wrong or items.as_a_whole or items.no_texts):
        meaning = MEANING.get(items.number, "100 % at best")
        how = f"Before and now are each item's own {code(items.number)}: {meaning}."
    location, task = shlex.quote(results_location(results.info)), shlex.quote(items.task)
    every = verbatim(f"python -m reports {location} --items {task}")
    where = (
        f"{every} shows more of them." if not items.no_texts else f"Their texts are not here: {every} looks for them."
    )
    blocks: list[Block] = [
        " ".join(filter(None, [f"Against {REFERENCE_NAMES[items.over]} {code(name)} {changed}.", how, where]))
    ]
    if len(items.labels) > 1:
        blocks.append(_by_label(items.labels))
    heads = ("Mended", "Broken") if items.right_or_wrong else ("Better", "Worse")
    for head, some in zip(heads, (items.mended, items.broke), strict=True):
        if some and not items.no_texts:
            blocks.append(_table(head, some[:MAX_SHOWN_ITEMS], items.right_or_wrong, shares))
    return blocks


def _table(head: str, items: Sequence[Item], seeds: bool, shares: bool) -> DataTable:
    """Return a table of changed items. `seeds`: whether their values are shares of seeds. `shares`: not only 0 and
    1."""
    if not all(map(_has_scores, items)):
        return DataTable([head, "points"], [[_text(item), signed(item.change, 3)] for item in items])
    named = class_columns(items)
    if seeds and named and not shares:
        return DataTable(
            [head, *named], [[_text(item), *map(text, classes_of(item))] for item in items], 1 + len(named)
        )
    heads = [head, *named, *(["seeds right before", "now"] if seeds else ["before", "now"])]
    rows = [[_text(item), *map(text, classes_of(item)), percent(item.before), percent(item.after)] for item in items]
    return DataTable(heads, rows, left=1 + len(named))


def _by_label(labels: Sequence[LabelChange]) -> DataTable:
    most = sorted(labels, key=lambda each: -each.moved)[:MAX_SHOWN_LABELS]
    head = "Label" if len(most) == len(labels) else f"Label ({len(most)} of {len(labels):,}, those that moved most)"
    rows = [[text(each.label), f"{each.items:,}", percent(each.before), percent(each.after)] for each in most]
    return DataTable([head, "items", "share right before", "now"], rows)


def _has_scores(item: Item) -> bool:
    return item.before is not None and item.after is not None


def _text(item: Item) -> str:
    return text(shortened(item.text or ""))
