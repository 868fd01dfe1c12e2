"""Files of rows that tests read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path


def write_rows(file: Path, rows: Iterable[object]) -> str:
    """Each row as JSON on a line of its own; the file's path as text."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)
