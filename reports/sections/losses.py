"""Curves of the losses in the trainings of the finals."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, Picture
from reports.facts.recipe_names import name_of
from reports.facts.results import Results
from reports.ledger import Curves
from reports.plots.courses import step_picture

HOW = (
    "The loss of a step's batch, a line for each fresh seed of a finalist and of the base settings. Losses of unlike "
    "objectives, temperatures or batch sizes are not to be compared: what a line shows is whether its training went "
    "smoothly, and whether the loss still fell at its end."
)


def write(results: Results, pictures: Path) -> list[Block]:
    """Draw the losses in the finals' trainings; empty if there are no finals, or if the losses are gone."""
    finals = results.info.finals
    if finals is None:
        return []
    curves, courses = Curves(results.folder), {}
    for recipe in dict.fromkeys([*finals.finalists, *([finals.base] if finals.base else [])]):
        of_seeds = curves.of(record.key for record in results.finals.get(recipe, ()))
        if drawn := [curve.points for curve in of_seeds.values() if len(curve.points) > 1]:
            courses[name_of(results, recipe)] = drawn
    if not courses:
        return []
    return [HOW, Picture(step_picture(courses, pictures / "losses.svg", "loss"), "Losses of the finals over steps")]
