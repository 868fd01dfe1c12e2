"""What is odd in the published figures."""

from __future__ import annotations

from pathlib import Path

from reports.markdown import bullets
from reports.results import Results


def write(results: Results, pictures: Path) -> str:
    """The space's own list."""
    return bullets(results.space.oddities)
