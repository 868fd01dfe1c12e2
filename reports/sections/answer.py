"""What to use, what it gains, how sure that is: the first lines of a report."""

from __future__ import annotations

from pathlib import Path

from reports.answer import Answer
from reports.answer_words import lines
from reports.markdown import bullets, text, verbatim
from reports.results import Results


def write(results: Results, pictures: Path) -> str:
    """A line for each part of the answer."""
    found = lines(Answer.of(results), results.info, text)
    return bullets(f"**{line.head}:** {verbatim(line.words) if line.command else line.words}" for line in found)
