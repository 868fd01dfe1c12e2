"""Words that sections, page, live page, model card and diff share. The facts are computed in `reports/facts`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from reports.facts.boards import Board
from reports.facts.evidence import SURE
from reports.facts.gain import Gain
from reports.facts.looks import level_share
from reports.facts.more_seeds import MAX_FURTHER_SEEDS, SeedsWanted
from reports.facts.recipe_names import short
from reports.facts.results import Results
from reports.facts.same_recipe import NotVaried, SameRecipe
from reports.ledger import Record
from reports.statistics import CONFIDENCE, Comparison
from reports.statistics.collapse import rate_interval
from reports.words.markdown import DASH, count, number, signed, text, verbatim
from trainables.recipe import changed

MIN_ORDERED_ROWS = 4
"""Fewest rows for which their order is compared with the paper's order."""
TOO_WIDE_POINTS = 20.0
"""An interval that reaches further than this, in points, on both sides of zero is worded as too little data."""
CLOSE_TAU = 0.5
"""From this Kendall's tau on, two orders are called close, even if the rows are too few to prove it."""
GO_ON = "Go on"
"""Head of the line with the command that continues a study."""
STAGES_IN_WORDS = {"search": "search", "finals": "finals", "further": "averages"}
"""Words for the stages of a study (`reports.ledger.STAGES`)."""
SHORT_NAMES = {"objective.positives": "N+", "objective.negatives": "N-"}
"""Short names of the limits on positives and negatives, as in a table."""

SELECTION_BIAS = (
    "the seeds that are compared here also chose the recipe, and a seed that is lucky on development data is mostly "
    "lucky on test data, too, so the figures flatter it; only seeds that it was not chosen by could judge it"
)
"""Part of a sentence: why there is no verdict on a recipe whose seeds also chose it in a search."""


# Numbers


def interval(gain: Comparison | Gain | None) -> str:
    """Return a difference with its 95 % interval; a dash for None."""
    return DASH if gain is None else difference(gain.gain, gain.low, gain.high)


def difference(gain: float | None, low: float | None, high: float | None) -> str:
    """Return `+2.83 [+1.20, +4.46]`, a difference with its 95 % interval.

    Without an interval return only the difference. If the interval is too wide or zero, words replace its ends.
    """
    if low is None or high is None:
        return signed(gain)
    if low < -TOO_WIDE_POINTS and high > TOO_WIDE_POINTS:
        return f"{signed(gain)} [far too little data to tell]"
    if gain == low == high == 0:
        return f"{signed(gain)} [no seed and no item differs]"
    return f"{signed(gain)} [{signed(low)}, {signed(high)}]"


def level(figure: Gain | None) -> str:
    """Return `74.20 [73.91, 74.49]`, a figure with its interval; a dash for None.

    Without an interval return only the figure. If the ends of the interval are equal, words replace them.
    """
    if figure is None:
        return DASH
    value, low, high = figure.gain, figure.low, figure.high
    if low is None or high is None:
        return number(value)
    if low == high:
        return f"{number(value)} [no seed and no item differs]"
    return f"{number(value)} [{number(low)}, {number(high)}]"


def probability(value: float | None) -> str:
    """Return a p value as `0.012` or `<0.001`; a dash for None."""
    if value is None:
        return DASH
    return "<0.001" if value < 0.001 else f"{value:.3f}"


# Sentences


def order_sentence(board: Board) -> str:
    """Compare the rows' order with the paper's, in words to follow "On STS Avg."; empty if there are too few rows."""
    tau_b = board.order
    if tau_b is None or tau_b.rows < MIN_ORDERED_ROWS:
        return ""
    few = f", but {tau_b.rows} rows are too few to exclude chance"
    if tau_b.p < SURE:
        meaning = "like" if tau_b.tau > 0 else "the reverse of"
        meaning, rest = f"is {meaning} the paper's, more than chance would make it", ""
    elif abs(tau_b.tau) >= CLOSE_TAU:
        meaning, rest = f"is close to {'the paper' if tau_b.tau > 0 else 'the reverse of the paper'}'s", few
    else:
        meaning, rest = "is no closer to the paper's than chance would make it", ""
    p = "below 0.001" if tau_b.p < 0.001 else f"{tau_b.p:.3f}"
    between = "" if tau_b.low is None else f" [{signed(tau_b.low)}, {signed(tau_b.high)}]"
    how = f"{tau_b.agree} of {tau_b.pairs} pairs agree, Kendall's tau {tau_b.tau:.2f}{between}, p {p}"
    return f"our order of {tau_b.rows} rows {meaning} ({how}){rest}"


def order_limits(board: Board) -> str:
    """Return a sentence on what the order of rows by their means does not show."""
    single = [item for item in board.counted if item.published is not None and item.gain and item.gain.one_seed]
    rows = f" and {count(len(single), 'row')} with one seed" if single else ""
    return f"The order is that of the means: differences below noise{rows} count in it like any other."


