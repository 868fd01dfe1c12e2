"""`report.json`: the content of a report as data (the answer, rows, explored recipes, claims, intervals and costs)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reports.document import WrittenSection, markdown
from reports.facts.answer import Answer, rounded
from reports.facts.findings import Findings
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.formats import Document
from reports.ledger import seconds_of
from trainables.files import write_whole


def write(document: Document, path: Path) -> None:
    """Write the content as a JSON object; docs/answer.md describes its fields."""
    results = document.results
    content = {
        "title": document.title,
        "answer": Answer.of(results).as_json(),
        **rounded(Findings.of(results).as_json()),
        "sections": [_section(section) for section in document.sections],
        "recipes": [rounded(_recipe(results, key)) for key in results.recipes],
    }
    write_whole(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def _section(section: WrittenSection) -> dict[str, Any]:
    return {
        "name": section.name,
        "heading": section.heading,
        "content": markdown(section.blocks),
        "folded": section.folded,
    }


def _recipe(results: Results, recipe_hash: str) -> dict[str, Any]:
    """Return a row or explored recipe as a JSON object, with means over its seeds."""
    records = results.recipes[recipe_hash]
    goals = {goal.name: results.goal(records, goal) for goal in results.measured_goals}
    figures = {figure.name: results.of_figure(records, figure) for figure in results.figures}
    return {
        "recipe": recipe_hash,
        "name": name_of(results, recipe_hash),
        "row": results.labels.get(recipe_hash),
        "explored": recipe_hash in results.explored,
        "settings": dict(records[0].recipe),
        "seeds": [record.seed for record in records],
        "goals": {name: None if score is None else score.mean for name, score in goals.items()},
        "figures": {
            name: None if score is None else {"mean": score.mean, "std": score.std} for name, score in figures.items()
        },
        "seconds": [seconds_of(record, "seconds") for record in records],
    }
