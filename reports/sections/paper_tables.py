"""The paper's tables with our scores, the published scores, their difference, and the gains over the baseline row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from reports.document import Block, Bullets, DataTable, Heading
from reports.facts.evidence import Evidence
from reports.facts.guards import sentence
from reports.facts.quantity import Quantity, average_quantity, quantity
from reports.facts.results import Results
from reports.ledger import Record
from reports.plots.forest import FLAG
from reports.words.comparisons import interval, reason
from reports.words.markdown import DASH, code, number, signed, spread, text
from search_spaces.averages import AVERAGES, describe
from search_spaces.space import Column, Table
from trainables.recipe import keys
from trainables.senteval.tasks import kind_of

HOW_TO_READ = (
    "`difference` is ours minus published. In this setting (see What may be compared) it says nothing about "
    "reproduction. The second table of each pair sets differences to the baseline beside each other."
)
UNTRAINED = "†"
"""Marks a row that was evaluated but not trained in this study."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Write every table of the paper, then the notes on rows.

    A space without tables gets one table of its rows and averages.
    """
    if not results.space.tables:
        return plain_table(results)
    blocks: list[Block] = [HOW_TO_READ] if results.has_published and not results.comparable else []
    for paper in results.space.tables:
        blocks += paper_table(results, paper)
    rows = [row for row in results.space.rows if row.note and row.label in results.asked_rows]
    return [*blocks, Bullets([f"{code(row.label)}: {text(row.note)}." for row in rows])]


def paper_table(results: Results, paper: Table) -> list[Block]:
    """Write one table of the paper: scores, differences to the baseline, footnotes, and reasons for missing scores."""
    blocks: list[Block] = [Heading(f"Table {text(paper.number)}. {text(paper.title)}"), _caption(results, paper)]
    notes = [*map(text, paper.footnotes), *_reasons(results, paper)]
    shown = _with_a_line(results, paper)
    blocks.append(_levels(results, paper, shown) if shown else "No row has a figure for this table.")
    if any(_is_measured(results, paper, label) for _, label in shown):
        if results.space.baseline is not None:
            blocks += _gains(results, paper, shown)
        if any(results.is_untrained(label) for _, label in shown):
            notes.insert(0, f"{UNTRAINED} evaluated, not trained here.")
        everywhere = _everywhere(results, paper, shown)
        of_cells = {
            sentence
            for _, label in shown
            for column in paper.columns
            for sentence in _sentences(results, paper, label, column)
        }
        notes = [*(f"{FLAG} Every figure of ours: {sentence}" for sentence in sorted(everywhere)), *notes]
        notes = [*(f"{FLAG} {sentence}" for sentence in sorted(of_cells - everywhere)), *notes]
    return [*blocks, Bullets(notes)]


def _is_measured(results: Results, paper: Table, label: str) -> bool:
    return any(results.cell(paper, label, column.name) is not None for column in paper.columns)


def _is_printed(results: Results, paper: Table, label: str) -> bool:
    return any(results.published(paper, label, column.name) is not None for column in paper.columns)


def plain_table(results: Results) -> list[Block]:
    """Write rows and averages of a space without tables, and explain the averages."""
    lines = [
        [text(label), *(spread(results.of_figure(results.of_row(label), figure)) for figure in results.figures)]
        for label in results.asked_rows
    ]
    names = [figure.name for figure in results.figures]
    if not names:
        return [DataTable(["Row"], lines)]
    of_several = [figure for figure in results.figures if len(figure.weights) > 1]
    means = Bullets([f"{code(figure.name)}: the mean of {made_of(figure)}." for figure in of_several])
    under = under_protocol(results, [score for figure in results.figures for score in figure.weights])
    how = f"Test scores x 100{under}{':' if of_several else '.'}"
    return [DataTable(["Row", *map(text, names)], lines), how, means]


def under_protocol(results: Results, scores: Iterable[tuple[str, str]]) -> str:
    """Return ` under SentEval's protocol ...`; empty if none of these scores depends on the protocol."""
    return f" under SentEval's protocol {code(results.protocol)}" if _are_fitted(scores) else ""


def made_of(figure: Quantity) -> str:
    """Return what a figure is the mean of: for an average, in the paper's words; otherwise its numbers and tasks."""
    for name in AVERAGES:
        if average_quantity(name).weights == figure.weights:
            return describe(name)
    return ", ".join(f"{code(number)} of {text(task)}" for task, number in sorted(figure.weights))


def _caption(results: Results, paper: Table) -> str:
    """Return what the table's numbers are, and whether ours were measured under the paper's protocol."""
    sentences = [f"{text(paper.aggregation[:1].upper() + paper.aggregation[1:])}."]
    if results.protocol == paper.protocol:
        sentences.append(f"SentEval protocol {code(paper.protocol)}, as in the paper.")
    elif _are_fitted(score for column in paper.columns for score in quantity(paper, column).weights):
        sentences.append(
            f"Ours is measured under the protocol {code(results.protocol)}, the paper's under {code(paper.protocol)}: "
            "the levels are not comparable."
        )
    return " ".join(sentences)


def _are_fitted(scores: Iterable[tuple[str, str]]) -> bool:
    """Return whether any of these scores needs a fitted classifier or regressor, which depends on the protocol."""
    return any(number not in kind_of(task).unfitted for task, number in scores)


