"""What a reader in a hurry must know."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import get_args

from reports.best_model import best_trial
from reports.ledger import Record
from reports.markdown import bullets, count, number, signed
from reports.results import Results, topic_name
from reports.sections.pareto import pareto_in_short
from reports.statistics import same_order
from reports.verdicts import Verdict, judged
from search_spaces.goals import selection
from search_spaces.space import Column, Table

FEWEST_PAIRS = 3
"""The order of fewer pairs of rows says nothing."""


def write(results: Results, pictures: Path) -> str:
    """How far the study is, its best rows, its noise, what the paper's claims came to."""
    said = [*_rows(results), *(_topic(results, paper, column) for paper, column in results.topics)]
    if results.space.goals:
        said.append(pareto_in_short(results))
    if results.comparable and results.has_published:
        said.append(_within_tolerance(results))
    if results.space.claims:
        said.append(_claims(results))
    best = best_trial(results)
    if best is not None:
        said.append(_best_model(results, best))
    if len(results.info.seeds) == 1:
        said.append(
            "There is one seed, so the noise between seeds is unknown: every comparison here is by sign only, and "
            "small differences mean nothing. More `--seeds` extend this study."
        )
    return bullets(said)


def _rows(results: Results) -> list[str]:
    """How many of the rows are there, and why the others are not."""
    foreign = [label for label in results.asked_rows if results.is_foreign(label)]
    rows = [label for label in results.asked_rows if label not in foreign]
    said = []
    if rows:
        done = sum(results.is_complete(label) for label in rows)
        seeds = count(len(results.info.seeds), "seed")
        said.append(f"{done} of {count(len(rows), 'row')} finished, {seeds} each.{_unfinished(results, rows)}")
    if foreign:
        evaluated = sum(bool(results.of_row(label)) for label in foreign)
        others = count(len(foreign), "row")
        said.append(f"{evaluated} of {others} of other people's models evaluated.{_unfinished(results, foreign)}")
    asked, there = len(results.asked_rows), len(results.space.rows)
    if 0 < asked < there:
        said.append(f"The space has {there} rows; this study was asked for {asked} of them.")
    return said


def _topic(results: Results, paper: Table, column: Column) -> str:
    """The best row by a topic's average, ours and the paper's."""
    name, baseline = topic_name(paper, column), results.space.baseline
    cells = {label: cell for _, label in paper.rows if (cell := results.cell(paper, label, column.name))}
    if len(cells) < 2:
        return f"{name}: fewer than two rows have it yet."
    best = max(cells, key=lambda label: cells[label].mean)
    text = f"{name}: the best row is `{best}` with {number(cells[best].mean)}"
    base = results.cell(paper, baseline, column.name) if baseline else None
    if base is not None and best != baseline:
        text += f", {signed(cells[best].mean - base.mean)} points against `{baseline}` ({number(base.mean)})"
    printed = {label: value for label in cells if (value := results.published(paper, label, column.name))}
    if len(printed.keys() - {baseline}) > 1:
        top = max(printed, key=lambda label: printed[label])
        relative = top != baseline and bool(results.of_row(baseline or ""))  # as ours is
        lead = results.published_gain(paper, top, column.name) if relative else None
        of_these = "" if len(printed) == len(paper.rows) else " of these"
        text += f"; in the paper it is `{top}`{of_these} ({number(printed[top]) if lead is None else signed(lead)})"
        same, total = same_order([(cells[label].mean, printed[label]) for label in cells if label in printed])
        if total >= FEWEST_PAIRS:
            text += f". {same} of {total} pairs of rows stand in the paper's order (by chance about half)"
    return f"{text}."


def _best_model(results: Results, best: Record) -> str:
    row = results.labels.get(best.recipe_hash)
    whose = f"row `{row}`" if row else f"the explored recipe `{best.recipe_hash}`"
    return (
        f"The best model by development score ({number(selection(best.scores))}; {whose}, seed {best.seed}) was "
        f"saved to `{best.checkpoint}`."
    )


def _claims(results: Results) -> str:
    found = judged(results)
    counts = Counter(item.verdict for item in found)
    verdicts = ", ".join(f"{name} {counts[name]}" for name in get_args(Verdict) if counts[name])
    own = sum(bool(item.claim.contradicted) for item in found)
    doubt = f" (the paper's own figures contradict {own} of them)" if own else ""
    return f"The paper's {count(len(found), 'claim')}{doubt}: {verdicts}."


def _unfinished(results: Results, rows: list[str]) -> str:
    """Why the others are missing."""
    reasons = Counter(results.why_missing(label) for label in rows if not results.of_row(label))
    partly = sum(bool(results.of_row(label)) and not results.is_complete(label) for label in rows)
    said = [f"{why} ({n})" for why, n in sorted(reasons.items())] + (
        [f"without some of their seeds ({partly})"] if partly else []
    )
    return f" The others: {'; '.join(said)}." if said else ""


def _within_tolerance(results: Results) -> str:
    gaps = {
        (label, paper.topic or paper.number, column.name): abs(cell.mean - printed)
        for paper in results.space.tables
        for _, label in paper.rows
        for column in paper.columns
        if (cell := results.cell(paper, label, column.name)) is not None
        and (printed := results.published(paper, label, column.name)) is not None
    }
    close = sum(gap <= results.space.tolerance for gap in gaps.values())
    return (
        f"{close} of {count(len(gaps), 'cell')} lie within {results.space.tolerance:g} point of the published figure."
    )
