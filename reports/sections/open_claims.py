"""What the paper says that this study looked at in part, or not at all, with the rows that were missing."""

from __future__ import annotations

from pathlib import Path

from reports.claim_verdicts import Judged
from reports.findings import Findings
from reports.markdown import bullets, code, text
from reports.results import Results
from reports.sections.claims import FEW, LACKS, claims_table, where


def write(results: Results, pictures: Path) -> str:
    """A table of those that were begun, a line for each other; empty where all have run."""
    found = Findings.of(results).claims
    begun = [item for item in found if item.verdict == "not finished"]
    rest = bullets(_line(item) for item in found if item.verdict == "not run")
    return "\n\n".join(filter(None, [claims_table(begun) if begun else "", rest]))


def _line(item: Judged) -> str:
    """The sentence, its column, and the rows without figures."""
    rows = item.without
    named = ", ".join(map(code, rows[:FEW])) + (f" and {len(rows) - FEW} more" if len(rows) > FEW else "")
    missing = f"without {named}" if rows else LACKS["scores"]
    return f"{text(item.claim.text)} ({where(item.claim)}; {missing})"
