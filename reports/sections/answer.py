"""What to use, what it gains, how sure that is: the first lines of a report."""

from __future__ import annotations

from pathlib import Path

from reports.answer import Answer
from reports.answer_words import lines
from reports.document import Block, Bullets
from reports.markdown import text, verbatim
from reports.results import Results


def write(results: Results, pictures: Path) -> list[Block]:
    """A line for each part of the answer."""
    answer = lines(Answer.of(results), results.info, text)
    return [Bullets([f"**{line.head}:** {verbatim(line.words) if line.command else line.words}" for line in answer])]
