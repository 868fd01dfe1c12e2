"""The paper's tables as markdown: ours, published and the difference; and differences to the baseline row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from reports.ledger import Record
from reports.markdown import DASH, bullets, number, signed, spread, table
from reports.plots.row_differences import rows_picture
from reports.results import Results, average_column
from reports.sections.words import bars_in_words, noise_sentence
from search_spaces.averages import describe
from search_spaces.space import Column, Table
from trainables.recipe import keys

HOW_TO_READ = (
    "`difference` is ours minus published. In this setting (see the top) it says nothing about reproduction; "
    "the second table of each pair does, which compares differences to the baseline."
)
UNTRAINED = "†"
"""Marks a row that was evaluated, but not trained here."""


def write(results: Results, pictures: Path) -> str:
    """A picture of the rows, every table of the paper, and the rows' notes.

    A space without tables gets one table of its rows and their averages.
    """
    if not results.space.tables:
        return plain_table(results)
    parts = [HOW_TO_READ] if results.has_published and not results.comparable else []
    picture = rows_picture(results, pictures / "rows.svg")
    if picture:
        shown = ", ours and published" if results.has_published else ""
        parts.append(f"![Rows against the baseline{shown}]({pictures.name}/{picture.name})")
        base = results.space.baseline
        parts.append(f"Points above or below the `{base}` row, trained rows only{bars_in_words(results)}.")
    parts += [paper_table(results, paper) for paper in results.space.tables]
    asked = [row for row in results.space.rows if row.note and row.label in results.asked_rows]
    parts += [bullets(f"`{row.label}`: {row.note}." for row in asked)] if asked else []
    return "\n\n".join(parts)


def paper_table(results: Results, paper: Table) -> str:
    """One table of the paper, whole: levels, differences to the baseline, footnotes, reasons of its dashes."""
    parts = [f"### Table {paper.number}. {paper.title}", _caption(results, paper)]
    notes = [*paper.footnotes, *_reasons(results, paper)]
    shown = _with_a_line(results, paper)
    parts.append(_levels(results, paper, shown) if shown else "No row has a figure for this table.")
    if any(_is_measured(results, paper, label) for _, label in shown):
        if results.space.baseline is not None:
            parts.append(_gains(results, paper, shown))
        if any(results.is_untrained(label) for _, label in shown):
            notes.insert(0, f"{UNTRAINED} evaluated, not trained here.")
    if notes:
        parts.append(bullets(notes))
    return "\n\n".join(parts)


def _is_measured(results: Results, paper: Table, label: str) -> bool:
    return any(results.cell(paper, label, column.name) is not None for column in paper.columns)


def _is_printed(results: Results, paper: Table, label: str) -> bool:
    return any(results.published(paper, label, column.name) is not None for column in paper.columns)


def plain_table(results: Results) -> str:
    """Rows and averages of a space that has no tables of its own, and what they are averages of."""
    lines = [
        [label, *(spread(measure(results.of_row(label))) for _, measure in results.summaries)]
        for label in results.asked_rows
    ]
    names = [name for name, _ in results.summaries]
    means = bullets(f"`{name}`: the mean of {describe(name)}." for name in names)
    how = f"Test scores x 100 under SentEval's protocol `{results.protocol}`:"
    return "\n\n".join([table(["Row", *names], lines), how, means] if names else [table(["Row"], lines)])


def _caption(results: Results, paper: Table) -> str:
    """What the figures are, and whether ours were measured under the paper's protocol."""
    said = [f"{paper.aggregation[0].upper()}{paper.aggregation[1:]}."]
    if results.protocol == paper.protocol:
        said.append(f"SentEval protocol `{paper.protocol}`, as in the paper.")
    elif any(_is_fitted(column) for column in paper.columns):
        said.append(
            f"Ours is measured under the protocol `{results.protocol}`, the paper's under `{paper.protocol}`: "
            "the levels are not comparable."
        )
    return " ".join(said)


def _is_fitted(column: Column) -> bool:
    """Whether classifiers or regressors were fitted for the column's figure, which the protocol says how to do.

    A figure by cosine needs none. An average may hold figures that do.
    """
    name = column.score[1] if column.score else ""
    cosine = name.startswith("spearman") or name.endswith("_cosine")
    return column.average is not None or (column.score is not None and not cosine)


def _levels(results: Results, paper: Table, shown: Sequence[tuple[str, str]]) -> str:
    """Three lines a model: ours, published, ours minus published; the best figure of a column is bold.

    A model that only the paper or only we have has one line: of some tables they are most rows.
    """
    labels = [label for _, label in shown]
    best_ours = _best(paper, labels, lambda label, column: _mean(results, paper, label, column))
    best_published = _best(paper, labels, lambda label, column: results.published(paper, label, column))
    lines: list[list[str]] = []
    for name, label in shown:
        ours, published, difference = [], [], []
        for column in paper.columns:
            cell, figure = results.cell(paper, label, column.name), results.published(paper, label, column.name)
            ours.append(_bold(spread(cell), label in best_ours[column.name]))
            published.append(_bold(number(figure), label in best_published[column.name]))
            difference.append(signed(cell.mean - figure if cell is not None and figure is not None else None))
        marked = f"{name} {UNTRAINED}" if results.is_untrained(label) else name
        printed = _is_printed(results, paper, label)
        if printed and not _is_measured(results, paper, label):
            lines.append([marked, f"published (ours {DASH})", *published])
            continue
        lines.append([marked, "ours", *ours])
        if printed:
            lines += [["", "published", *published], ["", "difference", *difference]]
    return table([_head(paper), "", *(column.name for column in paper.columns)], lines, left=2)


