"""Measured numbers of positives and negatives of each anchor, beside the limits on them in recipes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.document import Block, DataTable
from reports.facts.results import Results
from reports.ledger import Record, mean_measured
from reports.words.guards import rows_in_words
from reports.words.markdown import DASH, code, number, text
from trainables.objectives import OBJECTIVES

HOW = (
    "N+ and N- as measured are what the loss compares an anchor with: N- counts every candidate of the batch, "
    "other anchors' too, and of a memory bank. A cap is on an anchor's own: an upper bound, of which it takes what "
    "its batch offers; in the layout `groups` it is exact, and what is missing is filled in. Counts are of the "
    "whole training, means over seeds; a recipe hash names its files in the ledger."
)


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the table of measured numbers, a line for each row; empty if no row was trained."""
    if not any(record.training for record in results.records):
        return []
    return [HOW, _table(results), *_smaller_passes(results)]


def _table(results: Results) -> DataTable:
    lines = []
    filtered = any("filtered_per_anchor" in record.training for record in results.records)
    kept = any("kept" in record.training for record in results.records)
    for label in results.asked_rows:
        records, recipe = results.of_row(label), results.recipe(label)
        if results.is_foreign(label) and not records:
            continue
        capped = recipe["optimisation.epochs"] and OBJECTIVES[str(recipe["objective.name"])].contrasts

        def mean(name: str, digits: int, records: Sequence[Record] = records) -> str:
            return number(mean_measured(records, name), digits)

        lines.append(
            [
                text(label),
                _cap(recipe.get("objective.positives")) if capped else DASH,
                mean("positives_per_anchor", 2),
                _cap(recipe.get("objective.negatives")) if capped else DASH,
                mean("negatives_per_anchor", 2),
                *([mean("filtered_per_anchor", 2)] if filtered else []),
                mean("anchors", 0),
                mean("batches_without_anchor", 0),
                mean("steps", 0),
                mean("pairs", 0),
                mean("last_loss", 4),
                *([_kept(records)] if kept else []),
                code(results.info.row_hashes[label]) if results.info.row_hashes[label] else DASH,
            ]
        )
    taken = ["N- filtered"] if filtered else []
    head = ["Row", "N+ cap", "N+ measured", "N- cap", "N- measured", *taken, "anchors", "batches without anchor"]
    more = ["weights kept"] if kept else []
    return DataTable([*head, "steps", "pairs seen", "last loss", *more, "recipe hash"], lines)


def _kept(records: Sequence[Record]) -> str:
    """Return the steps whose weights were evaluated: `best of 8: step 250, 375` for two seeds."""
    choices = [record.training["kept"] for record in records if "kept" in record.training]
    if not choices:
        return "last" if any("steps" in record.training for record in records) else DASH
    if choices[0]["keep"] == "average":
        spans = {f"{choice['from_step']} to {choice['from_step'] + choice['steps'] - 1}" for choice in choices}
        return f"mean of steps {', '.join(sorted(spans))}"
    return f"best of {choices[0]['scored']}: step {', '.join(str(choice['step']) for choice in choices)}"


def _smaller_passes(results: Results) -> list[str]:
    """Report the trials whose batches were embedded in smaller passes than `optimisation.chunk` sets."""
    by_size: dict[str, set[str]] = {}
    for record in results.records:
        limit, used = record.recipe.get("optimisation.chunk", "auto"), record.training.get("chunk")
        if used is not None and used != limit:
            size = "the encoder's own passes" if used == "passes" else f"passes of at most {used:,} tokens"
            by_size.setdefault(size, set()).add(record.recipe_hash)
    if not by_size:
        return []
    sizes = [f"{rows_in_words(results, recipes)} in {size}" for size, recipes in sorted(by_size.items())]
    return [
        f"A batch that did not fit into memory was embedded in smaller passes: {'; '.join(sizes)}. Loss and gradients "
        "are those of the whole batch; dropout is drawn anew for each pass, so that another size is like another seed."
    ]


def _cap(value: int | None) -> str:
    return "all" if value is None else str(value)