def collapses(seeds: int, collapsed: int) -> str:
    """Return `1 of 5 seeds collapsed (20 % [1, 72])`; empty if none collapsed."""
    if not collapsed:
        return ""
    low, high = rate_interval(collapsed, seeds + collapsed)
    share = 100 * collapsed / (seeds + collapsed)
    rate = f"{share:.0f} % [{100 * low:.0f}, {100 * high:.0f}]"
    return f"{collapsed} of {count(seeds + collapsed, 'seed')} collapsed ({rate})"


def more_seeds(needed: SeedsWanted, noun: str) -> str:
    """Return a sentence on which open gains or claims (`noun`) more seeds would decide; empty if none is open."""
    sentence = _seeds(needed, noun)
    if not needed.losses:
        return sentence
    loss = f"{count(len(needed.losses), 'row')} measured no higher than the baseline, and a loss is not worth proving."
    return f"{sentence.rstrip('.')}; {loss}" if sentence else loss


def _seeds(open_seeds: SeedsWanted, noun: str) -> str:
    every, seeds = len(open_seeds.needed), open_seeds.seeds or 0
    if not every:
        return ""
    more = f"{count(seeds, 'more seed')} of each row"
    if open_seeds.all_unknown:
        shown = f"how far scores move from seed to seed is unknown; {more} would show it"
        return f"No {noun} can be decided with one seed: {shown}."
    clauses = []
    if open_seeds.settled:
        which = _which(open_seeds.settled, every, noun)
        clauses.append(
            f"{more if seeds else 'finishing the study'} would settle {which}, if as large as measured (power 80 %)"
        )
    if open_seeds.never:
        which = _which(open_seeds.never, every, noun).replace("all ", "any of the ")
        clauses.append(
            f"no number of seeds would settle {which}, if as small as measured: the test items are too few, and only "
            "a larger test set would help"
        )
    if open_seeds.far:
        which = _which(open_seeds.far, every, noun)
        clauses.append(f"{which} would need more than {MAX_FURTHER_SEEDS} more seeds, if as small as measured")
    if open_seeds.unknown:
        clauses.append(f"what {_which(open_seeds.unknown, every, noun)} would need is unknown, since seeds are missing")
    return f"{'; '.join(clauses)}."


def _which(some: Sequence[str], every: int, noun: str) -> str:
    """Return which gains or claims (`noun`) are meant: `the open gain`, `2 of 3 open gains` or `all 3 open gains`."""
    if every == 1:
        return f"the open {noun}"
    return f"all {every} open {noun}s" if len(some) == every else f"{len(some)} of {every} open {noun}s"


def look(number: int | None) -> str:
    """Explain how much of the error level this look, a report with verdicts, uses; empty for None: no verdicts."""
    if number is None:
        return ""
    sure = 100 * CONFIDENCE
    spent = (100 - sure) * level_share(number)
    digits = max(1, -math.floor(math.log10(spent)))  # a late look uses little: never "100 %"
    return (
        f"**Look {number} at this study.** In one table of rows, or among the claims, the chance that any verdict at "
        f"any look is wrong is at most {100 - sure:.0f} %; each table has its own {100 - sure:.0f} %. This look uses "
        f"{spent:.2g} of these percent: its intervals of gains hold at {round(100 - spent, digits):g} %. "
        "Writing the report again from the same trials is no look; the live page's verdicts are not counted."
    )


def one_recipe(pair: SameRecipe) -> str:
    """Return why two rows count as one recipe, in words to follow a colon."""
    if pair.reason == "name":
        return "it is one recipe under two names"
    if pair.reason == "scores":
        return "every score is the same under every seed"
    limits = ", ".join(f"{SHORT_NAMES[key]} {first:.2f} and {other:.2f}" for key, first, other in pair.measured)
    return f"the limits on positives and negatives made no difference (measured {limits})"


def not_varied(limits: NotVaried) -> str:
    """Return which limits differ between the rows' recipes but had the same effect, in words for brackets."""
    words = ", ".join(
        f"{SHORT_NAMES[key]} was not varied in effect ({mean:.2f} in every row that has run)"
        for key, mean in limits.alike
    )
    return f"{words}; only {' and '.join(SHORT_NAMES[key] for key in limits.others)} differs"


# Words from outside, and recipes


def reason(words: str) -> str:
    """Return a reason, which may contain names from outside, as markdown. Commands between backticks become code."""
    parts = words.split("`")
    if len(parts) % 2 == 0:
        return text(words)
    return "".join(verbatim(part) if index % 2 else _text_within(part) for index, part in enumerate(parts) if part)


def _text_within(part: str) -> str:
    """Escape words from outside by `text`, but keep the spaces at both ends."""
    before, after = " " * part.startswith(" "), " " * part.endswith(" ")
    return f"{before}{text(part.strip())}{after}" if part.strip() else part


def changes(results: Results, record: Record) -> str:
    """Return the searched keys in which the record's recipe differs from the base recipe, with their values."""
    own = changed(results.base.flat(), record.recipe)
    named = [f"{_name(domain.key)}={short(own[domain.key])}" for domain in results.space.domains if domain.key in own]
    return text(", ".join(named)) or ("as the base" if record.recipe_hash in results.trained else "untrained")


def _name(key: str) -> str:
    """Return a domain's key without the section `objective` or `optimisation`."""
    return key.removeprefix("objective.").removeprefix("optimisation.")
