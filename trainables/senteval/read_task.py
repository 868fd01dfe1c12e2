"""A task's files in, checked examples out."""

from __future__ import annotations

from pathlib import Path

from trainables.process_cache import PROCESS_CACHE, stamp
from trainables.registry import load
from trainables.senteval.examples import TaskData
from trainables.senteval.file_layouts import FILE_LAYOUTS
from trainables.senteval.kinds import KINDS
from trainables.senteval.tasks import Task


def read_task(task: Task, data: Path) -> TaskData:
    """Read and check one task. Its files are relative to the data folder, or absolute."""
    paths = [data / file for file in task.files]
    layout = FILE_LAYOUTS[task.layout]
    result: TaskData = load(layout.function)(task, paths)
    firsts = [paths[place * (layout.files_per_split or 0)] for place in range(len(result.splits))]
    KINDS[task.kind].check_examples(task, result, dict(zip(result.splits, firsts, strict=True)))
    return KINDS[task.kind].used(result)


def kept_task(task: Task, data: Path) -> TaskData:
    """`read_task`; files that are as they were the last time are not read again."""
    entries = task, FILE_LAYOUTS[task.layout], KINDS[task.kind]
    stamps = tuple(stamp(data / file) for file in task.files)
    return PROCESS_CACHE.get(("task", *entries, str(data), stamps), lambda: read_task(task, data)).copy()
