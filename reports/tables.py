"""The paper's tables as markdown: ours, published and the difference; and differences to the baseline row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reports.ledger import Record
from reports.markdown import DASH, bullets, count, number, signed, spread, table
from reports.results import Results
from reports.statistics import Noise
from search_spaces.averages import describe
from search_spaces.space import Column, Table

UNTRAINED = "†"
"""Marks a row that was evaluated, but not trained here."""


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


def measured_table(results: Results) -> str:
    """How many positives and negatives the anchors really had, beside the caps that the recipes set."""
    lines = []
    for label in results.asked_rows:
        records, recipe = results.of_row(label), results.recipe(label)
        if results.is_foreign(label) and not records:
            continue
        capped = recipe["objective.name"] not in ("ce", "mlm") and recipe["optimisation.epochs"]

        def mean(name: str, digits: int, records: Sequence = records) -> str:
            values = [r.training[name] for r in records if r.training.get(name) is not None]
            return number(sum(values) / len(values) if values else None, digits)

        lines.append(
            [
                label,
                _cap(recipe["objective.positives"]) if capped else DASH,
                mean("positives_per_anchor", 2),
                _cap(recipe["objective.negatives"]) if capped else DASH,
                mean("negatives_per_anchor", 2),
                mean("anchors", 0),
                mean("batches_without_anchor", 0),
                mean("steps", 0),
                mean("pairs", 0),
                mean("last_loss", 4),
                f"`{results.info.row_hashes[label]}`" if results.info.row_hashes[label] else DASH,
            ]
        )
    head = ["Row", "N+ cap", "N+ measured", "N- cap", "N- measured", "anchors", "batches without anchor"]
    return table([*head, "steps", "pairs seen", "last loss", "recipe hash"], lines)


def _cap(value: int | None) -> str:
    return "all" if value is None else str(value)


def _caption(results: Results, paper: Table) -> str:
    way = {
        "wmean": "Spearman correlation x 100 by cosine, mean over sub-corpora weighted by size",
        "accuracy": "test accuracy in percent",
    }
    words = way.get(paper.aggregation, paper.aggregation)
    said = [f"{words[0].upper()}{words[1:]}."]
    if results.protocol == paper.protocol:
        said.append(f"SentEval protocol `{paper.protocol}`, as in the paper.")
    elif any(_by_heads(column) for column in paper.columns):
        said.append(
            f"Ours is measured under the protocol `{results.protocol}`, the paper's under `{paper.protocol}`: "
            "the levels are not comparable."
        )
    return " ".join(said)


def _by_heads(column: Column) -> bool:
    """Whether heads were fitted for the column's figure, as the protocol says. An average may hold such figures."""
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
    column = next((c for c in paper.columns if c.mean_of), paper.columns[-1]).name
    noise = results.noise(paper, column)
    return noise_sentence(noise, column, _usual_seeds(results, paper))


def noise_sentence(noise: Noise | None, what: str, seeds: int) -> str:
    """How large a difference must be, in plain words."""
    if noise is None:
        return f"One seed only: how far {what} moves from seed to seed is unknown, so small differences mean nothing."
    return (
        f"Differences in {what} below {noise.threshold(seeds, seeds):.2f} points are within the noise between seeds "
        f"(95 %, {count(seeds, 'seed')} a row, pooled standard deviation {noise.std:.2f})."
    )


def _usual_seeds(results: Results, paper: Table) -> int:
    return max((len(results.of_row(label)) for _, label in paper.rows), default=1) or 1


def _reasons(results: Results, paper: Table) -> list[str]:
    """Why there are dashes: rows first, then tasks of rows that ran, then seeds that are still missing."""
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
    return {"objective.weight": "lambda", "objective.temperature": "tau"}.get(paper.curve or "", paper.curve or "Model")


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
