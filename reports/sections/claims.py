"""What the paper says in words, and whether our figures show it: one line a claim."""

from __future__ import annotations

from pathlib import Path

from reports.markdown import DASH, signed, table
from reports.results import Results
from reports.verdicts import Judged, judge

FEW = 3
"""So many rows that take no part in a verdict are named, more are counted."""


def write(results: Results, pictures: Path) -> str:
    """How to read the verdicts, and the table of them."""
    judged = [judge(results, claim) for claim in results.space.claims]
    if not judged:
        return ""
    how = (
        "Figures are differences in points between the rows that a claim compares; of several comparisons, how many "
        "have the claimed sign, and the range. "
    )
    if any(item.noise_known for item in judged):
        how += (
            "A difference counts only if it is larger than the noise between seeds (two-sided t interval at 95 %, "
            "spread pooled over recipes, not corrected for the number of claims). One comparison against a claim "
            "refutes it, if it is larger than what noise makes of as many comparisons as the claim has (Bonferroni); "
            'of a claim that says "tends to" or "majority" more than half must be against it.'
        )
    else:
        how += "With one seed the noise is unknown: a verdict is by sign only and may be chance."
    if not results.comparable:
        how += " The setting is not the paper's (see the top): a verdict is about this study's models, not the paper's."
    return f"{how}\n\n{claims_table(judged)}"


def claims_table(judged: list[Judged]) -> str:
    """One line a claim."""
    lines = [
        [
            item.claim.text
            + (
                f" *(The paper's own figures say otherwise: {item.claim.contradicted}.)*"
                if item.claim.contradicted
                else ""
            ),
            f"Table {item.claim.table}, {item.claim.column}",
            _figures(item.published),
            _figures(item.gaps),
            verdict_in_words(item),
        ]
        for item in judged
    ]
    return table(["The paper says", "Where", "Published", "Ours", "Verdict"], lines, left=5)


def verdict_in_words(item: Judged) -> str:
    """`agrees`, with what limits it."""
    missing = sum(gap is None for gap in item.gaps)
    if item.verdict == "not run":
        part = "" if missing == len(item.gaps) else f": {missing} of {len(item.gaps)} comparisons are missing"
        return f"not run{part}"
    limits = [] if item.noise_known or item.verdict == "within noise" else ["by sign, noise unknown"]
    if item.claim.stated is not None:
        limits.append(f"judged by direction; the text says {signed(item.claim.stated)}")
    if item.left_out:
        few = len(item.left_out) <= FEW
        limits.append(f"without {', '.join(item.left_out) if few else f'{len(item.left_out)} of its rows'}")
    return f"**{item.verdict}**" + (f" ({'; '.join(limits)})" if limits else "")


def _figures(gaps: tuple[float | None, ...]) -> str:
    """One difference as it is; of several, how many hold and the range."""
    there = [gap for gap in gaps if gap is not None]
    if not there:
        return DASH
    if len(gaps) == 1:
        return signed(there[0])
    return f"{sum(gap > 0 for gap in there)} of {len(there)} hold, {signed(min(there))} to {signed(max(there))}"
