"""Plots that the paper has of a grid of recipes: distributions by the value of a key, and lines over one number.

Both are drawn from the recipes of the plot's table and of a grid search. A recipe is one point, the mean over its
seeds. Recipes that Optuna explored are left out, because a search does not sample a grid evenly.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reports.document import Block, DataTable, Heading, Picture
from reports.facts.evidence import Evidence
from reports.facts.quantity import quantity
from reports.facts.results import Results
from reports.ledger import Record
from reports.plots.canvas import Dot, ends_of
from reports.plots.grid_panels import distribution_picture, lines_picture
from reports.statistics import Comparison, Measured
from reports.statistics.comparison import by_itself
from reports.words.markdown import count, number, short_paths, spread, text
from search_spaces.space import Figure
from trainables.recipe import Value, keys

SUMMARY: tuple[Callable[[Sequence[float]], float], ...] = (min, statistics.median, max, statistics.fmean)
"""Columns of the table that summarise the scores of a box."""


@dataclass(frozen=True)
class GridPoint:
    """A recipe of the grid with its score."""

    recipe: Mapping[str, Value]
    score: Measured
    alone: Comparison | None
    """The score with its 95 % interval, compared with no other; None if there is no sample."""


def write(results: Results, pictures: Path) -> list[Block]:
    """Write each of the paper's plots from this study's scores, as a picture and a table."""
    blocks: list[Block] = []
    for figure in results.space.figures:
        blocks.append(Heading(f"Figure {text(figure.number)}. {text(figure.title)}"))
        scored = _scored(results, figure)
        draw = {"distribution": _distribution, "lines": _lines}[figure.kind]
        blocks += [*draw(figure, scored, pictures / f"figure-{figure.number.lower()}.svg"), text(figure.note)]
    return blocks


def _scored(results: Results, figure: Figure) -> list[GridPoint]:
    """Return the recipes of the grid that have a score and were trained."""
    paper = results.space.table(figure.table)
    evidence, quantified = Evidence.of(results), quantity(paper, paper.column(figure.column))
    hashes = [results.info.row_hashes.get(label) for _, label in paper.rows]
    hashes += results.explored if results.info.search == "grid" else []
    points = []
    for recipe_hash in dict.fromkeys(hashes):
        records: list[Record] = results.recipes.get(recipe_hash or "", [])
        score = results.of_figure(records, quantified)
        if score is not None and records[0].recipe["optimisation.epochs"]:
            sample = evidence.sample(records[0].recipe_hash, quantified)
            alone = None if sample is None else by_itself(sample, evidence.common(quantified))
            points.append(GridPoint(records[0].recipe, score, alone))
    return points


def _distribution(figure: Figure, scored: list[GridPoint], path: Path) -> list[Block]:
    """Draw a box and dots for each value of each key. Name the keys of which only one value has finished."""
    panels = {key: _by_value(key, scored) for key in figure.keys}
    drawn = {key: values for key, values in panels.items() if len(values) > 1}
    alike = [f"`{key}`" for key in panels if key not in drawn]
    undrawn = f"Only one value of {', '.join(alike)} has finished, so nothing is drawn over it." if alike else ""
    if not drawn:
        return [undrawn]
    distribution_picture(drawn, _score(figure), path)
    lines = [
        [f"`{key}`", text(value), str(len(scores)), *(number(of(scores)) for of in SUMMARY)]
        for key, values in drawn.items()
        for value, scores in values.items()
    ]
    return [
        Picture(path, f"Distributions over {', '.join(drawn)}"),
        f"{text(_score(figure))} of {count(len(scored), 'recipe')}: a dot is a recipe (mean over its seeds), a box "
        "spans the quartiles of all recipes with that value, whatever their other values; its line is the median.",
        DataTable(["Key", "Value", "recipes", "lowest", "median", "highest", "mean"], lines, left=2),
        undrawn,
    ]


def _lines(figure: Figure, scored: list[GridPoint], path: Path) -> list[Block]:
    """Draw lines over the figure's first key. With several other keys, each value of the last has its own panel, and
    the values of the rest name the lines."""
    over, *rest = figure.keys
    by_line, by_panel = (rest[:-1], rest[-1:]) if len(rest) > 1 else (rest, [])
    points: dict[tuple[str, str, float], list[GridPoint]] = {}
    scored = [item for item in scored if {*figure.keys} <= item.recipe.keys()]
    for item in sorted(scored, key=lambda item: [_order(item.recipe[key]) for key in (*by_panel, *by_line, over)]):
        recipe = item.recipe
        named = (name for name, own in figure.points() if all(recipe.get(key) == own[key] for key in own))
        line = next(named, _names(recipe, by_line))
        points.setdefault((_names(recipe, by_panel), line, _number(recipe[over])), []).append(item)
    if not points:
        return ["No finished recipe has this score."]
    panels: dict[str, dict[str, list[Dot]]] = {}
    lines: list[list[str]] = []
    for (panel, name, x), items in points.items():
        mean = statistics.fmean(item.score.mean for item in items)
        score = items[0].score if len(items) == 1 else Measured(mean, None, 1)
        alone = items[0].alone if len(items) == 1 else None
        panels.setdefault(panel, {}).setdefault(name, []).append(Dot(x, score.mean, ends_of(alone)))
        lines.append([text(panel) or "all", text(name), _value(x), str(len(items)), spread(score)])
    caption = f"{text(_score(figure))} over `{over}`. Where several recipes share a point it is their mean."
    numbers = DataTable(["Panel", "Line", f"`{over}`", "recipes", text(figure.column)], lines, left=2)
    if len({x for _, _, x in points}) < 2:
        return [f"Only one value of `{over}` has finished, so nothing is drawn over it.", caption, numbers]
    lines_picture(panels, over, _score(figure), path)
    drawn = [item.alone for items in points.values() if len(items) == 1 for item in items]
    return [
        Picture(path, f"Lines over {over}"),
        f"{caption}{_bars([alone for alone in drawn if alone is not None and alone.low is not None])}",
        numbers,
    ]


def _bars(drawn: Sequence[Comparison]) -> str:
    """Explain the bars in a picture of lines; empty if it has no bars."""
    if not drawn:
        return ""
    bases = " or ".join(dict.fromkeys(alone.basis for alone in drawn))
    return (
        f" Bars are the 95 % interval of a recipe's own score ({bases}). Recipes are scored on the same test items, so "
        "two may surely differ although their bars overlap."
    )


def _by_value(key: str, scored: list[GridPoint]) -> dict[str, list[float]]:
    """Map each value of the key to the scores of its recipes, sorted by value. An unset value is last."""
    scored = [item for item in scored if key in item.recipe]
    ordered = sorted({item.recipe[key] for item in scored}, key=_order)
    return {_value(value): [item.score.mean for item in scored if item.recipe[key] == value] for value in ordered}


def _order(value: Value) -> tuple[bool, float, str]:
    return value is None, value if isinstance(value, int | float) else 0.0, str(value)


def _score(figure: Figure) -> str:
    return f"{figure.column} (Table {figure.table})"


def _names(recipe: Mapping[str, Value], keys: Sequence[str]) -> str:
    return ", ".join(f"{_key(key)}{_value(recipe[key])}" for key in keys)


def _key(key: str) -> str:
    """Return the label to print before a value of the key; empty for a key whose values are names."""
    return "" if key.endswith(".name") else f"{keys()[key].label.split(' (')[0]}: "


def _number(value: Value) -> float:
    """Return a key's value as a position on the x axis. Other values than numbers are refused when a space is
    loaded."""
    assert isinstance(value, int | float)
    return float(value)


def _value(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else short_paths(str(value))
