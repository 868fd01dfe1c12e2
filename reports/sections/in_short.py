"""What a reader in a hurry must know: what was learned, in sentences that hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from reports.best_model import best_trial
from reports.commands import study_command
from reports.evidence import Board, Evidence, Standing
from reports.ledger import Record
from reports.markdown import bullets, code, count, fence, number, text
from reports.results import Results
from reports.sections.pareto import pareto_in_short
from reports.sections.words import best_rows, interval, order, order_sentence
from reports.verdicts import Verdict, judged, settled_by_seeds
from search_spaces.goals import selection

_VERDICTS = {
    "agrees": "agree with our figures",
    "agrees in part": "agree in part",
    "disagrees": "disagree",
    "undecided: one seed": "undecided (one seed)",
    "no verdict": "without a verdict (a flag forbids it)",
}
MOST = 5
"""So many rows of a best set are listed, more are counted."""


def write(results: Results, pictures: Path) -> str:
    """Three sentences, the rows that may be the best, what would settle the rest, how far the study is."""
    boards = Evidence.of(results).boards
    learned = [*conclusions(boards), *orders(boards)]
    learned += [_claims(results)] if results.space.claims else []
    parts = ["\n".join(f"{place}. {said}" for place, said in enumerate(learned, 1))]
    parts += [said for board in boards if (said := best_set(board))]
    parts += [said for said in [more_seeds(results, boards)] if said]
    parts.append(bullets(_facts(results)))
    return "\n\n".join(parts)


def conclusions(boards: Sequence[Board]) -> list[str]:
    """What the boards prove, in one paragraph. Boards of which the same can be said share a sentence.

    A row is called the best only where it is alone in the best set and proven to be above the baseline.
    """
    said: dict[str, list[tuple[Board, str]]] = {}
    for board in boards:
        statement, detail = conclusion(board)
        said.setdefault(statement, []).append((board, detail))
    sentences = []
    for statement, those in said.items():
        names = " and ".join(f"**{text(board.quantity.name)}**" for board, _ in those)
        details = [f"{text(board.quantity.name)}: {detail}" for board, detail in those if detail]
        if len(those) == 1:
            details = [detail[0].upper() + detail[1:] for _, detail in those if detail]
        sentences.append(" ".join([f"On {names} {statement}.", *(f"{detail}." for detail in details)]))
    return [" ".join(sentences) or "No row has a figure that sums the study up yet."]


def conclusion(board: Board) -> tuple[str, str]:
    """What can be said of the board, and the figure behind it; neither begins with a capital or ends with a stop."""
    rows = [item for item in board.standings if item.gain is not None]
    alone = best_rows(board)
    if board.baseline is None or not rows:
        there = [item for item in board.standings if item.sample]
        if len(alone) == 1:
            return f"{code(alone[0].name)} is the best {_of_judged(board)}", f"its mean is {_mean(alone[0])}"
        top = f"the highest mean measured is {code(there[0].name)}'s, {_mean(there[0])}" if there else ""
        return "no best row can be told", top
    base = code(board.baseline)
    top_row = max(rows, key=lambda item: item.gain.gain if item.gain else 0.0)
    largest = f"the largest gain measured is {code(top_row.name)}'s, {_gain(top_row)}"
    verdicts: Counter[str] = Counter(item.verdict for item in rows)
    if verdicts["above"] + verdicts["below"] == 0:
        return f"no row is shown to be better or worse than {base}: {_why(rows)}", largest
    counted = [("below", "below it"), ("undecided", "undecided"), ("undecided: one seed", "with one seed")]
    others = [f"{verdicts[verdict]} {words}" for verdict, words in counted if verdicts[verdict]]
    others += [f"{verdicts['no verdict']} without a verdict for the {_guards(rows)}"] if verdicts["no verdict"] else []
    rest = f" ({', '.join(others)})" if others else ""
    are = "are" if verdicts["above"] > 1 else "is"
    statement = f"{verdicts['above'] or 'none'} of {count(len(rows), 'row')} {are} shown to be above {base}{rest}"
    if len(alone) == 1 and alone[0].verdict == "above":
        return statement, f"{code(alone[0].name)} is the best {_of_judged(board)}, {_gain(alone[0])} above {base}"
    if len(alone) > 1:
        return statement, f"{largest}, but {len(alone)} rows may be the best"
    return statement, largest


def _of_judged(board: Board) -> str:
    """`row`, where every row could be judged; else of how many rows a best one is the best."""
    measured = sum(item.sample is not None for item in board.standings)
    judged = sum(item.in_best_set is not None for item in board.standings)
    return "row" if judged == measured else f"of the {judged} rows that can be judged"


def _gain(item: Standing) -> str:
    """A gain with its interval and what limits that."""
    basis = item.gain.basis if item.gain and item.gain.low is not None else ""
    limit = {"items only": " (over test items only)", "seeds only": " (over seeds only)"}.get(basis, "")
    return f"{interval(item.gain)} points{limit}"


def _mean(item: Standing) -> str:
    return number(item.sample.mean if item.sample else None)


def _why(rows: Sequence[Standing]) -> str:
    """Why a board has no verdict at all."""
    verdicts = {item.verdict for item in rows}
    if verdicts == {"undecided: one seed"}:
        return "each recipe has one seed, and how far another would move it is unknown"
    said = []
    if "undecided" in verdicts:
        said.append("the differences are no larger than chance makes them")
    if "undecided: one seed" in verdicts:
        said.append("some recipes have one seed")
    if "no verdict" in verdicts:
        said.append(f"a verdict is forbidden by the {_guards(rows)}")
    return " and ".join(said)


def _guards(rows: Sequence[Standing]) -> str:
    names = dict.fromkeys(flag.guard for item in rows for flag in item.blocked_by)
    return f"flag{'s' * (len(names) > 1)} {', '.join(map(code, names))}"


def orders(boards: Sequence[Board]) -> list[str]:
    """How our order of the rows compares with the paper's, in one paragraph; empty where the paper prints too few."""
    said = [(text(board.quantity.name), found) for board in boards if (found := order(board)) is not None]
    sentences = [f"On **{name}** {order_sentence(found)}." for name, found in said]
    return [" ".join(sentences)] if sentences else []


