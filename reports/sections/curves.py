"""Scores over one number of the recipe, where the paper has a table of them."""

from __future__ import annotations

from pathlib import Path

from reports.markdown import code
from reports.plots.curve_lines import curve_picture
from reports.results import Results
from reports.sections.words import bars_in_words


def write(results: Results, pictures: Path) -> str:
    """A picture for each number that a table varies."""
    parts = []
    for key in dict.fromkeys(paper.curve for paper in results.space.tables if paper.curve):
        picture = curve_picture(results, key, pictures / f"curve-{key}.svg")
        if picture:
            parts.append(f"![Scores over {key}, ours and published]({pictures.name}/{picture.name})")
            parts.append(f"Over `{key}`{bars_in_words(results)}.")
        else:
            missing = "its rows" if results.comparable else f"its rows and the {code(results.space.baseline)} row"
            parts.append(f"The curve over `{key}` needs {missing}, which have not finished.")
    return "\n\n".join(parts)
