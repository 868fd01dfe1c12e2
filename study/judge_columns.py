"""Columns of `--dev` and `--test` that `--columns` names, as training data have them.

with_known_names("faq.csv", "test", Path("data"), {"anchor": ("Frage",), "positive": ("Antwort",)})
# "data/test/faq.jsonl", with the columns anchor and positive; a file without these columns as it is
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from trainables.corpora.own_rows import RoleColumns
from trainables.corpora.tables import find_tables, open_table
from trainables.errors import UserError
from trainables.senteval.own_tasks import named
from trainables.tabular import texts_of

_OF_TASKS: Mapping[str, str] = {
    **{
        role: role
        for role in ("anchor", "positive", "negative", "sentence", "sentence1", "sentence2", "score", "label")
    },
    "premise": "sentence1",
    "hypothesis": "sentence2",
}
"""What a task calls the roles that it reads."""


def with_known_names(text: str, part: str, folder: Path, roles: RoleColumns | None) -> str:
    """The file that a table becomes in a folder, under the name that it is given, where it has columns of these roles;
    any other path as it is. `UserError` where two tables of a part have one name."""
    name, place = named(text)
    path = Path(place)
    if not roles or not path.is_file():
        return text
    (source,) = find_tables(str(path))
    table = open_table(source)
    own = {
        _OF_TASKS[role]: [column for column in columns if column in table.columns]
        for role, columns in roles.items()
        if role in _OF_TASKS
    }
    own = {role: columns for role, columns in own.items() if columns}
    if all(columns == [role] for role, columns in own.items()):
        return text
    target = (folder / part / path.name.partition(".")[0]).with_suffix(".jsonl")
    if target.exists():
        raise UserError(f"--{part} {text}: two files are called {target.stem}; rename one of them")
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "w", encoding="utf-8") as lines:
        for _, record in table.read([column for columns in own.values() for column in columns]):
            row = {role: _value([record.get(column) for column in columns]) for role, columns in own.items()}
            lines.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
    return f"{name}={target}" if name else str(target)


def _value(cells: list[object]) -> object:
    """Of several columns all texts; of one what stands there."""
    return cells[0] if len(cells) == 1 else [text for cell in cells for text in texts_of(cell)]