def best_set(board: Board) -> str:
    """Which rows may be the best, each with its gain; empty where that cannot be said."""
    inside = best_rows(board)
    if not inside:
        return ""
    judged = sum(item.in_best_set is not None for item in board.standings)
    which = f"the {judged} rows that can be judged" if _of_judged(board) != "row" else f"{judged} rows"
    if len(inside) == judged:
        return f"Best set on **{text(board.quantity.name)}**: any of {which} may be the best."
    lines = [f"{code(item.name)}: {_standing(board, item)}" for item in inside[:MOST]]
    lines += [f"{count(len(inside) - MOST, 'more row')}, see Rows"] if len(inside) > MOST else []
    gains = f", with gains over {code(board.baseline)}" if board.baseline else ""
    may = f"{len(inside)} of {which} may be the best, at 95 %"
    return f"Best set on **{text(board.quantity.name)}** ({may}{gains}):\n\n{bullets(lines)}"


def _standing(board: Board, item: Standing) -> str:
    if item.name == board.baseline:
        return "the baseline itself"
    return interval(item.gain) if item.gain else _mean(item)


def more_seeds(results: Results, boards: Sequence[Board]) -> str:
    """How many more seeds of which rows would settle what is open, with the command; why none would."""
    found = judged(results)
    seeds, words, texts = settled_by_seeds(found)
    said = {words: ["The paper's claims"]} if words else {}
    wanted = [seeds or 0]
    rows = {label for item in found if item.claim.text in texts for label in item.claim.labels}
    for board in boards:
        if board.settles:
            said.setdefault(board.settles, []).append(text(board.quantity.name))
            wanted.append(board.seeds_needed or 0)
            rows |= {*board.settled, *([board.baseline] if board.settled and board.baseline else [])}
    lines = [f"{' and '.join(names)}: {what[0].lower()}{what[1:]}" for what, names in reversed(said.items())]
    if not max(wanted):
        return " ".join(lines)
    movable = [label for label in results.asked_rows if results.info.row_hashes[label] not in {None, *results.fixed}]
    rows &= {*movable}
    whole = len(rows) in (0, len(movable)) and not results.explored
    chosen = () if whole else [label for label in movable if label in rows or not rows]
    command = study_command(results.info, chosen, len(results.info.seeds) + max(wanted))
    return f"{' '.join(lines)} To add {count(max(wanted), 'seed')}:\n\n{fence(command)}"


def _claims(results: Results) -> str:
    found = judged(results)
    counts = Counter(item.verdict for item in found)
    own = sum(bool(item.claim.contradicted) for item in found)
    doubt = f" (the paper's own figures contradict {own} of them)" if own else ""
    verdicts = ", ".join(f"{counts[name]} {_VERDICTS.get(name, name)}" for name in get_args(Verdict) if counts[name])
    setting = (
        "" if results.comparable else " These verdicts are about this study's models: the setting is not the paper's."
    )
    return f"Of the paper's {count(len(found), 'claim')}{doubt}: {verdicts}.{setting}"


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
