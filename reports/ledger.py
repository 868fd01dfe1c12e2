"""The ledger of finished trials: one JSON file a trial, written whole and renamed into place.

It is a study's truth. Nothing in it needs Ray, torch, a lock or a server: any number of trials may write to
one folder at once, and a reader never sees half a file.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import json
import math
import os
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trainables.errors import UserError

_NAME = re.compile(r"(?P<hash>[0-9a-f]+)-(?P<seed>\d+)\.json")


@dataclass(frozen=True)
class Record:
    """What one trial left behind: a recipe, a seed, every score, what it cost and what it ran on.

    `scores` maps a SentEval task to its metrics, e.g. `scores["STS12"]["spearman_wmean"]`,
    `scores["MR"]["test_accuracy"]`; `averages` are means over groups of tasks. `selection` is the development
    score that searches look at. `training` holds `last_loss`, `steps`, `pairs` and, as measured,
    `positives_per_anchor` and `negatives_per_anchor`; `cost` seconds and `peak_memory_mb`; `finished_at` is UTC
    in ISO format. A missing number is None.
    """

    recipe: dict[str, Any]
    recipe_hash: str
    seed: int
    status: Literal["finished", "pruned"] = "finished"
    scores: dict[str, dict[str, Any]] = field(default_factory=dict)
    averages: dict[str, Any] = field(default_factory=dict)
    protocol: str = "full"
    selection: float | None = None
    training: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    hardware: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    checkpoint: str | None = None
    predictions: str | None = None
    finished_at: str = ""


class Ledger:
    """A folder of records. Reading never changes it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, recipe_hash: str, seed: int) -> Path:
        """Where that trial's record lies, or would."""
        return self.folder / f"{recipe_hash}-{seed}.json"

    def write(self, record: Record) -> Path:
        """Add or replace a record. A number that is not finite is kept as None."""
        path = self.path(record.recipe_hash, record.seed)
        write_whole(path, json.dumps(plain(dataclasses.asdict(record)), indent=1, allow_nan=False) + "\n")
        return path

    def read(self) -> list[Record]:
        """Every record, by recipe hash and seed; unfinished `.tmp` files are passed over.

        Raises `UserError` for a file that is not a record.
        """
        if not self.folder.is_dir():
            return []
        paths = [path for path in self.folder.iterdir() if _NAME.fullmatch(path.name)]
        return sorted(map(_load, paths), key=lambda record: (record.recipe_hash, record.seed))

    def has(self, recipe_hash: str, seed: int) -> bool:
        return self.path(recipe_hash, seed).is_file()

    def get(self, recipe_hash: str, seed: int) -> Record | None:
        """That record, or None."""
        return _load(self.path(recipe_hash, seed)) if self.has(recipe_hash, seed) else None

    def trials_csv(self, path: str | Path, labels: Mapping[str, str] | None = None) -> None:
        """One line a finished trial, for people: what it was, its scores, its cost.

        `labels` names recipe hashes, e.g. by the paper's rows.
        """
        names = labels or {}
        lines = [_line(record, names) for record in self.read() if record.status == "finished"]
        write_table(Path(path), lines)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file so that a reader, or a crash, sees either the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        with open(part, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # some shared file systems cannot sync a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_table(path: Path, lines: Iterable[Mapping[str, Any]]) -> None:
    """A CSV file with the union of the lines' columns in the order of their first appearance."""
    rows = list(lines)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue())


def plain(value: Any) -> Any:
    """The same value in JSON's types: numpy scalars unpacked, tuples as lists, numbers not finite as None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    raise TypeError(f"a record holds JSON values only, not {value!r}")


def read_json(path: Path, what: str) -> dict[str, Any]:
    """A JSON object from a file, or `UserError` naming the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is not {what} ({error})") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} is not {what} (it holds no JSON object)")
    return content


def known_fields(kind: type, content: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that the dataclass knows: files of newer versions may hold more."""
    names = {item.name for item in dataclasses.fields(kind)}
    return {key: value for key, value in content.items() if key in names}


def _load(path: Path) -> Record:
    what = "a record of a finished trial"
    repair = "delete it and run the study again to redo that one trial"
    try:
        content = read_json(path, what)
        record = Record(**known_fields(Record, content))
    except UserError as error:
        raise UserError(f"{error}; {repair}") from None
    except TypeError as error:
        raise UserError(f"{path} is not {what} ({error}); {repair}") from None
    problem = _problem(record, path)
    if problem:
        raise UserError(f"{path} is not {what} ({problem}); {repair}")
    recipe = {key: tuple(value) if isinstance(value, list) else value for key, value in record.recipe.items()}
    return dataclasses.replace(record, recipe=recipe)


def _problem(record: Record, path: Path) -> str:
    for name in ("recipe", "scores", "averages", "training", "cost", "versions", "data"):
        if not isinstance(getattr(record, name), dict):
            return f"its {name!r} is not an object"
    if not all(isinstance(metrics, dict) for metrics in record.scores.values()):
        return "a task of its scores is not an object"
    if record.status not in ("finished", "pruned"):
        return f"its status is {record.status!r}"
    if path.name != f"{record.recipe_hash}-{record.seed}.json":
        return f"it holds the trial {record.recipe_hash}-{record.seed}"
    return ""


def _line(record: Record, labels: Mapping[str, str]) -> dict[str, Any]:
    line: dict[str, Any] = {
        "recipe_hash": record.recipe_hash,
        "row": labels.get(record.recipe_hash, ""),
        "seed": record.seed,
        "finished_at": record.finished_at,
        "selection": record.selection,
        "protocol": record.protocol,
    }
    line |= {f"average.{name}": value for name, value in record.averages.items()}
    line |= {
        f"{task}.{name}": value
        for task, metrics in record.scores.items()
        for name, value in metrics.items()
        if not isinstance(value, dict | list)
    }
    line |= {f"training.{name}": value for name, value in record.training.items() if not isinstance(value, dict | list)}
    line |= {f"cost.{name}": value for name, value in record.cost.items() if not isinstance(value, dict | list)}
    line |= {
        f"data.{kind}.{name}": value
        for kind, description in record.data.items()
        if isinstance(description, dict)
        for name, value in description.items()
        if not isinstance(value, dict | list)
    }
    line |= {key: ",".join(value) if isinstance(value, tuple) else value for key, value in record.recipe.items()}
    return line | {"hardware": record.hardware, "checkpoint": record.checkpoint, "predictions": record.predictions}
