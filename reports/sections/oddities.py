"""Oddities in the published figures."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, Bullets
from reports.facts.results import Results
from reports.words.markdown import text


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the space's own list."""
    return [Bullets([*map(text, results.space.oddities)])]
