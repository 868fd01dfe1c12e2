"""What is odd in the published figures."""

from __future__ import annotations

from pathlib import Path

from reports.markdown import bullets, text
from reports.results import Results


def write(results: Results, pictures: Path) -> str:
    """The space's own list."""
    return bullets(map(text, results.space.oddities))
