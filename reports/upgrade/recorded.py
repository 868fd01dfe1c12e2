"""A recorded benchmark from before the first schema (`benchmarks/recorded`): its recipes under today's names."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from reports.ledger.folders import SCHEMA
from search_spaces import registered
from search_spaces.space import Domain
from trainables.errors import UserError, unforeseen
from trainables.keys import Value

ABOUT = b"record"
"""Of the file's metadata what says the space."""


def upgrade_record(path: Path) -> str:
    """Write it anew, whole; returns a sentence on what was done. `UserError` where it is no recorded benchmark."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        about = json.loads((table.schema.metadata or {})[ABOUT])
        space, scale = registered(about["space"]), about["scale"]
        columns = {domain: table.column(domain.key).to_pylist() for domain in space.domains}
        before = table.column("recipe").to_pylist()
    except (OSError, pa.ArrowException, KeyError, ValueError, TypeError) as error:
        raise UserError(f"{path} is no recorded benchmark ({unforeseen(error)})") from None
    if about.get("schema") == SCHEMA:
        return f"{path} is of the present version already, and stays as it is"
    base, renamed = space.recipe(scale), dict[str, str]()
    for row, name in enumerate(before):
        if name not in renamed:
            chosen = {d.key: _value(d, values[row]) for d, values in columns.items() if _is_there(values[row])}
            renamed[name] = base.override(chosen).hash
    names = pa.array([renamed[name] for name in before], table.schema.field("recipe").type)
    table = table.set_column(table.schema.get_field_index("recipe"), "recipe", names)
    metadata = {**(table.schema.metadata or {}), ABOUT: json.dumps({**about, "schema": SCHEMA}).encode()}
    part = path.with_name(f"{path.name}.tmp")
    pq.write_table(table.replace_schema_metadata(metadata), part, compression="zstd")
    part.replace(path)
    return f"{path}: {len(renamed)} recipes have their names of schema {SCHEMA}"


def _is_there(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _value(domain: Domain, value: Any) -> Value:
    """As the grid has it: a column with gaps holds whole numbers as floats."""
    return next((known for known in domain.grid_values if known == value), value)
