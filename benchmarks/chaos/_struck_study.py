"""The study that chaos tests strike: its command and its results."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from reports.ledger import LEDGER, Ledger

SPACE = "scl_npos_nneg"
ROWS = ("SBERT baseline", "3p3n-Augment", "allpalln-Augment", "3p3n-lambda0.5-SCL")
"""Rows of the study, one trial each."""


class StruckStudy:
    """A run of `study/run.py` that a fault may strike."""

    def __init__(self, workers: int = 1) -> None:
        """`workers`: workers per trial. One: a trial is one process; several: a trainable and one process per
        worker."""
        self.workers = workers
        self.name = "study" if workers == 1 else f"study-{workers}"
        self.worker = "ray::ResourceTrainable" if workers == 1 else "ray::RayTrainWorker"
        """Beginning of the title of processes that run a trial."""

    def command(self, results: Path) -> list[str]:
        """Return the command line of the study, both for its first run and to continue it."""
        rows = ROWS if self.workers == 1 else ROWS[:2]
        options = ["--space", SPACE, "--scale", "laptop", "--workers", str(self.workers), "--results", str(results)]
        only = [part for row in rows for part in ("--only", row)]
        return [sys.executable, "-m", "benchmarks.chaos._work", *options, *only]

    def checkpoints(self, results: Path) -> list[Path]:
        """Return the folders of checkpoints, the newest last."""

        def age(path: Path) -> float:
            try:
                return path.stat().st_mtime
            except FileNotFoundError:  # it is being replaced
                return 0.0

        return [path.parent for path in sorted((results / "train").glob("*/state.json"), key=age)]

    def records(self, results: Path) -> list[Path]:
        """Return the files of records."""
        return sorted((results / LEDGER).glob("*.json"))

    def answer(self, results: Path) -> str:
        """Return the report without times; empty if there is none."""
        report = results / "report.md"
        return timeless(report.read_text()) if report.is_file() else ""

    def problems(self, results: Path, keys: Sequence[str], before: Mapping[Path, bytes]) -> list[str]:
        """Return what is wrong with the records. `keys`: expected trials. `before`: the records before the fault."""
        problems = [f"{path.name} is half a file" for path in (results / LEDGER).glob("*.tmp")]
        recorded = [record.key for record in Ledger(results / LEDGER).read()]
        if sorted(recorded) != sorted(keys):
            problems.append(f"records of {len(recorded)} trials, not of {len(keys)}")
        changed = [path for path, content in before.items() if path.read_bytes() != content]
        return [*problems, *(f"{path.name} was written again" for path in changed)]


def trained(log: Path) -> dict[str, list[tuple[int, float]]]:
    """Return the steps that a log has, by trial, each with the time it was done."""
    steps: dict[str, list[tuple[int, float]]] = {}
    for line in log.read_text().splitlines() if log.is_file() else ():
        step = json.loads(line)
        steps.setdefault(step["key"], []).append((step["step"], step["at"]))
    return steps


def timeless(report: str) -> str:
    """Return a report without times: the study's start, and how worker groups spent their time."""
    report = re.sub(r"\d{4}\\?-\d\d\\?-\d\d[T ]\d\d:\d\d:\d\d\+00:00", "TIME", report)
    return re.sub(r"(?m)^- Time of the workers.*$", "- TIMES", report)
