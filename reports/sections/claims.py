"""What the paper says in words, and whether our figures show it: one line a claim."""

from __future__ import annotations

from pathlib import Path

from reports.markdown import DASH, bullets, count, signed, table, text
from reports.results import Results
from reports.verdicts import Compared, Judged, Verdict, judged
from search_spaces.paper import Claim

FEW = 3
"""So many rows that take no part in a verdict are named, more are counted."""

VERDICTS: dict[Verdict, str] = {
    "agrees": "our figures show what the sentence says, more surely than chance allows",
    "agrees in part": "the direction holds, but the size is another one, or some of the comparisons were kept out",
    "disagrees": "our figures show the opposite, or exclude the size that the paper names",
    "undecided": "our figures allow both; more seeds or more test items would be needed",
    "undecided: one seed": "a trained row has one seed, so that nothing can be said about its recipe; the interval is "
    "over test items only",
    "no verdict": "the compared rows differ in something else, too; the flag is named",
    "not tested here": "the compared rows are one recipe in effect",
    "not run": "a row is not finished, or lacks an input",
}
"""What each verdict means."""


def write(results: Results, pictures: Path) -> str:
    """How to read the verdicts, and the table of them."""
    found = judged(results)
    if not found:
        return ""
    how = [
        "Figures are differences in points between the rows that a claim compares, judged by seeds and test items. "
        "**Direction**: whether the difference is what the sentence says; of several comparisons, how many lie that "
        "way, and the range. **Size**: whether the number that the paper names lies in our interval. **Interval**: "
        "what our figures allow at 95 %; of several comparisons, that of the weakest."
    ]
    if any(item.direction for item in found):
        how.append(
            "The chance that any direction in this table is wrongly decided is at most 5 % (Holm's correction), so one "
            "may be undecided although its interval leaves out 0. Of a "
            'claim on several comparisons all must hold, and one that is surely against it refutes it; with "tends '
            'to", "majority" and the like, more than half.'
        )
    if any(item.claim.relation != "above" for item in found):
        how.append(
            'Where the paper says that something is no better, the same, or "slightly" better, the difference must '
            "surely lie within a margin, which is ours and stands in the column of directions."
        )
    if not results.comparable:
        how.append("The setting is not the paper's: a verdict is about this study's models, not about the paper's.")
    seen = {item.verdict for item in found}
    meanings = bullets(f"**{name}**: {meaning}." for name, meaning in VERDICTS.items() if name in seen)
    return "\n\n".join([" ".join(how), claims_table(found), meanings])


def claims_table(found: tuple[Judged, ...]) -> str:
    """One line a claim."""
    lines = [
        [
            text(item.claim.text) + _contradicted(item.claim),
            f"Table {text(item.claim.table)}, {text(item.claim.column)}",
            _figures(item.claim, item.published),
            direction_in_words(item),
            size_in_words(item),
            interval_in_words(item),
            verdict_in_words(item),
        ]
        for item in found
    ]
    head = ["The paper says", "Where", "Published", "Direction", "Size", "Interval", "Verdict"]
    return table(head, lines, left=len(head))


def direction_in_words(item: Judged) -> str:
    """`+2.75, as claimed`; of a relation with a margin what it asks for, too."""
    taking_part = [one for one in item.compared if not one.out] or item.compared
    gains = tuple(None if one.comparison is None else one.comparison.gain for one in taking_part if not one.of_gaps)
    figures = _figures(item.claim, gains)
    if figures == DASH:
        return DASH
    asked = relation_in_words(item.claim)
    return figures + (f", {item.direction}" if item.direction else "") + (f" (asked: {asked})" if asked else "")


def relation_in_words(claim: Claim) -> str:
    """What the difference must be, where it is not simply above 0."""
    points = f"{claim.points:g}"
    if claim.relation == "above":
        return f"at least {points}" if claim.points else ""
    return {
        "slightly above": f"above 0, below {points}",
        "not below": f"above -{points}",
        "equal": f"between -{points} and {points}",
    }[claim.relation]


def size_in_words(item: Judged) -> str:
    """How ours lies to the stated size."""
    if item.claim.stated is None:
        return DASH
    said = f"the text says {signed(item.claim.stated)}"
    ours = {"": "", "as stated": ": within our interval", "smaller": ": ours is smaller", "larger": ": ours is larger"}
    return said + ours.get(item.size, ": outside our interval, but not surely")


def interval_in_words(item: Judged) -> str:
    """`+5.65 to +6.76`, of the weakest comparison, and what it leaves out."""
    taking_part = [one for one in item.compared if not one.out] or item.compared
    found = [one.comparison for one in taking_part if one.comparison is not None and not one.of_gaps]
    known = [comparison for comparison in found if comparison.low is not None]
    if not known:
        return DASH
    weakest = min(known, key=lambda comparison: comparison.gain)
    said = f"{signed(weakest.low)} to {signed(weakest.high)}"
    return said if weakest.basis == "seeds and items" else f"{said} ({weakest.basis})"


def verdict_in_words(item: Judged) -> str:
    """`agrees`, with what limits it."""
    limits = []
    missing = sum(one.status == "missing" for one in item.compared)
    if missing and missing < len(item.compared):
        limits.append(f"{missing} of {count(len(item.compared), 'comparison')} missing")
    alone = sum(one.status == "one seed" for one in item.compared)
    if alone and item.verdict not in ("undecided: one seed", "not run"):
        limits.append(f"{alone} of {count(len(item.compared), 'comparison')} with one seed")
    if item.left_out:
        few = len(item.left_out) <= FEW
        limits.append(
            "without " + (", ".join(map(text, item.left_out)) if few else f"{len(item.left_out)} of its rows")
        )
    limits += _kept_out([one for one in item.compared if one.status == "one recipe"], item)
    flagged = [one for one in item.compared if one.status == "flagged"]
    if flagged:
        names = ", ".join(f"⚠ `{name}`" for name in dict.fromkeys(flag.guard for flag in item.flags))
        limits.append(f"{_of(flagged, item, 'flagged') or 'flagged: '}{names}")
    for one in item.compared:
        if one.of_gaps and one.comparison is not None:
            limits.append(f"the two improvements differ by {signed(one.comparison.gain)}")
    return f"**{item.verdict}**" + (f" ({'; '.join(limits)})" if limits else "")


def _kept_out(ones: list[Compared], item: Judged) -> list[str]:
    reasons = dict.fromkeys(one.why for one in ones)
    return [f"{_of([one for one in ones if one.why == reason], item, 'not tested')}{reason}" for reason in reasons]


def _of(ones: list[Compared], item: Judged, what: str) -> str:
    """`1 of 2 comparisons not tested: `, where it is not all of them."""
    if len(ones) == len(item.compared):
        return ""
    return f"{len(ones)} of {count(len(item.compared), 'comparison')} {what}: "


def _contradicted(claim: Claim) -> str:
    return f" *(The paper's own figures say otherwise: {text(claim.contradicted)}.)*" if claim.contradicted else ""


def _figures(claim: Claim, gaps: tuple[float | None, ...]) -> str:
    """One difference as it is; of several, how many are as claimed and the range."""
    there = [gap for gap in gaps if gap is not None]
    if not there:
        return DASH
    if len(gaps) == 1:
        return signed(there[0])
    return f"{sum(map(claim.holds, there))} of {len(there)} hold, {signed(min(there))} to {signed(max(there))}"
