"""The base recipe of the rows, compared with the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from reports.document import Block, DataTable
from reports.facts.answer import Answer
from reports.facts.results import Results
from reports.words.gains import REFERENCE_NAMES
from reports.words.markdown import DASH, code, text
from trainables.evaluation_config import all_keys
from trainables.recipe import Value

EMPTY: tuple[object, ...] = ((), [])
"""Empty lists. A key with such a value is left out, like a key that the recipe does not have."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Write how the base recipe differs from the paper's and the finalists from it, then the whole base recipe."""
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
    return [*changes, *_finalists(results), "The whole base recipe:", DataTable(head, lines, left=3)]


def _finalists(results: Results) -> list[Block]:
    """Write every setting in which a finalist differs from the base recipe. Recipe names have only the first few."""
    finalists = [finalist for finalist in Answer.of(results).finalists if finalist.settings]
    keys = dict.fromkeys(key for finalist in finalists for key in finalist.settings)
    if not keys:
        return []
    base = results.base.flat()
    lines = [
        [f"`{key}`", _value(base, key), *(_value(finalist.settings, key, "same") for finalist in finalists)]
        for key in keys
    ]
    head = ["Setting", REFERENCE_NAMES["base"], *(text(finalist.name) for finalist in finalists)]
    return ["The recipes of the finals change:", DataTable(head, lines, left=len(head))]


def _value(recipe: Mapping[str, Value], key: str, without: str = DASH) -> str:
    return code(recipe[key]) if key in recipe else without
