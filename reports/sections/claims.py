"""The paper's claims, and whether this study's numbers show them: a line for each claim that is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from reports.document import Block, Bullets, DataTable
from reports.facts.claim_comparisons import ClaimComparison
from reports.facts.claim_verdicts import JudgedClaim, Verdict
from reports.facts.findings import Findings
from reports.facts.results import Results
from reports.words.comparisons import interval, not_varied, one_recipe, probability
from reports.words.guards import listed
from reports.words.markdown import DASH, count, signed, text
from search_spaces.paper import Claim

MAX_NAMED_ROWS = 3
"""Largest number of rows left out of a verdict that are named; more are only counted."""

DECIDED: dict[Verdict, str] = {
    "agrees": "agree with",
    "agrees in part": "agree in part with",
    "disagrees": "disagree with",
}
"""Verdicts by which a claim is decided, with the words for them: our figures "agree with" the claim."""
OPEN: dict[Verdict, str] = {"undecided": "undecided", "undecided: one seed": "undecided (one seed)"}
MAX_QUOTED_CLAIMS = 2
"""Largest number of decided claims that are quoted; more are only counted."""

VERDICTS: dict[Verdict, str] = {
    "agrees": "our figures show what the sentence says, more surely than chance allows",
    "agrees in part": "the direction holds, but the size is another one, or some of the comparisons were kept out",
    "disagrees": "our figures show the opposite, or exclude the size that the paper names",
    "undecided": "our figures allow both; more seeds or more test items would be needed",
    "undecided: one seed": "a trained row has one seed, so that nothing can be said about its recipe; the interval is "
    "over test items only",
    "no verdict": "a flag, which is named, forbids to compare the rows: see Warnings",
    "not tested here": "the compared rows are one recipe in effect",
    "not finished": "comparisons that the sentence needs have not run, and those that have do not refute it surely "
    "enough for all claims together; what is decided so far is said of each comparison by itself at 95 %",
}
"""The explanation of each verdict, for the text on how to read the table."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Write how many claims have each verdict, and the table of the decided claims; empty without claims."""
    judged = Findings.of(results).claims
    if not judged:
        return []
    decided = [item for item in judged if item.verdict in DECIDED]
    rest = "" if len(decided) == len(judged) else 'The others stand under "Claims that are open".'
    tables = [claims_table(decided)] if decided else []
    return [in_short(judged, results.comparable), *tables, rest]


def how_to_read(judged: Sequence[JudgedClaim], comparable: bool) -> list[Block]:
    """Explain the columns and verdicts of the table of claims; empty if no claim was run."""
    run = tuple(item for item in judged if item.verdict != "not run")
    if not run:
        return []
    how = [
        "Figures are differences in points between the rows that a claim compares, judged by seeds and test items. "
        "**Direction**: whether the difference is what the sentence says; of several comparisons, in how many it "
        "holds, and the range. **Size**: whether the number that the paper names lies in our interval. **Interval**: "
        "what our figures allow at 95 %; of several comparisons, that of the one against the sentence where that is "
        "sure, else that of the least sure one."
    ]
    if any(item.direction for item in run):
        how.append(
            "The chance that any direction in this table is wrongly decided is at most 5 % (`p`, Holm over all claims "
            "and stated sizes here). So one may be undecided although its interval leaves out 0, and although the same "
            "difference is shown among the rows, where the correction is over another table. Of a "
            'claim on several comparisons all must hold, and one that is surely against it refutes it; with "tends '
            'to", "majority" and the like, more than half.'
        )
    if any(item.claim.relation != "above" for item in run):
        how.append(
            'Where the paper says that something is no better, the same, or "slightly" better, the difference must '
            "surely lie within a margin, which is ours and stands in the column of directions."
        )
    if not comparable:
        how.append("The setting is not the paper's: a verdict is about this study's models, not about the paper's.")
    verdicts = {item.verdict for item in run}
    meanings = [f"**{name}**: {meaning}." for name, meaning in VERDICTS.items() if name in verdicts]
    return [" ".join(how), Bullets(meanings)]


