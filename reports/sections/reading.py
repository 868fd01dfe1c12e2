"""Explanations of the tables of rows and claims, and the checks that found nothing."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, Heading
from reports.facts.findings import Findings
from reports.facts.results import Results
from reports.sections.claims import how_to_read as of_claims
from reports.sections.glance import boards_to_show
from reports.sections.rows_in_full import how_to_read as of_rows
from reports.sections.rows_in_full import independent
from reports.sections.trust import clean
from reports.words.comparisons import look


def write(results: Results, pictures: Path) -> list[Block]:
    """Write what the tables' columns mean, which test items are not independent, and which guards found nothing."""
    findings = Findings.of(results)
    boards = boards_to_show(results)
    rows = [of_rows(boards)] if boards else []
    rows += [look(findings.look), independent(results, findings.boards)] if findings.boards else []
    claims = of_claims(findings.claims, results.comparable)
    return [*rows, *([Heading("Claims"), *claims] if claims else []), clean(results)]
