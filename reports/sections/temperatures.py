"""How a learned temperature moved (`objective.temperature=learned`)."""

from __future__ import annotations

from pathlib import Path

from reports.best_model import ranking
from reports.document import Block, DataTable, Picture
from reports.ledger import Record
from reports.markdown import number, spread, text
from reports.plots.step_lines import step_picture
from reports.recipe_names import called
from reports.results import Results

SHOWN = 3
"""So many explored recipes are shown, those with the highest development scores."""
HOW = "The temperature with which the loss was taken, step by step, a line for each seed; `end` is after the last step."


def write(results: Results, pictures: Path) -> list[Block]:
    """A picture, and where each recipe began and ended; empty where none learned a temperature."""
    rows = {label: _learned(results.of_row(label)) for label in results.asked_rows}
    best = [item.recipe_hash for item in ranking(results) if item.recipe_hash in results.explored]
    explored = {called(results, key): _learned(results.recipes[key]) for key in dict.fromkeys(best)}
    shown = [(name, records) for name, records in explored.items() if records][:SHOWN]
    learned = {name: records for name, records in [*rows.items(), *shown] if records}
    if not learned:
        return []
    courses = {
        name: [[(item["step"], item["temperature"]) for item in record.training["temperatures"]] for record in records]
        for name, records in learned.items()
    }
    path = step_picture(courses, pictures / "temperatures.svg", "temperature", lowest=0.0)
    ends = {
        name: results.over_seeds(records, lambda item: item.training.get("temperature"))
        for name, records in learned.items()
    }
    lines = [[text(name), number(courses[name][0][0][1], 3), spread(ends[name], 3)] for name in learned]
    return [HOW, Picture(path, "Learned temperatures over steps"), DataTable(["Recipe", "start", "end"], lines)]


def _learned(records: list[Record]) -> list[Record]:
    return [record for record in records if record.training.get("temperatures")]
