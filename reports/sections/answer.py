"""The first lines of a report: the recipe to use, its gain, and how sure the gain is."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, Bullets
from reports.facts.answer import Answer
from reports.facts.results import Results
from reports.words.answer import lines
from reports.words.markdown import text, verbatim


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the answer, a line for each of its parts."""
    answer = lines(Answer.of(results), results.info, text)
    return [Bullets([f"**{line.head}:** {verbatim(line.words) if line.command else line.words}" for line in answer])]
