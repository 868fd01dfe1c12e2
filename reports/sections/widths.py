"""Scores of embeddings cut to fewer dimensions, for models trained to allow this (`objective.dims`)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reports.document import Block, DataTable
from reports.facts.quantity import Quantity
from reports.facts.results import Results
from reports.ledger import Record
from reports.words.markdown import spread, text

HOW = (
    "The first numbers of each embedding alone, scored as the whole is, with classifiers of their own; a row that was "
    "not trained at a width has no score there. Means and deviations over seeds, in percent."
)


def write(results: Results, pictures: Path) -> list[Block]:
    """Write for each figure a table of rows and widths; empty if no trial trained for fewer dimensions."""
    widths = {width for record in results.records for width in record.data_read.get("widths", {})}
    if not widths:
        return []
    order = sorted(widths, key=lambda width: (len(width), width), reverse=True)  # sorted as numbers
    return [HOW, *(_table(results, figure, order) for figure in results.figures)]


def _table(results: Results, figure: Quantity, widths: list[str]) -> DataTable:
    lines = [
        [
            text(label),
            spread(results.of_figure(records, figure)),
            *(spread(results.over_seeds(records, _at(width, figure))) for width in widths),
        ]
        for label in results.asked_rows
        if (records := results.of_row(label))
    ]
    return DataTable([f"Row, by {text(figure.name)}", "whole", *widths], lines)


def _at(width: str, figure: Quantity) -> Callable[[Record], float | None]:
    """Return a function from a record to the figure for embeddings cut to this many dimensions."""
    return lambda record: figure.of(record.data_read.get("widths", {}).get(width, {}))
