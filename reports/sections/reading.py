"""How the tables of rows and claims are to be read, and what was looked at without finding anything."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, Heading
from reports.findings import Findings
from reports.results import Results
from reports.sections.claims import how_to_read as of_claims
from reports.sections.rows_in_full import how_to_read as of_rows
from reports.sections.rows_in_full import independent
from reports.sections.trust import clean
from reports.wording import look


def write(results: Results, pictures: Path) -> list[Block]:
    """What the columns mean, what chance is shared by, what the guards found nothing in."""
    findings = Findings.of(results)
    boards = findings.boards
    rows = [of_rows(boards), look(findings.look), independent(results, boards)] if boards else []
    claims = of_claims(findings.claims, results.comparable)
    return [*rows, *([Heading("Claims"), *claims] if claims else []), clean(results)]
