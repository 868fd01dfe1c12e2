"""Writes JSON files completely or not at all, and reads them with one clear message if they are broken."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from reports.ledger.folders import SCHEMA
from trainables.errors import UserError, reason, shown
from trainables.files import check_plain, write_whole
from trainables.typed_json import parse_json, read_fields

T = TypeVar("T")


def write_json(path: Path, item: Any) -> None:
    """Write a dataclass or mapping as a JSON object, completely or not at all. Numbers that are not finite become
    null."""
    write_whole(path, json.dumps(plain(item), indent=1, allow_nan=False) + "\n")


def plain(value: Any, digits: int | None = None) -> Any:
    """Convert a value to JSON types: dataclasses and mappings to objects, numpy scalars to numbers, tuples to lists,
    numbers that are not finite to None. Other floats are rounded to `digits` decimals."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        number = float(value) if digits is None else round(float(value), digits) + 0.0
        return number if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, digits) for item in value]
    if dataclasses.is_dataclass(value):
        return {item.name: plain(getattr(value, item.name), digits) for item in dataclasses.fields(value)}
    if hasattr(value, "item"):
        return plain(value.item(), digits)
    raise TypeError(f"a record holds JSON values only, not {value!r}")


def read_whole(kind: type[T], path: Path, what: str) -> T:
    """Read a dataclass from a JSON file and check its fields' types. For a broken file, or another `schema` than
    `SCHEMA`, raise `UserError` with the path and the reason. `what` names the expected content in the message."""
    names = {item.name for item in dataclasses.fields(kind)}  # type: ignore[arg-type]
    try:
        check_plain(path)
        content = parse_json(path.read_bytes())
        if not isinstance(content, dict):
            raise ValueError("it holds no JSON object")
        if "schema" in names and (schema := content.get("schema")) != SCHEMA:
            newer = isinstance(schema, int) and schema > SCHEMA
            way = "take a newer version" if newer else "run the study anew, into another folder"
            raise UserError(f"{path} has the schema {shown(schema)}, and this version reads {SCHEMA}; {way}")
        return read_fields(kind, content)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is not {what} ({reason(error)})") from None


def as_recipe(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a flat recipe from JSON values: JSON has only lists where a recipe has tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
