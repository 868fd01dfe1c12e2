"""What the paper says that this study did not look at, with the rows that were missing."""

from __future__ import annotations

from pathlib import Path

from reports.claim_verdicts import Judged
from reports.findings import Findings
from reports.markdown import bullets, code, text
from reports.results import Results
from reports.sections.claims import FEW, LACKS, where


def write(results: Results, pictures: Path) -> str:
    """A line a claim; empty where all have run."""
    return bullets(_line(item) for item in Findings.of(results).claims if item.verdict == "not run")


def _line(item: Judged) -> str:
    """The sentence, its column, and the rows without figures."""
    rows = item.without
    named = ", ".join(map(code, rows[:FEW])) + (f" and {len(rows) - FEW} more" if len(rows) > FEW else "")
    missing = f"without {named}" if rows else LACKS["scores"]
    return f"{text(item.claim.text)} ({where(item.claim)}; {missing})"
