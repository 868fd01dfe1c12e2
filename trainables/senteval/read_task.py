"""A task's files: whether they exist, hashes of their content, and their checked examples."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from trainables.errors import UserError
from trainables.process_cache import PROCESS_CACHE, file_states
from trainables.registry import load
from trainables.senteval.examples import TaskData
from trainables.senteval.file_layouts import FILE_LAYOUTS
from trainables.senteval.kinds import KINDS
from trainables.senteval.tasks import TASKS, Task

_HASHED_WHOLE = 64 * 2**20
"""Bytes of the largest file that is hashed whole. Larger ones (image features) are hashed by size and two ends."""


class MissingData(Exception):  # noqa: N818
    """Raised if no file of a task exists. The task's scores are then dashes; this is no error of the user."""


def check_folder(data: Path, tasks: Sequence[str]) -> None:
    """Refuse a folder that is no SentEval data, unless a file of one of the tasks exists."""
    if any((data / file).is_file() for name in tasks for file in TASKS[name].files):
        return
    if not data.is_dir():
        raise UserError(
            f"SentEval data folder {data} does not exist; fetch it with `python -m trainables.corpora fetch senteval "
            "--to DIR`, or take the built-in data, scenes"
        )
    if not (data / "downstream").is_dir() and not (data / "probing").is_dir():
        raise UserError(f"{data} is no SentEval data folder: it holds neither downstream/ nor probing/")


def check_task(task: Task, data: Path) -> None:
    """Raise `MissingData` if none of the task's files exists, `UserError` if some are missing or one is empty."""
    absent = [file for file in task.files if not (data / file).is_file()]
    if len(absent) == len(task.files):
        raise MissingData(f"no data: {data / task.files[0]} does not exist")
    if absent:
        more = f" and {len(absent) - 1} more files" if len(absent) > 1 else ""
        raise UserError(f"{task.name}: {data / absent[0]}{more} missing")
    for file in task.files:
        if (data / file).stat().st_size == 0:
            raise UserError(f"{data / file} is empty")


def repeated_files(data: Path, tasks: Sequence[str]) -> dict[str, str]:
    """Return a message for each task with a sentence file whose content equals another file's. A file that refers to
    texts by number, such as qrels, counts together with the file of texts before it."""
    owners: dict[tuple[str, ...], tuple[str, str]] = {}
    problems: dict[str, str] = {}
    for name in tasks:
        files, layout = TASKS[name].files, FILE_LAYOUTS[TASKS[name].layout]
        for index, file in enumerate(files):
            recurs = Path(file).name.startswith(layout.may_recur)
            if not (data / file).is_file() or recurs or not (data / file).stat().st_size:
                continue
            before = files[index - index % (layout.files_per_split or 1) : index]
            texts = [data / name for name in before if Path(name).name.startswith(layout.may_recur)]
            content = tuple(content_hash(path) for path in (*texts, data / file) if path.is_file())
            other_name, other = owners.setdefault(content, (name, file))
            if other != file:
                problem = f"{data / file} ({name}) has the same content as {data / other} ({other_name})"
                problems.setdefault(name, problem)
                problems.setdefault(other_name, problem)
    return problems


def content_hash(path: Path) -> str:
    """Return SHA-256 of a file's content; for a large file, of its size and its two ends."""
    return PROCESS_CACHE.get(("content", file_states(path)), lambda: _content_hash(path))


def _content_hash(path: Path) -> str:
    digest = hashlib.sha256()
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= _HASHED_WHOLE:
            digest.update(file.read())
        else:
            digest.update(str(size).encode() + file.read(2**20))
            file.seek(-(2**20), 2)
            digest.update(file.read())
    return digest.hexdigest()


def read_task(task: Task, data: Path) -> TaskData:
    """Read and check one task. Its files are relative to the data folder, or absolute."""
    paths = [data / file for file in task.files]
    layout = FILE_LAYOUTS[task.layout]
    result: TaskData = load(layout.function)(task, paths)
    firsts = [paths[index * (layout.files_per_split or 0)] for index in range(len(result.splits))]
    KINDS[task.kind].check_examples(task, result, dict(zip(result.splits, firsts, strict=True)))
    return KINDS[task.kind].select_examples(result)


def kept_task(task: Task, data: Path) -> TaskData:
    """Return the result of `read_task`; unchanged files are not read again."""
    entries = task, FILE_LAYOUTS[task.layout], KINDS[task.kind]
    stamps = tuple(file_states(data / file) for file in task.files)
    return PROCESS_CACHE.get(("task", *entries, str(data), stamps), lambda: read_task(task, data)).copy()
