"""Conclusions from boards, in sentences: which rows are above the baseline, which may be the best, and their gains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from reports.facts.boards import Board, Standing
from reports.words.comparisons import collapses, interval
from reports.words.guards import listed
from reports.words.markdown import code, count, number, signed, text

MAX_BEST_ROWS = 5
"""Largest number of rows that may be the best and are named; more are only counted."""
MAX_NAMED = 3
"""Largest number of rows or tasks that are named; more are only counted."""


def conclusions(boards: Sequence[Board]) -> list[str]:
    """Return what the boards show, a paragraph for each conclusion; boards with the same conclusion share one.

    A row is called the best only if no other row may be the best and it is shown to be above the baseline.
    """
    statements: dict[str, list[tuple[Board, str]]] = {}
    for board in boards:
        statement, detail = conclusion(board)
        statements.setdefault(statement, []).append((board, detail))
    sentences = []
    for statement, group in statements.items():
        names = " and ".join(figure_name(board) for board, _ in group)
        if len(group) == 1:
            sentences.append(f"On {names} {'; '.join(filter(None, [statement, group[0][1]]))}.")
            continue
        details = [f"{text(board.quantity.name)}: {detail}." for board, detail in group if detail]
        sentences.append(" ".join([f"On {names} {statement}.", *details]))
    sentences += [*_unjudged(boards), *_collapsed(boards)]
    return sentences


def _collapsed(boards: Sequence[Board]) -> list[str]:
    """Return a sentence on the rows of which some seeds collapsed, with how many; empty if none did."""
    fallen = {
        item.name: collapses(item.sample.count if item.sample else 0, item.collapsed)
        for board in boards
        for item in board.standings
        if item.collapsed
    }
    rows = listed([f"{code(name)}, where {times}" for name, times in fallen.items()])
    return [f"All this is given no collapse: of {rows}, verdicts are about the other seeds."] if fallen else []


def conclusion(board: Board) -> tuple[str, str]:
    """Return the conclusion of a board and the number behind it, as parts of a sentence."""
    rows = [item for item in board.counted if item.gain is not None]
    alone = board.best
    if board.baseline is None or not rows:
        measured = [item for item in board.counted if item.sample]
        if len(alone) == 1:
            return f"{code(alone[0].name)} is the best {_of_judged(board)}", f"its mean is {_mean(alone[0])}"
        top = f"the highest mean measured is {code(measured[0].name)}'s, {_mean(measured[0])}" if measured else ""
        return "no best row can be told", top
    base = code(board.baseline)
    verdicts: Counter[str] = Counter(item.verdict for item in rows)
    decided = verdicts["above"] + verdicts["below"]
    can_be = [item for item in rows if item.verdict in ("above", "below", "undecided")] if decided else rows
    top_row = max(can_be, key=lambda item: item.gain.gain if item.gain else 0.0)
    among = "" if len(can_be) == len(rows) else " of a row that can be judged"
    largest = f"the largest gain{among or ' measured'} is {code(top_row.name)}'s, {_gain(top_row)}"
    if not decided:
        return f"no row is shown to be better or worse than {base}: {_why(rows)}", largest
    counted = [("below", "below it"), ("undecided", "undecided"), ("undecided: one seed", "with one seed")]
    others = [f"{verdicts[verdict]} {words}" for verdict, words in counted if verdicts[verdict]]
    others += [f"{verdicts['no verdict']} without a verdict for the {_guards(rows)}"] if verdicts["no verdict"] else []
    others += ["copies count once"] if len(board.counted) < len(board.standings) else []
    rest = f" ({', '.join(others)})" if others else ""
    are = "are" if verdicts["above"] > 1 else "is"
    statement = f"{verdicts['above'] or 'none'} of {count(len(rows), 'row')} {are} shown to be above {base}{rest}"
    if len(alone) == 1 and alone[0].verdict == "above":
        largest = (
            f"{code(alone[0].name)} is the best {_of_judged(board)}, {_gain(alone[0])} above {base}{_lost(alone[0])}"
        )
    return statement, largest


def _of_judged(board: Board) -> str:
    """Return the words after "the best": `row`, or `of the rows that can be judged` if the board does not judge all."""
    return "row" if board.judges_all else "of the rows that can be judged"


def _lost(item: Standing) -> str:
    """Return the tasks on which the row is shown to be worse than the baseline, as the end of a sentence."""
    tasks = [f"{text(task)} ({signed(change)})" for task, change in item.lost[:MAX_NAMED]]
    tasks += [f"{len(item.lost) - MAX_NAMED} more"] if len(item.lost) > MAX_NAMED else []
    return f", but it loses on {', '.join(tasks)}" if tasks else ""


def _unjudged(boards: Sequence[Board]) -> list[str]:
    """Return sentences on rows that measured higher than all judged rows, and on why they are not judged."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for board in boards:
        for item in board.higher:
            by = f"{signed(item.gain.gain) if item.gain else _mean(item)} on {text(board.quantity.name)}"
            reasons.setdefault(_why_unjudged(item), {}).setdefault(item.name, []).append(by)
    sentences = []
    for why, rows in reasons.items():
        (name, gains), more = next(iter(rows.items())), len(rows) - 1
        so = f" So {'does' if more == 1 else 'do'} {count(more, 'more row')}." if more else ""
        sentences.append(f"{code(name)} measured higher ({', '.join(gains)}) but {why}: it may be better.{so}")
    return sentences


