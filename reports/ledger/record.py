"""What one trial left behind."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from reports.ledger.folders import trial_key
from reports.ledger.json_files import as_recipe, known_fields, read_json
from trainables.errors import UserError

WHAT = "a record of a finished trial"
REPAIR = "delete it and run the study again to redo that one trial"


@dataclass(frozen=True)
class Record:
    """A recipe, a seed, every score that was measured, what it cost and what it ran on.

    `scores` maps a SentEval task to its metrics, e.g. `scores["STS12"]["spearman_wmean"]`,
    `scores["MR"]["test_accuracy"]`. Averages over tasks and what a search maximises are not stored: they are functions
    of the scores (`search_spaces.averages`, `search_spaces.goals`). `training` holds `last_loss`, `steps`, `pairs` and,
    as measured, `positives_per_anchor` and `negatives_per_anchor`; `cost` seconds and `peak_memory_mb`; `finished_at`
    is UTC in ISO format. A missing number is None.
    """

    recipe: dict[str, Any]
    recipe_hash: str
    seed: int
    status: Literal["finished", "pruned"] = "finished"
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    protocol: str = "full"
    training: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    hardware: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    checkpoint: str | None = None
    """The folder of the trained model, within the results folder."""
    predictions: str | None = None
    """The file of predictions, within the results folder."""
    finished_at: str = ""

    @property
    def key(self) -> str:
        """Names the trial's files."""
        return trial_key(self.recipe_hash, self.seed)


def read_record(path: Path) -> Record:
    """A record from its file; `UserError` that names the file where it is none.

    Fields that this version does not know are passed over: older ones, such as stored averages, and newer ones.
    """
    try:
        record = Record(**known_fields(Record, read_json(path, WHAT)))
    except UserError as error:
        raise UserError(f"{error}; {REPAIR}") from None
    except TypeError as error:
        raise UserError(f"{path} is not {WHAT} ({error}); {REPAIR}") from None
    problem = _problem(record, path)
    if problem:
        raise UserError(f"{path} is not {WHAT} ({problem}); {REPAIR}")
    return dataclasses.replace(record, recipe=as_recipe(record.recipe))


def _problem(record: Record, path: Path) -> str:
    for name in ("recipe", "scores", "training", "cost", "versions", "data"):
        if not isinstance(getattr(record, name), dict):
            return f"its {name!r} is not an object"
    if not all(isinstance(metrics, dict) for metrics in record.scores.values()):
        return "a task of its scores is not an object"
    if record.status not in ("finished", "pruned"):
        return f"its status is {record.status!r}"
    if path.stem != record.key:
        return f"it holds the trial {record.key}"
    return ""
