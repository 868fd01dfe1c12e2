"""How well filters removed false negatives, for corpora that state which negatives are truly false."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reports.document import Block, DataTable
from reports.facts.results import Results
from reports.ledger import Record
from reports.words.markdown import spread, text

FALSE, CAUGHT, WRONG = "false_negatives", "caught_false_negatives", "wrongly_masked_negatives"
MASKED = (CAUGHT, WRONG)

HOW = (
    "A candidate is truly false where the grammar of the built-in corpus says that it follows from the anchor or means "
    "the same, though it is no positive of it. Candidates are those of the batch, before any was taken out; those of a "
    "memory bank are not judged. caught: the share of the truly false that was taken out of the negatives; wrongly "
    "masked: the share of what was taken out that was not truly false. Percent of all that a training counted, means "
    "and deviations over seeds; in brackets the counts of all seeds together."
)


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the table of filtered negatives, a line for each row; empty if no trial counted false negatives."""
    lines = [
        _line(results, label, records)
        for label in results.asked_rows
        if (records := [record for record in results.of_row(label) if record.training.get("judged_anchors")])
    ]
    head = ["Row", "truly false an anchor", "masked an anchor", "caught, %", "wrongly masked, %"]
    return [HOW, DataTable(head, lines)] if lines else []


def _line(results: Results, label: str, records: Sequence[Record]) -> list[str]:
    def mean(part: Sequence[str], whole: Sequence[str], times: int, digits: int) -> str:
        def share(record: Record) -> float | None:
            return times * _sum([record], part) / _sum([record], whole) if _sum([record], whole) else None

        return spread(results.over_seeds(records, share), digits)

    def percent(part: str, whole: Sequence[str]) -> str:
        return f"{mean([part], whole, 100, 2)} ({_sum(records, [part]):,} of {_sum(records, whole):,})"

    return [
        text(label),
        mean([FALSE], ["judged_anchors"], 1, 3),
        mean(MASKED, ["judged_anchors"], 1, 3),
        percent(CAUGHT, [FALSE]),
        percent(WRONG, MASKED),
    ]


def _sum(records: Sequence[Record], names: Sequence[str]) -> int:
    values = [record.training.get(name) for record in records for name in names]
    return sum(int(value) for value in values if isinstance(value, int | float))