def _with_a_line(results: Results, paper: Table) -> list[tuple[str, str]]:
    """Name and label of the rows that the paper has figures of or, where we have any at all, that were asked for.

    Of a large grid a study often asks for a part; lines of nothing but dashes would hide it. The footnote names them.
    """
    ours = any(_is_measured(results, paper, label) for _, label in paper.rows)
    return [
        (name, label)
        for name, label in paper.rows
        if _is_printed(results, paper, label) or (ours and label in results.asked_rows)
    ]


def _gains(results: Results, paper: Table, shown: Sequence[tuple[str, str]]) -> str:
    """One line a model: what it gains over the baseline row, ours and, in brackets, the paper's."""
    base = results.space.baseline or ""
    if not results.of_row(base):
        return f"Differences to `{base}` need that row, which is missing: {results.why_missing(base)}."

    lines, printed = [], False
    for name, label in shown:
        if label == base or not _is_measured(results, paper, label):
            continue
        ours = [signed(results.gain(paper, label, column.name)) for column in paper.columns]
        published = [signed(results.published_gain(paper, label, column.name)) for column in paper.columns]
        if any(gain != DASH for gain in published):
            printed = True
            ours = [f"{gain} ({figure})" for gain, figure in zip(ours, published, strict=True)]
        lines.append([name, *ours])
    title = f"Difference to the `{base}` row in points, ours{' (published)' * printed}:"
    return "\n\n".join(
        [title, table([_head(paper), *(column.name for column in paper.columns)], lines), _noise_line(results, paper)]
    )


def _noise_line(results: Results, paper: Table) -> str:
    column = average_column(paper).name
    return noise_sentence(results.noise(paper, column), column, _usual_seeds(results, paper))


def _usual_seeds(results: Results, paper: Table) -> int:
    """The most seeds that a row of the table has."""
    return max((len(results.of_row(label)) for _, label in paper.rows), default=1) or 1


def _reasons(results: Results, paper: Table) -> list[str]:
    """Why there are dashes: missing rows and seeds first, then tasks and averages that rows lack."""
    found: dict[str, list[str]] = {}
    tasks: dict[str, list[str]] = {}
    averages: dict[str, list[str]] = {}
    for name, label in paper.rows:
        records = results.of_row(label)
        if not records:
            found.setdefault(results.why_missing(label), []).append(f"`{name}`")
        elif not results.is_complete(label):
            found.setdefault("some seeds have not finished yet", []).append(f"`{name}`")
        for column in paper.columns:
            if records and column.score and results.cell(paper, label, column.name) is None:
                task = column.score[0]
                why = records[0].scores.get(task, {}).get("reason") or "this score was not measured"
                tasks.setdefault(str(why), []).append(task)
            if records and column.average and results.cell(paper, label, column.name) is None:
                averages.setdefault(_without(records), []).append(f"`{column.name}`")
    said = [f"{', '.join(names)}: {why}." for why, names in found.items()]
    return said + [
        f"{', '.join(dict.fromkeys(names))}: {why.rstrip('.')}." for why, names in [*tasks.items(), *averages.items()]
    ]


def _without(records: Sequence[Record]) -> str:
    """Why these records lack an average: tasks that have no score, else tasks that nobody asked for."""
    reasons = [
        f"{task}: {str(numbers['reason']).rstrip('.')}"
        for record in records
        for task, numbers in record.scores.items()
        if numbers.get("reason")
    ]
    if reasons:
        return f"an average needs every one of its tasks; without a score are {'; '.join(dict.fromkeys(reasons))}"
    return "an average needs every one of its tasks, and not all were asked for (`evaluation.tasks`)"


def _head(paper: Table) -> str:
    """The first column's: what the table varies, as the papers write it."""
    return (keys()[paper.curve].alias or paper.curve) if paper.curve else "Model"


def _mean(results: Results, paper: Table, label: str, column: str) -> float | None:
    cell = results.cell(paper, label, column)
    return None if cell is None else cell.mean


def _best(paper: Table, labels: Sequence[str], figure: Callable[[str, str], float | None]) -> dict[str, set[str]]:
    """By column, the labels whose figure is the highest as printed; none where fewer than two are there."""
    best = {}
    for column in paper.columns:
        values = {label: round(value, 2) for label in labels if (value := figure(label, column.name)) is not None}
        top = max(values.values(), default=None)
        best[column.name] = {label for label, value in values.items() if value == top} if len(values) > 1 else set()
    return best


def _bold(text: str, is_best: bool) -> str:
    return f"**{text}**" if is_best else text
