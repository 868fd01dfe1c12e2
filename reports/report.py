"""`report.md` from a results folder: its sections, one after the other (`reports/sections`).

It is made of `study.json` and the ledger (and, where there is a heat map, of the stored predictions). It needs neither
Ray nor torch, and the same ledger gives the same text.
"""

from __future__ import annotations

from pathlib import Path

from reports.results import Results
from reports.sections import in_order
from reports.trials_csv import write_trials_csv
from trainables.files import write_whole

NAME = "report.md"


def write_report(results: Path) -> Path:
    """Write `report.md`, its pictures and `trials.csv` into the results folder; returns the report's path.

    Works on a study that is still running: what is not there yet is a dash. Raises `UserError` for a folder that
    is no study's, or where nothing is finished.
    """
    read = Results.load(results)
    texts = [f"# {read.space.title}", *(section.text(read, results / "pictures") for section in in_order())]
    path = results / NAME
    write_whole(path, "\n\n".join(text for text in texts if text) + "\n")
    write_trials_csv(results / "trials.csv", read.records, read.labels)
    return path
