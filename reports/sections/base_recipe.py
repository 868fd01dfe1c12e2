"""The recipe that every row starts from, beside the paper's."""

from __future__ import annotations

from pathlib import Path

from reports.markdown import code, table
from reports.results import Results


def write(results: Results, pictures: Path) -> str:
    """What this study changes of it, then the whole of it."""
    paper, ours = results.paper_base, results.base
    lines = [[f"`{key}`", code(paper[key]), code(ours[key]) if ours[key] != paper[key] else "same"] for key in paper]
    head = ["Base recipe", "The paper" if results.has_paper else "The space", "This study"]
    changed = [line for line in lines if line[2] != "same"]
    whole = f"The whole base recipe:\n\n{table(head, lines, left=3)}"
    said = "Rows differ from the base recipe only in what they name. "
    if not changed:
        return f"{said}It is unchanged in this study.\n\n{whole}"
    return f"{said}This study changes it in:\n\n{table(head, changed, left=3)}\n\n{whole}"
