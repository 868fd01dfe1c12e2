"""Sentences and short names that several sections use."""

from __future__ import annotations

from statistics import fmean

from reports.evidence import SURE, Board, Standing
from reports.ledger import Record
from reports.markdown import DASH, count, signed, text, verbatim
from reports.results import Results
from reports.statistics.collapse import rate_interval
from reports.statistics.comparison import Comparison
from reports.statistics.order import Order, kendall
from trainables.recipe import Value

FEWEST = 4
"""The order of fewer rows says nothing."""
CLOSE = 0.5
"""From this tau on an order looks like another, though few rows may not prove it."""

CHOSEN = (
    "the seeds that are compared here also chose the recipe, and a seed that is lucky on development data is mostly "
    "lucky on test data, too, so the figures flatter it; only seeds that it was not chosen by could judge it"
)
"""Why there is no verdict on a recipe that a search chose, to stand within a sentence."""


def interval(gain: Comparison | None) -> str:
    """`+2.83 [+1.20, +4.46]`: a difference with its 95 % interval; only the difference where that is unknown."""
    if gain is None:
        return DASH
    if gain.low is None or gain.high is None:
        return signed(gain.gain)
    return f"{signed(gain.gain)} [{signed(gain.low)}, {signed(gain.high)}]"


def probability(value: float | None) -> str:
    """`0.012`; below a thousandth, that it is."""
    if value is None:
        return DASH
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def best_rows(board: Board) -> list[Standing]:
    """The rows that may be the best; none where fewer than two rows could be judged."""
    judged = [item for item in board.counted if item.in_best_set is not None]
    return [item for item in judged if item.in_best_set] if len(judged) > 1 else []


def order(board: Board) -> Order | None:
    """How our order of rows compares with the paper's; None where fewer than `FEWEST` rows have both figures."""
    found = order_against_paper(board)
    return found if found and found.rows >= FEWEST else None


def order_against_paper(board: Board) -> Order | None:
    """Kendall's tau of our order of the rows against the paper's; None for fewer than two rows that both have.

    Copies count once, with the mean of what the paper prints of them.
    """
    ours: dict[str, list[float]] = {}
    theirs: dict[str, list[float]] = {}
    for item in board.standings:
        if item.sample and item.published is not None:
            ours.setdefault(item.copy_of or item.name, []).append(item.sample.mean)
            theirs.setdefault(item.copy_of or item.name, []).append(item.published)
    return kendall([fmean(means) for means in ours.values()], [fmean(figures) for figures in theirs.values()])


def order_sentence(found: Order) -> str:
    """What it means, to stand after "On STS Avg."."""
    few = f", but {found.rows} rows are too few to exclude chance"
    if found.p < SURE:
        meaning = "like" if found.tau > 0 else "the reverse of"
        meaning, rest = f"is {meaning} the paper's, more than chance would make it", ""
    elif abs(found.tau) >= CLOSE:
        meaning, rest = f"is close to {'the paper' if found.tau > 0 else 'the reverse of the paper'}'s", few
    else:
        meaning, rest = "is no closer to the paper's than chance would make it", ""
    p = "below 0.001" if found.p < 0.001 else f"{found.p:.3f}"
    between = "" if found.low is None else f" [{signed(found.low)}, {signed(found.high)}]"
    how = f"{found.agree} of {found.pairs} pairs agree, Kendall's tau {found.tau:.2f}{between}, p {p}"
    return f"our order of {found.rows} rows {meaning} ({how}){rest}"


def order_limits(board: Board) -> str:
    """What an order by means does not know, as a sentence."""
    single = [item for item in board.counted if item.published is not None and item.gain and item.gain.one_seed]
    rows = f" and {count(len(single), 'row')} with one seed" if single else ""
    return f"The order is that of the means: differences below noise{rows} count in it like any other."


def collapses(seeds: int, collapsed: int) -> str:
    """`1 of 5 seeds collapsed (20 % [1, 72])`; empty where none did."""
    if not collapsed:
        return ""
    low, high = rate_interval(collapsed, seeds + collapsed)
    share = 100 * collapsed / (seeds + collapsed)
    rate = f"{share:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{collapsed} of {count(seeds + collapsed, 'seed')} collapsed ({rate})"


def reason(said: str) -> str:
    """Words from outside in which commands stand between backticks, as markdown with code spans."""
    parts = said.split("`")
    if len(parts) % 2 == 0:
        return text(said)
    return "".join(verbatim(part) if place % 2 else _text_within(part) for place, part in enumerate(parts) if part)


def _text_within(part: str) -> str:
    """`text`, with the spaces at both ends."""
    before, after = " " * part.startswith(" "), " " * part.endswith(" ")
    return f"{before}{text(part.strip())}{after}" if part.strip() else part


def changes(results: Results, record: Record) -> str:
    """What the record's recipe changes of the base recipe, among the keys that the search may change."""
    base = results.base.flat()
    changed = [
        f"{_name(domain.key)}={short(record.recipe[domain.key])}"
        for domain in results.space.domains
        if domain.key in record.recipe and record.recipe[domain.key] != base.get(domain.key, ...)
    ]
    return text(", ".join(changed)) or "as the base"


def _name(key: str) -> str:
    """A domain's key, without the section where that is `objective` or `optimisation`."""
    return key.removeprefix("objective.").removeprefix("optimisation.")


def short(value: Value) -> str:
    """A recipe's value in few letters."""
    return f"{value:.3g}" if isinstance(value, float) else "none" if value is None else str(value)
