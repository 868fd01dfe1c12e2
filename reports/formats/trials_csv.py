"""`trials.csv`: one line for each finished trial, for a spreadsheet. Trials that were stopped early are not in it.

Its columns, of which each trial fills those that it has:

    name                                             what people call the recipe: `#17 tau 0.05, batch 128, cls`
    recipe_hash, row, seed, finished_at, protocol    the trial; `row` is empty for an explored recipe; a seed from
                                                     500,000 on is of a part of the data, from 1,000,000 on of finals
    selection                                        what a search without goals of its own maximises
    average.NAME                                     each average of `search_spaces.averages`
    average.development_GOAL                         each goal of `search_spaces.goals`, and of the study
    TASK.NUMBER                                      each number of a SentEval task, with `examples` and `seconds`
    training.*, cost.*, machine.*                    as in the record (`reports.ledger.Record`)
    data.KIND.*                                      what was read: `corpus`, `senteval`
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
"""What a spreadsheet would run: a cell that begins so; numbers with a sign, and their intervals, are none."""


def inert(cell: str) -> str:
    """A cell's text on one line, with an apostrophe before what a spreadsheet would run as a formula."""
    line = "".join(sign if sign.isprintable() else " " for sign in cell)
    return f"'{line}" if _FORMULA.match(line) else line


def write_trials_csv(
    path: Path,
    records: Iterable[Record],
    labels: Mapping[str, str],
    names: Mapping[str, str],
    goals: Sequence[Goal] = (),
) -> None:
    """Write the file whole. `labels` maps recipe hashes to the labels of the paper's rows, `names` to what people call
    every recipe (`reports.facts.recipe_names`), `goals` are the study's.

    It has the columns of all lines, in the order of their first appearance.
    """
    lines = [_line(record, labels, names, goals) for record in records if record.status == "finished"]
    columns = list(dict.fromkeys(column for line in lines for column in line))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(inert, columns))
    for line in lines:
        cells = (line.get(column, "") for column in columns)
        writer.writerow([inert(cell) if isinstance(cell, str) else cell for cell in cells])
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
    for kind, description in record.read.items():
        if isinstance(description, dict):
            line |= _flat(f"data.{kind}", description)
    line |= {key: ",".join(value) if isinstance(value, tuple) else value for key, value in record.recipe.items()}
    return line | {
        "hardware": record.hardware,
        "checkpoint": record.checkpoint,
        "predictions": ",".join(record.predictions),
    }


def _flat(prefix: str, values: Mapping[str, object]) -> dict[str, object]:
    """Numbers and words only: what is nested has no place in a cell."""
    return {f"{prefix}.{name}": value for name, value in values.items() if not isinstance(value, dict | list)}
