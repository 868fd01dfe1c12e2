"""The learning curve: scores of the recipe to use on parts of the data, as a table and a picture."""

from __future__ import annotations

from pathlib import Path

from reports.document import Block, DataTable, Picture
from reports.facts.answer import Answer
from reports.facts.learning_curve import DataCurve, DataPart
from reports.facts.looks import level_share, look_number
from reports.facts.results import Results
from reports.plots.canvas import Dot, ends_of
from reports.plots.courses import data_picture
from reports.statistics import CONFIDENCE
from reports.words.answer import data_curve_in_words
from reports.words.comparisons import interval, level
from reports.words.gains import REFERENCE_NAMES
from reports.words.guards import listed
from reports.words.markdown import DASH, code, number, text


def write(results: Results, pictures: Path) -> list[Block]:
    """Write the learning curve; empty if the study has none."""
    answer = Answer.of(results)
    data = answer.data
    if data is None or answer.figure is None:
        return []
    encoder = answer.references.get("encoder")
    head = ["Share of the data", data.unit, "steps", text(answer.figure), "over half as much", "fresh seeds"]
    lines = [_line(part) for part in data.parts]
    if encoder is not None and encoder.figure is not None:
        lines.insert(
            0, [f"none: {REFERENCE_NAMES['encoder']}", "0", "0", level(encoder.figure), DASH, str(encoder.seeds)]
        )
    points = [
        Dot(part.rows, part.figure.gain, ends_of(part.figure)) for part in data.parts if part.rows and part.figure
    ]
    verdict = "; ".join(data_curve_in_words(data, text))
    drawn: list[Block] = []
    if len(points) > 1:
        marks = {REFERENCE_NAMES["encoder"]: encoder.figure.gain} if encoder and encoder.figure else {}
        path = pictures / "data-curve.svg"
        data_picture(points, marks, path, unit=data.unit, figure=answer.figure)
        drawn = [Picture(path, f"Score over the {data.unit} to train on")]
    how = _how(data, results, len(answer.finalists))
    return [f"{verdict[0].upper()}{verdict[1:]}.", *drawn, DataTable(head, lines), how]


def _line(part: DataPart) -> list[str]:
    flagged = f" (no verdict: {listed([code(flag) for flag in part.flags])})" if part.flags else ""
    gain, seeds = f"{interval(part.gain)}{flagged}", str(part.seeds)
    return [part.share, number(part.rows, 0), number(part.steps, 0), level(part.figure), gain, seeds]


def _how(data: DataCurve, results: Results, finalists: int) -> str:
    """Explain which recipe was trained on which parts of the data, and over what the intervals are."""
    steps = [part.steps for part in data.parts if part.steps is not None]
    fixed = len(steps) > 1 and len(set(steps)) == 1
    longer = (
        "Steps are bounded by the recipe, so that a part is passed over more often."
        if fixed
        else "Epochs are those of the recipe, so that a part has fewer steps."
    )
    sure = 100 - 100 * (1 - CONFIDENCE) * level_share(look_number(results, "finals"))
    picked = f", and for the choice of the recipe among {finalists}" if finalists > 1 else ""
    return (
        f"The recipe is {code(data.name)}. A smaller part is contained in a larger one; a text is in it with all that "
        f"is paired with it, or not at all. {longer} All of the data are the trials of the finals. Gains are in "
        f"points. Each interval holds by itself, with {sure:.3g} % at this look, and allows for chance in seeds and "
        f"test items{picked}; that of a score is its own, with 95 %."
    )
