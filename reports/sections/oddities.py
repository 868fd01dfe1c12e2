"""What is odd in the published figures."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, Bullets
from reports.markdown import text
from reports.results import Results


def write(results: Results, pictures: Path) -> list[Block]:
    """The space's own list."""
    return [Bullets([*map(text, results.space.oddities)])]
