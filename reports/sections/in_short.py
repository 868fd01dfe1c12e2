"""What a reader in a hurry must know: what was learned, in sentences that hold."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from reports.best_model import best_trial
from reports.commands import study_command
from reports.evidence import Board, Evidence, Standing
from reports.ledger import Record
from reports.markdown import bullets, code, count, number, text
from reports.results import Results
from reports.sections.pareto import pareto_in_short
from reports.sections.words import interval, order_sentence
from reports.verdicts import judged
from search_spaces.goals import selection

MOST = 5
"""So many rows of a best set are listed, more are counted."""


def write(results: Results, pictures: Path) -> str:
    """Three sentences, the rows that may be the best, what would settle the rest, how far the study is."""
    boards = Evidence.of(results).boards
    learned = [" ".join(conclusion(board) for board in boards) or "No row has a figure that sums the study up yet."]
    order = [f"{text(board.quantity.name)}: {said}." for board in boards if (said := order_sentence(board))]
    learned += [f"The paper's order. {' '.join(order)}"] if order else []
    learned += [_claims(results)] if results.space.claims else []
    parts = ["\n".join(f"{place}. {said}" for place, said in enumerate(learned, 1))]
    parts += [said for board in boards if (said := best_set(board))]
    parts += [said for said in [more_seeds(results, boards)] if said]
    parts.append(bullets(_facts(results)))
    return "\n\n".join(parts)


def conclusion(board: Board) -> str:
    """What the board proves, with the largest gain; "best" is said only of a row that is alone in the best set."""
    name = f"**{text(board.quantity.name)}**"
    rows = [item for item in board.standings if item.gain is not None]
    if board.baseline is None or not rows:
        return _without_baseline(board, name)
    base = code(board.baseline)
    top = max(rows, key=lambda item: item.gain.gain if item.gain else 0.0)
    largest = f"The largest gain measured is {code(top.name)}'s, {interval(top.gain)} points"
    verdicts = Counter(item.verdict for item in rows)
    if verdicts["above"] + verdicts["below"] == 0:
        return f"On {name} no row is shown to be better or worse than {base}: {_why(rows)}. {largest}{_basis(top)}."
    others = [
        f"{verdicts[verdict]} {words}"
        for verdict, words in (
            ("below", "below it"),
            ("undecided", "undecided"),
            ("undecided: one seed", "with one seed"),
        )
        if verdicts[verdict]
    ]
    others += [f"{verdicts['no verdict']} without a verdict ({_guards(rows)})"] if verdicts["no verdict"] else []
    rest = f" ({', '.join(others)})" if others else ""
    said = f"On {name} {verdicts['above']} of {count(len(rows), 'row')} are shown to be above {base}{rest}."
    alone = [item for item in board.standings if item.in_best_set]
    if len(alone) == 1 and alone[0].verdict == "above":
        return f"{said} {code(alone[0].name)} is the best of them: {interval(alone[0].gain)} points above {base}."
    return (
        f"{said} {largest}{_basis(top)}; the best cannot be told."
        if len(alone) > 1
        else f"{said} {largest}{_basis(top)}."
    )


def _without_baseline(board: Board, name: str) -> str:
    """Where there is nothing to take differences against."""
    alone = [item for item in board.standings if item.in_best_set]
    if len(alone) == 1 and len(board.standings) > 1:
        return f"On {name} {code(alone[0].name)} is the best row, with {_mean(alone[0])}."
    there = [item for item in board.standings if item.sample]
    top = f"The highest mean measured is {code(there[0].name)}'s, {_mean(there[0])}" if there else "It has no figure"
    return f"On {name} no best row can be told. {top}."


def _mean(item: Standing) -> str:
    return number(item.sample.mean if item.sample else None)


def _basis(item: Standing) -> str:
    """What limits an interval."""
    if item.gain is None or item.gain.low is None:
        return ""
    return {"items only": " (one seed: over test items only)", "seeds only": " (over seeds only)"}.get(
        item.gain.basis, ""
    )


def _why(rows: list[Standing]) -> str:
    """Why a board has no verdict at all."""
    verdicts = {item.verdict for item in rows}
    if verdicts == {"undecided: one seed"}:
        return "each has one seed, so how far a recipe moves from seed to seed is unknown"
    said = []
    if "undecided" in verdicts:
        said.append("the differences are no larger than chance makes them")
    if "undecided: one seed" in verdicts:
        said.append("some rows have one seed")
    if "no verdict" in verdicts:
        said.append(f"flags forbid it ({_guards(rows)})")
    return " and ".join(said)


def _guards(rows: list[Standing]) -> str:
    names = dict.fromkeys(flag.guard for item in rows for flag in item.blocked_by)
    return f"flag{'s' * (len(names) > 1)} {', '.join(map(code, names))}"


def best_set(board: Board) -> str:
    """Which rows may be the best, each with its gain; empty where that cannot be said."""
    inside = [item for item in board.standings if item.in_best_set]
    if not inside:
        return ""
    judged = sum(item.in_best_set is not None for item in board.standings)
    lines = [f"{code(item.name)}: {_standing(board, item)}" for item in inside[:MOST]]
    if len(inside) > MOST:
        lines.append(f"and {count(len(inside) - MOST, 'row')} more (see Rows)")
    what = "is the best" if len(inside) == 1 else "may be the best (95 %)"
    head = f"{len(inside)} of {count(judged, 'row')} {what} on **{text(board.quantity.name)}**"
    return (
        f"{head}, with gains over {code(board.baseline)}:\n\n{bullets(lines)}"
        if board.baseline
        else f"{head}:\n\n{bullets(lines)}"
    )


def _standing(board: Board, item: Standing) -> str:
    if item.name == board.baseline:
        return "the baseline itself"
    return interval(item.gain) if item.gain else _mean(item)


def more_seeds(results: Results, boards: list[Board]) -> str:
    """How many more seeds of which rows would settle what is open, with the command."""
    open_boards = [board for board in boards if board.seeds_needed]
    said = " ".join(f"{text(board.quantity.name)}: {board.settles.rstrip('.')}." for board in boards if board.settles)
    if not open_boards:
        return said
    more = max(board.seeds_needed or 0 for board in open_boards)
    undecided = dict.fromkeys(
        item.name
        for board in open_boards
        for item in board.standings
        if item.verdict.startswith("undecided") or item.name == board.baseline
    )
    command = study_command(results.info, list(undecided), len(results.info.seeds) + more)
    return f"{said} {count(more, 'more seed')} of these rows:\n\n```sh\n{command}\n```"


def _claims(results: Results) -> str:
    found = judged(results)
    counts = Counter(item.verdict for item in found)
    own = sum(bool(item.claim.contradicted) for item in found)
    doubt = f" (the paper's own figures contradict {own} of them)" if own else ""
    verdicts = ", ".join(f"{name} {n}" for name, n in counts.items())
    return f"Of the paper's {count(len(found), 'claim')}{doubt}: {verdicts}."


def _facts(results: Results) -> list[str]:
    """How far the study is, the goals, what lies close to the paper, the best model."""
    said = _rows(results)
    if results.space.goals:
        said.append(pareto_in_short(results))
    if results.comparable and results.has_published:
        said.append(_within_tolerance(results))
    best = best_trial(results)
    if best is not None:
        said.append(_best_model(results, best))
    return said


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


def _best_model(results: Results, best: Record) -> str:
    row = results.labels.get(best.recipe_hash)
    whose = f"row {code(row)}" if row else f"the explored recipe {code(best.recipe_hash)}"
    return (
        f"The model with the highest development score ({number(selection(best.scores))}; {whose}, seed {best.seed}) "
        f"was saved to {code(best.checkpoint)}."
    )


def _unfinished(results: Results, rows: list[str]) -> str:
    """Why the others are missing."""
    reasons = Counter(results.why_missing(label) for label in rows if not results.of_row(label))
    partly = sum(bool(results.of_row(label)) and not results.is_complete(label) for label in rows)
    said = [f"{text(why)} ({n})" for why, n in sorted(reasons.items())] + (
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
