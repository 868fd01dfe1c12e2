"""The layout `table`, for tasks of one's own: a table (`table.py`) for each split.

A kind whose target is classes takes the column `label`, one of scores takes `score`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from trainables.senteval.examples import Split, TaskData
from trainables.senteval.kinds import KINDS
from trainables.senteval.table import open_table
from trainables.senteval.tasks import Task


def read_table(task: Task, paths: Sequence[Path]) -> TaskData:
    """Every file is a split, in the order that the task's kind asks for, or a sub-corpus.

    Classes are those of `Task.labels`, or else those of the first file in the order of the alphabet.
    """
    kind = KINDS[task.kind]
    names = task.splits or task.files
    whole = {name: open_table(path).whole(kind.target) for name, path in zip(names, paths, strict=True)}
    tables = {name: table for name, (table, _) in whole.items()}
    left_out = tuple(sentence for _, sentences in whole.values() for sentence in sentences)
    if kind.target == "scores":
        scale = task.scale or (-math.inf, math.inf)
        splits = {name: Split(*table.sentences(), table.scores(scale)) for name, table in tables.items()}
        return TaskData(splits, left_out=left_out)
    if kind.target == "documents":
        splits = {name: table.queries(kind.among_all) for name, table in tables.items()}
        merged = tuple(
            f"the {len(table.lines):,} rows of {table.path} are {items:,} items: rows that share a query are one"
            for name, table in tables.items()
            if (items := len(splits[name])) < len(table.lines)
        )
        return TaskData(splits, left_out=left_out + merged)
    labels = task.labels or tables[names[0]].labels()
    splits = {name: Split(*table.sentences(), table.classes(labels)) for name, table in tables.items()}
    return TaskData(splits, len(labels), left_out, labels)