def in_short(judged: Sequence[JudgedClaim], comparable: bool) -> str:
    """Return how many of the paper's claims were tested, and with which verdicts. If few are decided, quote them."""
    counts = Counter(item.verdict for item in judged)
    tested = sum(counts[verdict] for verdict in (*DECIDED, *OPEN))
    if not tested:
        if len(judged) == 1:
            return "The paper's one claim could not be tested."
        return f"Of the paper's {count(len(judged), 'claim')} not one could be tested."
    decided = [item for item in judged if item.verdict in DECIDED]
    ours = []
    for verdict, words in DECIDED.items():
        texts = [f"“{text(item.claim.text.rstrip('.'))}”" for item in decided if item.verdict == verdict]
        if texts:
            ours.append(f"{words} {' and '.join(texts) if len(decided) <= MAX_QUOTED_CLAIMS else len(texts)}")
    outcomes = [f"our figures {listed(ours)}"] if ours else []
    outcomes += [
        f"{n} {'is' if n == 1 else 'are'} {words}" for verdict, words in OPEN.items() if (n := counts[verdict])
    ]
    setting = "" if comparable else " This is about this study's models: the setting is not the paper's."
    was = "was" if tested == 1 else "were"
    every = f"{tested} of the paper's {len(judged)} claims {was}" if len(judged) > 1 else "The paper's one claim was"
    return f"{every} tested: {'; '.join(outcomes)}.{setting}"


def claims_table(judged: Sequence[JudgedClaim]) -> DataTable:
    lines = [
        [
            text(item.claim.text) + _contradicted(item.claim),
            where(item.claim),
            _figures(item.claim, item.published) + _elsewhere(item, published=True),
            direction_in_words(item),
            size_in_words(item),
            interval_in_words(item),
            probability(item.p if item.verdict != "not finished" else None),
            verdict_in_words(item),
        ]
        for item in judged
    ]
    head = ["The paper says", "Where", "Published", "Direction", "Size", "Interval", "p (Holm)", "Verdict"]
    return DataTable(head, lines, left=len(head))


def where(claim: Claim) -> str:
    """Return the table and column of the paper that a claim is about: `Table 2, Avg.`"""
    return f"Table {text(claim.table)}, {text(claim.column)}"


def direction_in_words(item: JudgedClaim) -> str:
    """Return the claimed difference as measured: `+2.75, as claimed`. If the claim has a margin, add the margin; if
    comparisons are missing, leave out whether it is as claimed."""
    taking_part = [pair for pair in item.compared if not pair.excluded] or item.compared
    gains = tuple(None if pair.comparison is None else pair.comparison.gain for pair in taking_part if not pair.of_gaps)
    figures = _figures(item.claim, gains)
    if figures == DASH:
        return DASH
    relation = relation_in_words(item.claim)
    way = f", {item.direction}" if item.direction and item.verdict != "not finished" else ""
    return figures + _elsewhere(item, published=False) + way + (f" (asked: {relation})" if relation else "")


def relation_in_words(claim: Claim) -> str:
    """Return the range in which the claim puts the difference: `at least 2`; empty if anything above 0 will do."""
    points = f"{claim.points:g}"
    if claim.relation == "above":
        return f"at least {points}" if claim.points else ""
    return {
        "slightly above": f"above 0, below {points}",
        "not below": f"above -{points}",
        "equal": f"between -{points} and {points}",
    }[claim.relation]


def size_in_words(item: JudgedClaim) -> str:
    """Return the size of the difference that the claim states, and how the measured difference compares with it."""
    if item.claim.stated is None:
        return DASH
    stated = f"the text says {signed(item.claim.stated)}"
    ours = {"": "", "as stated": ": within our interval", "smaller": ": ours is smaller", "larger": ": ours is larger"}
    return stated + ours.get(item.size, ": outside our interval, but not surely")


def interval_in_words(item: JudgedClaim) -> str:
    """Return `+5.65 to +6.76`, the interval of the comparison that decides the verdict, and what it is over."""
    comparison = None if item.deciding is None else item.deciding.comparison
    if comparison is None or comparison.low is None:
        return DASH
    ends = f"{signed(comparison.low)} to {signed(comparison.high)}"
    return ends if comparison.basis == "seeds and items" else f"{ends} ({comparison.basis})"


