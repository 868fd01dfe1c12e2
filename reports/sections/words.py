"""Sentences and short names that several sections use."""

from __future__ import annotations

from collections.abc import Sequence

from reports.evidence import Board
from reports.ledger import Record
from reports.markdown import DASH, code, count, signed
from reports.results import Results
from reports.statistics import Noise
from reports.statistics.comparison import Comparison
from trainables.recipe import Value

SURE = 0.05
"""What is less probable than this is not put down to chance."""
FEWEST = 4
"""The order of fewer rows says nothing."""


def bars_in_words(results: Results) -> str:
    """What the bars of a picture are, to follow its caption."""
    return "; bars are a row's own standard deviation over seeds" if len(results.info.seeds) > 1 else ", one seed"


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


def rows_in_words(labels: Sequence[str], most: int = 4) -> str:
    """`a`, `b` and `c`; of many the first, and how many more."""
    named = [code(label) for label in labels]
    if len(named) > most:
        return f"{', '.join(named[:most])} and {len(named) - most} more"
    return " and ".join([", ".join(named[:-1]), named[-1]]) if len(named) > 1 else "".join(named)


def order_sentence(board: Board) -> str:
    """How our order of rows compares with the paper's; empty where fewer than `FEWEST` rows have both figures."""
    from scipy.stats import kendalltau

    both = [
        (item.sample.mean, item.published) for item in board.standings if item.sample and item.published is not None
    ]
    if len(both) < FEWEST or len({ours for ours, _ in both}) == 1 or len({theirs for _, theirs in both}) == 1:
        return ""
    found = kendalltau(*zip(*both, strict=True))
    p = float(found.pvalue)
    meaning = "more alike than chance makes them" if found.statistic > 0 else "more unlike than chance makes them"
    if p >= SURE:
        meaning = "no more alike than chance makes them"
    return (
        f"Our order of {len(both)} rows and the paper's are {meaning}: Kendall's tau is {found.statistic:.2f} (1 is "
        f"the same order, 0 an unrelated one; p {_equals(p)})"
    )


def _equals(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"= {p:.3f}"


def noise_sentence(noise: Noise | None, what: str, seeds: int) -> str:
    """How large a difference must be, in plain words."""
    if noise is None:
        return f"One seed only: how far {what} moves from seed to seed is unknown, so small differences mean nothing."
    return (
        f"Differences in {what} below {noise.threshold(seeds, seeds):.2f} points are within the noise between seeds "
        f"(95 %, {count(seeds, 'seed')} a row, pooled standard deviation {noise.std:.2f})."
    )


def changes(results: Results, record: Record) -> str:
    """What the record's recipe changes of the base recipe, among the keys that the search may change."""
    base = {**results.space.base.flat(), **results.info.base}
    changed = [
        f"{_name(domain.key)}={short(record.recipe[domain.key])}"
        for domain in results.space.domains
        if record.recipe[domain.key] != base[domain.key]
    ]
    return ", ".join(changed) or "as the base"


def _name(key: str) -> str:
    """A domain's key, without the section where that is `objective` or `optimisation`."""
    return key.removeprefix("objective.").removeprefix("optimisation.")


def short(value: Value) -> str:
    """A recipe's value in few letters."""
    return f"{value:.3g}" if isinstance(value, float) else "none" if value is None else str(value)
