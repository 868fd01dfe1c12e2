"""JSON files: written whole, read with one clear sentence where they are broken."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainables.errors import UserError
from trainables.files import write_whole


def write_json(path: Path, item: Any) -> None:
    """Write a dataclass as a JSON object, whole. A number that is not finite is kept as null."""
    write_whole(path, json.dumps(plain(dataclasses.asdict(item)), indent=1, allow_nan=False) + "\n")


def plain(value: Any) -> Any:
    """The same value in JSON's types: numpy scalars unpacked, tuples as lists, numbers not finite as None."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    if hasattr(value, "item"):
        return plain(value.item())
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    raise TypeError(f"a record holds JSON values only, not {value!r}")


def read_json(path: Path, what: str) -> dict[str, Any]:
    """A JSON object from a file, or `UserError` naming the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is not {what} ({error})") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} is not {what} (it holds no JSON object)")
    return content


def known_fields(kind: type, content: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that the dataclass knows. Files of older and newer versions may hold others."""
    names = {item.name for item in dataclasses.fields(kind)}
    return {key: value for key, value in content.items() if key in names}


def as_recipe(values: Mapping[str, Any]) -> dict[str, Any]:
    """A flat recipe out of JSON, which knows lists only where a recipe has tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