def _why_unjudged(item: Standing) -> str:
    """Return why a measured row is not judged, in words to follow "but"."""
    if item.blocked_by:
        return f"is not judged for the {_guards([item])}"
    if item.sample and item.sample.fixed:
        return "is not judged, since no predictions tell how far chance goes"
    if item.sample and item.sample.count == 1:
        return "has one seed, so it is not judged"
    return "a flag (see below) forbids to set it against the other trained rows"


def _gain(item: Standing) -> str:
    """Return a gain with its interval, and a note if the interval is over test items or seeds alone."""
    basis = item.gain.basis if item.gain and item.gain.low is not None else ""
    limit = {"items only": " (over test items only)", "seeds only": " (over seeds only)"}.get(basis, "")
    return f"{interval(item.gain)} points{limit}"


def _mean(item: Standing) -> str:
    return number(item.sample.mean if item.sample else None)


def _why(rows: Sequence[Standing]) -> str:
    """Return why none of these rows is shown to be above or below the baseline."""
    verdicts = {item.verdict for item in rows}
    if verdicts == {"undecided: one seed"}:
        return "each recipe has one seed, and how far another would move it is unknown"
    parts = []
    if "undecided" in verdicts:
        alike = [item for item in rows if item.verdict == "undecided"]
        corrected = "corrected for how many are compared" if len(rows) > 1 else "at 95 %"
        parts.append(
            f"no difference is shown, {corrected}"
            if len(alike) == len(rows)
            else f"{_rows(alike)} {'is' if len(alike) == 1 else 'are'} not shown to differ, {corrected}"
        )
    if "undecided: one seed" in verdicts:
        parts.append("some recipes have one seed")
    if "no verdict" in verdicts:
        barred = [item for item in rows if item.verdict == "no verdict"]
        parts.append(f"{_rows(barred)} {'has' if len(barred) == 1 else 'have'} no verdict for the {_guards(rows)}")
    return " and ".join(parts)


def _rows(rows: Sequence[Standing]) -> str:
    """Return the names of the rows, `a` and `b`; of many rows only the number."""
    if len(rows) > MAX_NAMED:
        return count(len(rows), "row")
    return " and ".join(code(item.name) for item in rows)


def _guards(rows: Sequence[Standing]) -> str:
    names = dict.fromkeys(flag.guard for item in rows for flag in item.blocked_by)
    return f"flag{'s' * (len(names) > 1)} {', '.join(map(code, names))}"


def figure_name(board: Board) -> str:
    """Return the name of the board's figure, in bold."""
    return f"**{text(board.quantity.name)}**"


def best_set(board: Board) -> str:
    """Return the rows that may be the best, on one line; if there are several, with their gains. Empty if unknown."""
    inside, judged = board.best, len(board.judged)
    if not inside:
        return ""
    which = count(judged, "row") if board.judges_all else f"the {judged} rows that can be judged"
    if len(inside) == judged:
        return f"Best set on {figure_name(board)}: any of {which} may be the best."
    if len(inside) == 1:
        return f"Best set on {figure_name(board)}, at 95 %: {code(inside[0].name)} alone, of {which}."
    rows = [f"{code(item.name)} ({_standing(board, item)})" for item in inside[:MAX_BEST_ROWS]]
    rows += (
        [f"{count(len(inside) - MAX_BEST_ROWS, 'more row')} (see Rows in full)"] if len(inside) > MAX_BEST_ROWS else []
    )
    return f"Best set on {figure_name(board)}, at 95 %: {', '.join(rows)}; {len(inside)} of {which} may be the best."


def _standing(board: Board, item: Standing) -> str:
    if item.name == board.baseline:
        return "the baseline"
    return interval(item.gain) if item.gain else _mean(item)
