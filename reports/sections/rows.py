"""Every row's figures and their gains over the baseline, in one table."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block
from reports.facts.answer import Answer
from reports.facts.boards import Board, Standing
from reports.facts.results import Results
from reports.plots.forest import FLAG
from reports.sections.glance import boards_to_show, in_finals
from reports.sections.rows_in_full import (
    flags_in_words,
    guards_of,
    mean_in_words,
    seeds_in_words,
    table_of,
    without_figure,
)
from reports.words.caveats import noise
from reports.words.comparisons import interval
from reports.words.guards import listed
from reports.words.markdown import DASH, text


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the table of rows, sorted by the first figure; empty if there are no boards to show."""
    boards = boards_to_show(results)
    if not boards:
        return []
    first = {item.name: item for board in reversed(boards) for item in board.standings if item.sample}
    order = dict.fromkeys(item.name for board in boards for item in board.standings if item.sample)
    head, lines = ["row", "seeds"], [[text(name), seeds_in_words(first[name])] for name in order]
    for board in boards:
        measured_rows = {item.name: item for item in board.standings if item.sample}
        head += [text(board.quantity.name), f"over {text(board.baseline)}" if board.baseline else "gain"]
        for name, line in zip(order, lines, strict=True):
            line += [mean_in_words(measured_rows.get(name)), _gain(board, measured_rows.get(name))]
    flagged = [
        guards_of(*(item for board in boards for item in board.standings if item.name == name)) for name in order
    ]
    every = [guard for guard in flagged[0] if len(flagged) > 1 and all(guard in guards for guards in flagged)]
    for guards, line in zip(flagged, lines, strict=True):
        line.append(flags_in_words({guard: bold for guard, bold in guards.items() if guard not in every}))
    head.append("flags")
    standings = [item for board in boards for item in board.standings]
    sentences = []
    if any(item.gain and item.gain.low is not None for item in standings):
        sentences.append("In brackets stands a 95 % interval.")
    if any(item.sample and item.sample.std is not None for item in standings):
        sentences.append("± is the standard deviation over seeds.")
    if any(item.sample and item.sample.count == 1 and not item.sample.fixed for item in standings):
        known = "; ".join(noise(Answer.of(results), text)) or "how far another seed lies was not measured"
        sentences.append(f"A score of one seed has no ±: {known}.")
    if any(item.verdict in ("above", "below") for item in standings):
        sentences.append("**Bold** gains are shown to be above or below zero.")
    if every:
        sentences.append(f"{FLAG} Every row: {listed([text(guard) for guard in every])}, see Warnings.")
    if in_finals(results) & {item.recipe_hash for item in standings}:
        sentences.append(
            "These are the scores under the seeds of the search: of a row in the finals quote those there."
        )
    named = listed([f'"{name}"' for name in ("Rows in full", "How to read the tables")])
    sentences.append(f"More: {named} below.")
    absent = dict.fromkeys(without_figure(results, board) for board in boards)
    return [table_of(head, lines), " ".join(sentences), *absent]


def _gain(board: Board, item: Standing | None) -> str:
    """Return the gain over the baseline, in bold if it is shown to be above or below zero."""
    if item is None or item.name == board.baseline:
        return "baseline" if item else DASH
    gain = interval(item.gain)
    return f"**{gain}**" if item.verdict in ("above", "below") else gain
