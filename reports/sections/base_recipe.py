"""The recipe that every row starts from, beside the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reports.document import Block, DataTable
from reports.facts.results import Results
from reports.words.markdown import DASH, code
from trainables.evaluation_config import all_keys
from trainables.recipe import Value

EMPTY: tuple[object, ...] = ((), [])
"""A list that names nothing; its key is left out, as keys are that the recipe has not."""


def write(results: Results, pictures: Path) -> list[Block]:
    """What this study changes of it, then the whole of it."""
    paper, ours = results.paper_settings, results.settings
    lines = [
        [f"`{key}`", _value(paper, key), "same" if _value(paper, key) == _value(ours, key) else _value(ours, key)]
        for key in all_keys()
        if any(key in recipe and recipe[key] not in EMPTY for recipe in (paper, ours))
    ]
    head = ["Base recipe", "The paper" if results.has_paper else "The space", "This study"]
    changed = [line for line in lines if line[2] != "same"]
    rows = "Rows differ from the base recipe only in what they name."
    changes: list[Block] = (
        [f"{rows} This study changes it in:", DataTable(head, changed, left=3)]
        if changed
        else [f"{rows} It is unchanged in this study."]
    )
    return [*changes, "The whole base recipe:", DataTable(head, lines, left=3)]


def _value(recipe: Mapping[str, Value], key: str) -> str:
    return code(recipe[key]) if key in recipe else DASH
