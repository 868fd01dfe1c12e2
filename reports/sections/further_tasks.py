"""Results on the user's own tasks, which are neither SentEval's nor in the space's tables."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, Bullets, DataTable
from reports.facts.quantity import Quantity
from reports.facts.results import Results
from reports.sections.paper_tables import under_protocol
from reports.words.markdown import code, spread, text
from trainables.senteval.tasks import GROUPS, TASKS


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the table of own tasks' main numbers: a line for each row, a column for each task."""
    tasks = _tasks(results)
    if not tasks:
        return []
    figures = [Quantity(task, {(task, TASKS[task].metric): 1.0}) for task in tasks]
    lines = [
        [text(label), *(spread(results.of_figure(records, figure)) for figure in figures)]
        for label in results.asked_rows
        if (records := results.of_row(label))
    ]
    under = under_protocol(results, [score for figure in figures for score in figure.weights])
    how = f"Test scores x 100{under}, of tasks that no table above has:"
    numbers = Bullets([f"{text(task)}: {code(TASKS[task].metric)}" for task in tasks])
    return [how, DataTable(["Row", *map(text, tasks)], lines), numbers]


def _tasks(results: Results) -> list[str]:
    """Return the scored tasks that are neither SentEval's nor in a table of the paper."""
    measured = dict.fromkeys(task for record in results.records for task in record.scores)
    shown = {column.score[0] for paper in results.space.tables for column in paper.columns if column.score}
    if not results.space.tables:  # then the plain table shows the figures
        shown |= {task for figure in results.figures if len(figure.weights) == 1 for task in figure.tasks}
    return [task for task in measured if task in TASKS and task not in shown and task not in GROUPS["all"]]
