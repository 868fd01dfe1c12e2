"""Why trials could not run: one small file each in the results folder."""

from __future__ import annotations

import json
from pathlib import Path

from reports.ledger import FAILURES
from study.spec import TrialSpec
from trainables.files import write_whole


def failure_path(results: Path, key: str) -> Path:
    """Where the reason is kept for which a trial cannot run."""
    return results / FAILURES / f"{key}.json"


def keep_failure(trial: TrialSpec, reason: str, details: str = "") -> None:
    """Write why a trial failed, unless a worker has already done so."""
    path = failure_path(Path(trial.results), trial.key)
    if not path.exists():
        content = {"trial": trial.key, "name": trial.name, "reason": reason, "details": details}
        write_whole(path, json.dumps(content, indent=1))


def why_failed(results: Path, key: str) -> str:
    """The reason that was kept for a trial without a record."""
    path = failure_path(results, key)
    return str(json.loads(path.read_text())["reason"]) if path.exists() else "it left neither a record nor a reason"
