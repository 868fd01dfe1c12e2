"""`trials.csv`: one line for each finished trial, for spreadsheets. Trials that were stopped early are left out.

Its columns; each trial fills those that it has:

    name                                             the recipe's name: `#17 tau 0.05, batch 128, cls`
    recipe_hash, row, seed, finished_at, protocol    the trial; `row` is empty for an explored recipe; seeds from
                                                     500,000 on are of parts of the data, from 1,000,000 on of finals
    selection                                        the score that a search without own goals maximises
    average.NAME                                     each average of `search_spaces.averages`
    average.development_GOAL                         each goal of `search_spaces.goals`, and of the study
    TASK.NUMBER                                      each number of a SentEval task, with `examples` and `seconds`
    training.*, cost.*, machine.*                    as in the record (`reports.ledger.Record`)
    data.KIND.*                                      the data that was read: `corpus`, `senteval`
    SECTION.KEY                                      the recipe
    hardware, checkpoint, predictions                where the study ran, and the trial's files within its folder
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from reports.ledger import Record
from search_spaces.averages import averages
from search_spaces.goals import SELECTION, Goal, every_score
from trainables.files import write_whole

_FORMULA = re.compile(r" *[=@＝＠]| *[+\-＋－](?![\d.,+\-±\[\]% ]*$)")
"""Matches starts of cells that a spreadsheet would run, but not signed numbers and their intervals."""


def escape_formula(cell: str) -> str:
    """Return a cell's text on one line, with an apostrophe before text that a spreadsheet would run as a formula."""
    line = "".join(sign if sign.isprintable() else " " for sign in cell)
    return f"'{line}" if _FORMULA.match(line) else line


def write_trials_csv(
    path: Path,
    records: Iterable[Record],
    labels: Mapping[str, str],
    names: Mapping[str, str],
    goals: Sequence[Goal] = (),
) -> None:
    """Write a line for each trial. The columns are those of all lines, in the order of their first appearance.

    `labels` maps recipe hashes to labels of rows, `names` to names of all recipes (`reports.facts.recipe_names`).
    `goals`: the study's goals.
    """
    lines = [_line(record, labels, names, goals) for record in records if record.status == "finished"]
    columns = list(dict.fromkeys(column for line in lines for column in line))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(escape_formula, columns))
    for line in lines:
        cells = (line.get(column, "") for column in columns)
        writer.writerow([escape_formula(cell) if isinstance(cell, str) else cell for cell in cells])
    write_whole(path, text.getvalue())


def _line(
    record: Record, labels: Mapping[str, str], names: Mapping[str, str], goals: Sequence[Goal]
) -> dict[str, object]:
    line: dict[str, object] = {
        "name": names.get(record.recipe_hash, ""),
        "recipe_hash": record.recipe_hash,
        "row": labels.get(record.recipe_hash, ""),
        "seed": record.seed,
        "finished_at": record.finished_at,
        "selection": SELECTION.of(record.scores, {}),
        "protocol": record.protocol,
    }
    line |= {f"average.{name}": value for name, value in averages(record.scores).items()}
    scores = every_score(goals, record.scores)
    line |= {f"average.development_{name}": scores[name] for name in scores if name != SELECTION.name}
    for task, numbers in record.scores.items():
        line |= _flat(task, numbers)
    line |= _flat("training.kept", record.training.get("kept", {}))
    line |= _flat("geometry", record.geometry) | _flat("training", record.training) | _flat("cost", record.cost)
    line |= _flat("machine", record.machine)
    for kind, description in record.data_read.items():
        if isinstance(description, dict):
            line |= _flat(f"data.{kind}", description)
    line |= {key: ",".join(value) if isinstance(value, tuple) else value for key, value in record.recipe.items()}
    return line | {
        "hardware": record.hardware,
        "checkpoint": record.checkpoint,
        "predictions": ",".join(record.predictions),
    }


def _flat(prefix: str, values: Mapping[str, object]) -> dict[str, object]:
    """Return the values with the prefix before their names, without nested values, which do not fit in a cell."""
    return {f"{prefix}.{name}": value for name, value in values.items() if not isinstance(value, dict | list)}
