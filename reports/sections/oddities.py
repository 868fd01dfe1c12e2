"""Oddities in the numbers that the paper publishes."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, Bullets
from reports.facts.results import Results
from reports.words.markdown import text


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the list of oddities in the space's file."""
    return [Bullets([*map(text, results.space.oddities)])]
