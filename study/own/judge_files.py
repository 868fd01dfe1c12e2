"""Files of `--dev` and `--test`, made from data sets of the hub, and from tables whose columns `--columns` names, as
for training data.

fetch_data_set("nfcorpus=mteb/nfcorpus", "test", Path("data"))  # "nfcorpus=data/test/nfcorpus", a folder as BEIR has it
fetch_data_set("sentence-transformers/stsb::validation", "dev", Path("data"))  # "data/dev/stsb.parquet"
rename_columns("faq.csv", "test", Path("data"), {"anchor": ("Frage",), "positive": ("Antwort",)})
# "data/test/faq.csv.jsonl", with the columns anchor and positive; a file without these columns stays as it is
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trainables.corpora.hub import DataSet, configurations, is_data_set, load_data_set
from trainables.corpora.tables import find_tables, open_table
from trainables.errors import UserError, choices, listed
from trainables.senteval.beir import CORPUS, JUDGED, QUERIES
from trainables.senteval.own_tasks import name_and_path
from trainables.tabular import NLI_SIDES, RoleColumns, check_text, texts_of

RENAMED_SUFFIX = ".jsonl"
"""Suffix that `rename_columns` appends to the full file name of a table."""
_SPLITS: Mapping[str, tuple[str, ...]] = {"dev": ("validation", "dev", "val", "valid"), "test": ("test",)}
"""Possible split names of a data set for `--dev` and `--test`; if none is given, the first that exists is taken."""
_TEXTS = {"queries": QUERIES, "corpus": CORPUS}
_IDS = ("query-id", "corpus-id", "score")
_ROLES = ("anchor", "positive", "negative", "sentence", "sentence1", "sentence2", "score", "label")
_OF_TASKS = {**{role: role for role in _ROLES}, **NLI_SIDES}
"""Column names in files of tasks, by the role that `--columns` gives to a column."""


def fetch_data_set(text: str, part: str, folder: Path) -> str:
    """Save a data set of the hub into the folder; return its file or folder, as `NAME=PATH` if `text` names a task.
    Paths and built-in tasks are returned unchanged. `UserError` for an unknown data set, or two of the same name."""
    name, location = name_and_path(text)
    if location.startswith("scenes:") or Path(location).exists() or not is_data_set(location):
        return text
    data_set = DataSet.of(location)
    is_search = {*_TEXTS} <= {*configurations(location)} and data_set.configuration not in _TEXTS
    target = folder / part / re.sub(r"[^\w-]+", "_", Path(data_set.name).name)
    target = target if is_search else target.with_suffix(".parquet")
    if target.exists():
        raise UserError(f"{location}: two data sets are called {target.stem}; give one of them as a file or folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    if is_search:
        _as_search(data_set, location, part, target)
    else:
        load_data_set(location, _SPLITS[part]).to_parquet(str(target))
    return f"{name}={target}" if name else str(target)


def _as_search(data_set: DataSet, hub_name: str, part: str, folder: Path) -> None:
    """Write three configurations of a data set as the files of a search task: query texts, corpus texts, and the
    qrels, which are the third configuration."""
    source = hub_name.partition(":")[0]
    options = [name for name in configurations(hub_name) if name not in _TEXTS]
    judged = data_set.configuration or next((name for name in ("default", "qrels") if name in options), None)
    if not options:
        raise UserError(f"{hub_name} holds texts of a search and no qrels; give a folder as BEIR has it, with both")
    if judged is None:
        raise UserError(
            f"{hub_name}: which of its configurations {listed(options)} are the qrels? Say {source}:ONE:SPLIT"
        )
    (folder / JUDGED).mkdir(parents=True, exist_ok=True)
    for configuration, file in _TEXTS.items():
        rows = load_data_set(f"{source}:{configuration}", (configuration, "train", *_SPLITS[part]))
        name = _column(where := f"{source}:{configuration}", rows, ("_id", "id"))
        _write(folder / file, ((where, {**row, "_id": str(row[name])}) for row in rows))
    qrels = load_data_set(f"{source}:{judged}:{data_set.split or ''}", _SPLITS[part])
    for name in _IDS:
        _column(f"{source}:{judged}", qrels, (name,))
    lines = ("\t".join(str(row[name]) for name in _IDS) + "\n" for row in qrels)
    (folder / JUDGED / f"{part}.tsv").write_text("\t".join(_IDS) + "\n" + "".join(lines), encoding="utf-8")


def _column(where: str, rows: Any, names: Sequence[str]) -> str:
    """Return the first of these column names that `rows` have; `UserError` if there is none. `where`: for messages."""
    name = next((name for name in names if name in rows.column_names), None)
    if name is None:
        raise UserError(f"{where}: no column {choices(names)} (found: {listed(rows.column_names)})")
    return name


def rename_columns(text: str, part: str, folder: Path, roles: RoleColumns | None) -> str:
    """Write a table into the folder with its columns renamed to these roles; return the new file, as `NAME=PATH` if
    `text` names a task. Any other path stays unchanged. `UserError` if two tables have the same name."""
    name, location = name_and_path(text)
    path = Path(location)
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
    target = folder / part / f"{path.name}{RENAMED_SUFFIX}"
    if target.exists():
        raise UserError(f"--{part} {text}: two files are called {path.name}; rename one of them")
    target.parent.mkdir(parents=True, exist_ok=True)
    records = table.read([column for columns in own.values() for column in columns])
    _write(
        target,
        (
            (where, {role: _value([record.get(column) for column in of]) for role, of in own.items()})
            for where, record in records
        ),
    )
    return f"{name}={target}" if name else str(target)


def _value(cells: list[object]) -> object:
    """Return the cell if there is one; of several cells, the list of all their texts."""
    return cells[0] if len(cells) == 1 else [text for cell in cells for text in texts_of(cell)]


def _write(file: Path, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Write rows as JSON lines. `rows`: pairs of location, for messages, and row. `UserError` for an invalid text."""
    with open(file, "w", encoding="utf-8") as lines:
        for where, row in rows:
            line = json.dumps(row, ensure_ascii=False, default=str)
            check_text(line, "this row", where)
            lines.write(line + "\n")
