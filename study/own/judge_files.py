"""Files of `--dev` and `--test`: of data sets of the hub, of folders of splits, and of tables whose columns `--columns`
names, as training data have them.

fetched("nfcorpus=mteb/nfcorpus", "test", Path("data"))     # "nfcorpus=data/test/nfcorpus", a folder as BEIR has it
fetched("sentence-transformers/stsb::validation", "dev", Path("data"))       # "data/dev/stsb.parquet"
with_known_names("faq.csv", "test", Path("data"), {"anchor": ("Frage",), "positive": ("Antwort",)})
# "data/test/faq.csv.jsonl", with the columns anchor and positive; a file without these columns as it is
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
from trainables.senteval.own_tasks import named
from trainables.tabular import NLI_SIDES, RoleColumns, check_text, texts_of

MADE = ".jsonl"
"""What the name of a file with known columns has behind that of the file that it was made of."""
_SPLITS: Mapping[str, tuple[str, ...]] = {"dev": ("validation", "dev", "val", "valid"), "test": ("test",)}
"""What the split of a part may be called; the first that is there is taken where none is said."""
_TEXTS = {"queries": QUERIES, "corpus": CORPUS}
_IDS = ("query-id", "corpus-id", "score")
_ROLES = ("anchor", "positive", "negative", "sentence", "sentence1", "sentence2", "score", "label")
_OF_TASKS = {**{role: role for role in _ROLES}, **NLI_SIDES}
"""What a task calls the roles that it reads."""


def fetched(text: str, part: str, folder: Path) -> str:
    """The file or folder that a data set becomes in a folder, under the name that it is given; what is a path, or a
    built-in task, as it is. `UserError` where it is not there."""
    name, place = named(text)
    if place.startswith("scenes:") or Path(place).exists() or not is_data_set(place):
        return text
    data_set = DataSet.of(place)
    is_search = {*_TEXTS} <= {*configurations(place)} and data_set.configuration not in _TEXTS
    target = folder / part / re.sub(r"[^\w-]+", "_", Path(data_set.name).name)
    target = target if is_search else target.with_suffix(".parquet")
    if target.exists():
        raise UserError(f"{place}: two data sets are called {target.stem}; give one of them as a file or folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    if is_search:
        _as_search(data_set, place, part, target)
    else:
        load_data_set(place, _SPLITS[part]).to_parquet(str(target))
    return f"{name}={target}" if name else str(target)


def _as_search(data_set: DataSet, place: str, part: str, folder: Path) -> None:
    """Three configurations of a data set as the files of a search task: texts of queries, of a corpus, and the qrels,
    which are the third one."""
    source = place.partition(":")[0]
    options = [name for name in configurations(place) if name not in _TEXTS]
    judged = data_set.configuration or next((name for name in ("default", "qrels") if name in options), None)
    if not options:
        raise UserError(f"{place} holds texts of a search and no qrels; give a folder as BEIR has it, with both")
    if judged is None:
        raise UserError(f"{place}: which of its configurations {listed(options)} are the qrels? Say {source}:ONE:SPLIT")
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


def _column(place: str, rows: Any, names: Sequence[str]) -> str:
    """The first of these columns that is there; `UserError` where none is."""
    name = next((name for name in names if name in rows.column_names), None)
    if name is None:
        raise UserError(f"{place}: no column {choices(names)} (found: {listed(rows.column_names)})")
    return name


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
    target = folder / part / f"{path.name}{MADE}"
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
    """Of several columns all texts; of one what stands there."""
    return cells[0] if len(cells) == 1 else [text for cell in cells for text in texts_of(cell)]


def _write(file: Path, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Rows, each after its place. `UserError` for one that cannot be written."""
    with open(file, "w", encoding="utf-8") as lines:
        for where, row in rows:
            line = json.dumps(row, ensure_ascii=False, default=str)
            check_text(line, "this row", where)
            lines.write(line + "\n")
