"""Claims of the paper that this study does not decide: without a verdict, not finished, or not run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from reports.document import Block, Bullets
from reports.facts.claim_verdicts import JudgedClaim, Lack
from reports.facts.findings import Findings
from reports.facts.results import Results
from reports.sections.claims import DECIDED, MAX_NAMED_ROWS, claims_table, where
from reports.words.markdown import code, count, text

LACKS: dict[Lack, str] = {
    "every row": "none of its rows was asked for in this study",
    "a row": "some of its rows were not asked for in this study",
    "an input": "a row lacks an input",
    "trials": "a row is not finished",
    "scores": "its rows were not scored on its tasks",
}
"""Reasons why a claim was not run."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Write a table of undecided claims with results, then how many claims were not run and why, and each of these."""
    judged = Findings.of(results).claims
    begun = [item for item in judged if item.verdict not in (*DECIDED, "not run")]
    unrun = [item for item in judged if item.verdict == "not run"]
    tables = [claims_table(begun)] if begun else []
    return [*tables, *_reasons(unrun, len(judged)), Bullets([*map(_line, unrun)])]


def _reasons(unrun: Sequence[JudgedClaim], every: int) -> list[Block]:
    """Write how many of `every` claims were not run, and how many of these for each reason."""
    if not unrun:
        return []
    reasons = Counter(LACKS[item.lacks] for item in unrun if item.lacks)
    verb = "was" if len(unrun) == 1 else "were"
    return [
        f"{len(unrun)} of the paper's {count(every, 'claim')} {verb} not run.",
        Bullets([f"{count(many, 'claim')}: {reason}." for reason, many in reasons.most_common()]),
    ]


def _line(item: JudgedClaim) -> str:
    """Return a line on a claim that was not run: its text, its column in the paper, and the rows without results."""
    rows = item.missing_rows
    named = ", ".join(map(code, rows[:MAX_NAMED_ROWS])) + (
        f" and {len(rows) - MAX_NAMED_ROWS} more" if len(rows) > MAX_NAMED_ROWS else ""
    )
    missing = f"without {named}" if rows else LACKS["scores"]
    return f"{text(item.claim.text)} ({where(item.claim)}; {missing})"
