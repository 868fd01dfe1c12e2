"""The recipe that every row starts from, beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reports.markdown import DASH, code, table
from reports.results import Results
from trainables.evaluation_config import all_keys
from trainables.recipe import Value

EMPTY: tuple[object, ...] = ((), [])
"""A list that names nothing; its key is left out, as keys are that the recipe has not."""


def write(results: Results, pictures: Path) -> str:
    """What this study changes of it, then the whole of it."""
    paper, ours = results.paper_settings, results.settings
    lines = [
        [f"`{key}`", _said(paper, key), "same" if _said(paper, key) == _said(ours, key) else _said(ours, key)]
        for key in all_keys()
        if any(key in recipe and recipe[key] not in EMPTY for recipe in (paper, ours))
    ]
    head = ["Base recipe", "The paper" if results.has_paper else "The space", "This study"]
    changed = [line for line in lines if line[2] != "same"]
    whole = f"The whole base recipe:\n\n{table(head, lines, left=3)}"
    said = "Rows differ from the base recipe only in what they name. "
    if not changed:
        return f"{said}It is unchanged in this study.\n\n{whole}"
    return f"{said}This study changes it in:\n\n{table(head, changed, left=3)}\n\n{whole}"


def _said(recipe: Mapping[str, Value], key: str) -> str:
    return code(recipe[key]) if key in recipe else DASH
