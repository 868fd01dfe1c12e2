"""`trials.csv`: one line a finished trial, for people: what it was, its scores, its cost."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path

from reports.ledger import Record, write_whole
from search_spaces.averages import averages
from search_spaces.goals import GOALS, selection


def write_trials_csv(path: Path, records: Iterable[Record], labels: Mapping[str, str]) -> None:
    """Write the file whole. `labels` names recipe hashes by the paper's rows."""
    write_table(path, [_line(record, labels) for record in records if record.status == "finished"])


def write_table(path: Path, lines: Iterable[Mapping[str, object]]) -> None:
    """A CSV file with the union of the lines' columns in the order of their first appearance."""
    rows = list(lines)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue())


def _line(record: Record, labels: Mapping[str, str]) -> dict[str, object]:
    line: dict[str, object] = {
        "recipe_hash": record.recipe_hash,
        "row": labels.get(record.recipe_hash, ""),
        "seed": record.seed,
        "finished_at": record.finished_at,
        "selection": selection(record.scores),
        "protocol": record.protocol,
    }
    line |= {f"average.{name}": value for name, value in averages(record.scores).items()}
    line |= {f"average.development_{name}": goal.of(record.scores) for name, goal in GOALS.items()}
    for task, numbers in record.scores.items():
        line |= _flat(task, numbers)
    line |= _flat("training", record.training) | _flat("cost", record.cost)
    for kind, description in record.data.items():
        if isinstance(description, dict):
            line |= _flat(f"data.{kind}", description)
    line |= {key: ",".join(value) if isinstance(value, tuple) else value for key, value in record.recipe.items()}
    return line | {"hardware": record.hardware, "checkpoint": record.checkpoint, "predictions": record.predictions}


def _flat(prefix: str, values: Mapping[str, object]) -> dict[str, object]:
    """Numbers and words only: what is nested has no place in a cell."""
    return {f"{prefix}.{name}": value for name, value in values.items() if not isinstance(value, dict | list)}
