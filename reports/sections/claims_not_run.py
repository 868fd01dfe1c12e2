"""What the paper says that this study did not look at, with the rows that were missing."""

from __future__ import annotations

from pathlib import Path

from reports.claim_verdicts import Judged, judged
from reports.markdown import bullets, code, text
from reports.results import Results
from reports.sections.claims import FEW, where


def write(results: Results, pictures: Path) -> str:
    """A line a claim; empty where all have run."""
    return bullets(_line(results, item) for item in judged(results) if item.verdict == "not run")


def _line(results: Results, item: Judged) -> str:
    """The sentence, its column, and the rows without figures."""
    rows = [label for label in sorted(item.claim.labels) if not results.of_row(label)]
    named = ", ".join(map(code, rows[:FEW])) + (f" and {len(rows) - FEW} more" if len(rows) > FEW else "")
    missing = f"without {named}" if rows else "its rows were not scored on its tasks"
    return f"{text(item.claim.text)} ({where(item.claim)}; {missing})"
