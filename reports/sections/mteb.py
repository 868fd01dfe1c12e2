"""Scores of the study's models by the package `mteb`, a column for each of its tasks."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, DataTable
from reports.facts.results import Results
from reports.mteb_scores import FOLDER, kept_models, kept_scores
from reports.words.markdown import code, number, text


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the table of `mteb` scores, a line for each scored model; empty if none was scored."""
    if not (results.folder / FOLDER).is_dir():
        return []
    scores = {name: kept_scores(results.folder, record) for name, record, _ in kept_models(results)}
    scores = {name: of_model for name, of_model in scores.items() if of_model}
    tasks = list(dict.fromkeys(task for of_model in scores.values() for task in of_model))
    lines = [[code(name), *(number(of_model.get(task)) for task in tasks)] for name, of_model in scores.items()]
    how = "Main scores in %, by the package `mteb` on its own data, a line for the kept model of each recipe."
    return [DataTable(["model", *map(text, tasks)], lines), how] if lines else []