def verdict_in_words(item: JudgedClaim) -> str:
    """Return the verdict on a claim, such as `agrees`, with its restrictions in words."""
    limits = _refuted(item)
    missing = sum(pair.status == "missing" for pair in item.compared)
    if missing:
        limits.append(f"{missing} of {count(len(item.compared), 'comparison')} missing")
    if item.verdict == "not finished":
        limits += _so_far(item)
    alone = sum(pair.status == "one seed" for pair in item.compared)
    if alone and item.verdict != "undecided: one seed":
        limits.append(f"{alone} of {count(len(item.compared), 'comparison')} with one seed")
    if item.left_out:
        few = len(item.left_out) <= MAX_NAMED_ROWS
        limits.append(
            "without " + (", ".join(map(text, item.left_out)) if few else f"{len(item.left_out)} of its rows")
        )
    limits += _kept_out([pair for pair in item.compared if pair.status == "one recipe"], item)
    flagged = [pair for pair in item.compared if pair.status == "flagged"]
    if flagged:
        names = ", ".join(f"⚠ `{name}`" for name in dict.fromkeys(flag.guard for flag in item.flags))
        limits.append(f"{_of(flagged, item, 'flagged') or 'flagged: '}{names}")
    for pair in item.compared:
        if pair.of_gaps and pair.comparison is not None:
            limits.append(f"the two improvements differ by {interval(pair.comparison)}")
    limits += [not_varied(item.not_varied)] if item.not_varied else []
    return f"**{item.verdict}**" + (f" ({'; '.join(limits)})" if limits else "")


def _refuted(item: JudgedClaim) -> list[str]:
    """Name the comparison that contradicts the claim most surely, if all of the claim's comparisons must hold."""
    if item.direction != "against" or len(item.compared) == 1 or item.claim.quantifier != "all" or not item.deciding:
        return []
    against = [pair for pair in item.compared if pair.decided(item.claim) == "against"]
    if any(pair.of_gaps for pair in against):
        return []
    pair = item.deciding
    return [f"surest against it: {text(pair.better)} minus {text(pair.worse)}"]


def _so_far(item: JudgedClaim) -> list[str]:
    """Return how many comparisons of an unfinished claim are decided, each judged by itself."""
    once = [pair for pair in item.compared if not pair.repeated]
    ways = Counter(pair.decided(item.claim) for pair in once)
    total = len(once)
    decided = [f"{ways[way]} of {total} decided {way}" for way in ("as claimed", "against") if ways[way]]
    return [f"so far {' and '.join(decided) or 'none decided'}"]


def _kept_out(pairs: list[ClaimComparison], item: JudgedClaim) -> list[str]:
    reasons = dict.fromkeys(pair.why for pair in pairs if pair.why)
    return [
        f"{_of([pair for pair in pairs if pair.why == reason], item, 'not tested')}{one_recipe(reason)}"
        for reason in reasons
    ]


def _of(pairs: list[ClaimComparison], item: JudgedClaim, what: str) -> str:
    """Return `1 of 2 comparisons not tested: ` for these `pairs`; empty if they are all comparisons of the claim."""
    if len(pairs) == len(item.compared):
        return ""
    return f"{len(pairs)} of {count(len(item.compared), 'comparison')} {what}: "


def _contradicted(claim: Claim) -> str:
    return f" *(The paper's own figures say otherwise: {text(claim.contradicted)}.)*" if claim.contradicted else ""


def _figures(claim: Claim, gaps: tuple[float | None, ...]) -> str:
    """Return the difference; of several, in how many comparisons the claim holds and the range of the differences."""
    measured = [gap for gap in gaps if gap is not None]
    if not measured:
        return DASH
    if len(measured) == 1:
        return signed(measured[0])
    holding = f"holds in {sum(map(claim.holds, measured))} of {len(measured)}"
    return f"{holding}, {signed(min(measured))} to {signed(max(measured))}"


def _elsewhere(item: JudgedClaim, published: bool) -> str:
    """Return ` here, +0.60 in Table 3, Avg.`: the same rows' difference where, by the claim, it is smaller."""
    both = item.published if published else item.gaps
    gaps = [pair for pair in item.compared if pair.of_gaps]
    if item.claim.smaller_in is None or not gaps or both[0] is None:
        return ""
    comparison = gaps[0].comparison
    smaller_by = gaps[0].published if published else None if comparison is None else comparison.gain
    if smaller_by is None:
        return ""
    number, column = item.claim.smaller_in
    return f" here, {signed(both[0] - smaller_by)} in Table {text(number)}, {text(column)}"
