"""For each row, the command that runs it and links to its records, predictions and models; in the appendix."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from reports.document import Block, Bullets, Heading
from reports.facts.results import Results
from reports.ledger import LEDGER, Record
from reports.words.commands import study_command
from reports.words.comparisons import reason
from reports.words.markdown import code, text, verbatim


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the command and the links of each row that was run or can be run."""
    labels = [label for label in results.asked_rows if results.info.row_hashes[label]]
    return [block for label in labels for block in (Heading(text(label)), Bullets(_facts(results, label)))]


def _facts(results: Results, label: str) -> list[str]:
    records = results.of_row(label)
    facts = [
        f"Run it: {verbatim(study_command(results.info, [label]))}",
        f"Recipe: {code(results.info.row_hashes[label])}",
    ]
    if not records:
        return [*facts, f"No figures: {reason(results.why_missing(label))}"]
    return [*facts, *(f"Seed {record.seed}: {', '.join(_links(results, record))}" for record in records)]


def _links(results: Results, record: Record) -> list[str]:
    """Return links to the trial's files, relative to the results folder. A file that is not there is marked so."""
    files = {
        "ledger": f"{LEDGER}/{record.key}.json",
        "predictions": record.predictions[-1] if record.predictions else None,
        "model": record.checkpoint,
    }
    return [
        f"[{name}]({quote(path)})" if (results.folder / path).exists() else f"{name} (not in this folder)"
        for name, path in files.items()
        if path
    ]