def _levels(results: Results, paper: Table, shown: Sequence[tuple[str, str]]) -> DataTable:
    """Return a table of scores with three lines for each model: ours, published, ours minus published.

    A model that only the paper or only the study has gets one line: in some tables most rows are such. No score is
    bold: another section tests which rows may be the best.
    """
    everywhere = _everywhere(results, paper, shown)
    lines: list[list[str]] = []
    for name, label in shown:
        ours, published, difference = [], [], []
        for column in paper.columns:
            cell, figure = results.cell(paper, label, column.name), results.published(paper, label, column.name)
            mark = f" {FLAG}" if cell is not None and _sentences(results, paper, label, column) - everywhere else ""
            ours.append(f"{spread(cell)}{mark}")
            published.append(number(figure))
            difference.append(signed(cell.mean - figure if cell is not None and figure is not None else None))
        marked = f"{text(name)} {UNTRAINED}" if results.is_untrained(label) else text(name)
        printed = _is_printed(results, paper, label)
        if printed and not _is_measured(results, paper, label):
            lines.append([marked, f"published (ours {DASH})", *published])
            continue
        lines.append([marked, "ours", *ours])
        if printed:
            lines += [["", "published", *published], ["", "difference", *difference]]
    return DataTable(_head(paper), lines, left=2)


def _sentences(results: Results, paper: Table, label: str, column: Column) -> set[str]:
    """Return warnings on single tasks in a cell of the table. Warnings on whole recipes are shown with the rows."""
    parts = quantity(paper, column).parts
    flags = Evidence.of(results).flags.of_recipe(results.info.row_hashes.get(label) or "", parts)
    return {sentence(results, flag) for flag in flags if flag.tasks}


def _everywhere(results: Results, paper: Table, shown: Sequence[tuple[str, str]]) -> set[str]:
    """Return the warnings that concern all of our scores in the table. Marks at every score would mean nothing."""
    cells = [
        _sentences(results, paper, label, column)
        for _, label in shown
        for column in paper.columns
        if results.cell(paper, label, column.name) is not None
    ]
    return set.intersection(*cells) if cells else set()


def _with_a_line(results: Results, paper: Table) -> list[tuple[str, str]]:
    """Return name and label of each row with a line: rows with published scores and, if any row was run, the study's
    own rows.

    A study often runs a part of a large grid. Its other rows are listed in a footnote.
    """
    ours = any(_is_measured(results, paper, label) for _, label in paper.rows)
    return [
        (name, label)
        for name, label in paper.rows
        if _is_printed(results, paper, label) or (ours and label in results.asked_rows)
    ]


def _gains(results: Results, paper: Table, shown: Sequence[tuple[str, str]]) -> list[Block]:
    """Write the table of models' gains over the baseline row: ours with the 95 % interval, and the published ones."""
    base = results.space.baseline or ""
    if not results.of_row(base):
        why = reason(results.why_missing(base))
        return [f"Differences to {code(base)} need that row, which is missing: {why}."]
    evidence, hashes = Evidence.of(results), results.info.row_hashes
    lines, printed, one_seed = [], False, False
    for name, label in shown:
        if label == base or not _is_measured(results, paper, label):
            continue
        gains = [
            evidence.compare(hashes[label] or "", hashes[base] or "", quantity(paper, column))
            for column in paper.columns
        ]
        one_seed = one_seed or any(gain is not None and gain.one_seed for gain in gains)
        published = [signed(results.published_gain(paper, label, column.name)) for column in paper.columns]
        lines.append([text(name), "ours", *map(interval, gains)])
        if any(gain != DASH for gain in published):
            printed = True
            lines.append(["", "published", *published])
    title = f"Difference to the {code(base)} row in points, ours with its 95 % interval{' and published' * printed}"
    title += " (one seed: over test items only):" if one_seed else ":"
    return [title, DataTable(_head(paper), lines, left=2)]


def _reasons(results: Results, paper: Table) -> list[str]:
    """Return the reasons for missing scores: first missing rows and seeds, then missing tasks and averages."""
    rows: dict[str, list[str]] = {}
    tasks: dict[str, list[str]] = {}
    averages: dict[str, list[str]] = {}
    for name, label in paper.rows:
        records = results.of_row(label)
        if not records:
            rows.setdefault(reason(results.why_missing(label)), []).append(code(name))
        elif not results.is_complete(label):
            rows.setdefault("some seeds have not finished yet", []).append(code(name))
        for column in paper.columns:
            if records and column.score and results.cell(paper, label, column.name) is None:
                task = column.score[0]
                why = records[0].scores.get(task, {}).get("reason") or "this score was not measured"
                tasks.setdefault(reason(str(why)), []).append(text(task))
            if records and column.average and results.cell(paper, label, column.name) is None:
                averages.setdefault(_without(records), []).append(code(column.name))
    reasons = [f"{', '.join(names)}: {why}." for why, names in rows.items()]
    return reasons + [
        f"{', '.join(dict.fromkeys(names))}: {why.rstrip('.')}." for why, names in [*tasks.items(), *averages.items()]
    ]


def _without(records: Sequence[Record]) -> str:
    """Return why these records lack an average: some of its tasks have no score, or were not requested."""
    reasons = [
        f"{text(task)}: {text(str(numbers['reason']).rstrip('.'))}"
        for record in records
        for task, numbers in record.scores.items()
        if numbers.get("reason")
    ]
    if reasons:
        return f"an average needs every one of its tasks; without a score are {'; '.join(dict.fromkeys(reasons))}"
    return "an average needs every one of its tasks, and not all were asked for (`evaluation.tasks`)"


def _head(paper: Table) -> list[str]:
    """Return the table's column heads: the varied key in the papers' word, an empty one for `ours`, and the columns."""
    first = (keys()[paper.curve].alias or paper.curve) if paper.curve else "Model"
    return [first, "", *(text(column.name) for column in paper.columns)]
