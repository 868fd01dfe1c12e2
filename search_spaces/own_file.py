"""Writes the space of a user's own data as a Python file, which looks as if written by hand, and may be edited.

text = space_text(OwnSpace(name="pairs-MiniLM", title="...", content="pairs", ...))
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from search_spaces.own_data import (
    EPOCHS,
    OWN_GOAL,
    TF_IDF,
    WITHOUT_TRAINING,
    OwnSpace,
    first_tried,
    own_base,
    own_domains,
)
from search_spaces.paper import Overrides
from trainables.recipe import Value
from trainables.senteval.tasks import Task


def space_text(own: OwnSpace) -> str:
    """Return the space's file as Python source. Raises `UserError` if no objective learns from data of this kind."""
    goal, goal_lines = _goal(own)
    scored = (*own.tasks, *([own.general] if own.general else []))
    return _TEXT.format(
        folder=_value(own.folder),
        tasks="\n".join(f"TASKS.add({_task(task, own.folder)})" for task in scored),
        imports="from search_spaces.goals import GOALS, Goal\n" if goal_lines else "",
        goal=goal_lines,
        name=_value(own.name),
        title=_value(own.title),
        base=_entries(own_base(own), own.folder),
        tasks_named=_value(tuple(task.name for task in scored)),
        rows="\n".join(f"        {row}," for row in _rows(own)),
        domains="\n".join(f"        {_domain(*domain)}," for domain in own_domains(own)),
        first="\n".join(f"        {_mapping(changes)}," for changes in first_tried(own)),
        goal_named=_value((goal,)),
        notes="".join(f"        {_value(note)},\n" for note in own.notes),
    )


_TEXT = '''"""A space of one's own data, made by --train. Keep it, edit it, and run it again:

    python study/run.py --space ./my_space.py --search optuna

`base` is what the gain is over, `domains` are what Optuna may choose, `first` is what it tries first.
"""

{imports}from search_spaces.space import Domain, Row, Space
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.senteval.tasks import TASKS, Task

DATA = {folder}

{tasks}
{goal}
SPACE = Space(
    name={name},
    title={title},
    paper="your own data",
    base=Recipe().preferring(
        {{
{base}
        }}
    ),
    evaluation=EvaluationConfig(tasks={tasks_named}),
    rows=(
{rows}
    ),
    domains=(
{domains}
    ),
    first=(
{first}
    ),
    goals={goal_named},
    shown=(),
    notes=(
{notes}    ),
)
'''


def _rows(own: OwnSpace) -> list[str]:
    """Return source lines of the rows: each original encoder, then with the base settings, and TF-IDF."""
    rows = []
    first = own.encoders[0].settings
    for encoder in own.encoders:
        differs = {key: value for key, value in encoder.settings.items() if value != first[key]}
        mark = f"{encoder.label}, " if len(own.encoders) > 1 else ""
        original = f"{mark}original" if mark else "original encoder"
        rows.append(f"Row({_value(original)}, {_mapping({**differs, EPOCHS: 0})}, as_it_came=True)")
        rows.append(f"Row({_value(f'{mark}base settings')}, {_mapping(differs)})")
    if own.tf_idf:
        changes = {"encoder.kind": "tf_idf", "encoder.name": own.train, **WITHOUT_TRAINING}
        entries = " ".join(line.strip() for line in _entries(changes, own.folder).splitlines()).removesuffix(",")
        rows.append(f"Row({_value(TF_IDF)}, {{{entries}}})")
    return rows


def _goal(own: OwnSpace) -> tuple[str, str]:
    """Return the goal's name, and source lines that define it. A single task needs no lines if its own tests judge
    it."""
    searched = [task for task in own.tasks if task.development]
    tested = tuple((task.name, task.metric) for task in own.tasks if _has_tests(task))
    own_tests = not tested or [task for task, _ in tested] == [task.name for task in searched]
    if len(searched) == 1 and own_tests:
        return searched[0].name, ""
    judged = "" if own_tests else f"    judged_by={_value(tested)},\n"
    if len(searched) == 1:
        (task,) = searched
        name, what = task.name, f"    ({_value(task.name)},),\n"
        label = f"{name} ({task.development})"
    else:
        name, parts = OWN_GOAL, [_value(task.name) for task in searched]
        label = f"{OWN_GOAL} (mean of {', '.join(task.name for task in searched)})"
        what = f"    parts=({', '.join(f'Goal({part}, {part}, ({part},))' for part in parts)}),\n"
    return name, f"GOALS.add(Goal(\n    {_value(name)},\n    {_value(label)},\n{what}{judged}))\n"


def _has_tests(task: Task) -> bool:
    return any(number.startswith("test_") for number in task.numbers)


def _task(task: Task, folder: str) -> str:
    """Return a task as Python source, without default values."""
    positional = ", ".join(map(_value, (task.name, task.kind, task.layout)))
    files = "".join(f"\n            {_path(file, folder)}," for file in task.files)
    more = [
        f"\n        {field.name}={_value(getattr(task, field.name))},"
        for field in dataclasses.fields(task)[4:]
        if field.name != "metric" and getattr(task, field.name) != field.default
    ]
    return f"\n    Task(\n        {positional},\n        files=({files}\n        ),{''.join(more)}\n    )\n"


def _entries(values: Overrides, folder: str) -> str:
    return "\n".join(
        f"            {_value(key)}: {_path(value, folder) if isinstance(value, str) else _value(value)},"
        for key, value in values.items()
    )


def _path(path: str, folder: str) -> str:
    """Return a path as Python source. A path inside the data folder is relative to it."""
    inside = path.removeprefix(f"{folder}/")
    plain = not {*inside} & {*'{}"\\'}
    return f'f"{{DATA}}/{inside}"' if inside != path and plain else _value(path)


def _domain(key: str, fields: Mapping[str, Any]) -> str:
    """Return a domain as Python source."""
    return f"Domain({', '.join([_value(key), *(f'{name}={_value(value)}' for name, value in fields.items())])})"


def _mapping(changes: Overrides) -> str:
    return f"{{{', '.join(f'{_value(key)}: {_value(value)}' for key, value in changes.items())}}}"


def _value(value: Value | tuple[Value | tuple[str, ...], ...]) -> str:
    """Return a value as Python source, with texts in double quotes."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        return f"({', '.join(map(_value, value))}{',' * (len(value) == 1)})"
    return repr(value)
