"""The paper's figures over a grid: distributions by the value of a key, and lines over one number.

Both are drawn from the recipes of the figure's table and of a grid search; a recipe is one point, the mean over its
seeds. Explored recipes of Optuna stay out: a search does not sample a grid evenly.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from reports.ledger import Record
from reports.markdown import count, number, short_paths, spread, table, text
from reports.plots.grid_panels import distribution_picture, lines_picture
from reports.results import Results
from reports.statistics import Measured
from search_spaces.space import Figure
from trainables.recipe import Value, keys

Scored = list[tuple[Mapping[str, Value], Measured]]
"""Flat recipes with their score."""


def write(results: Results, pictures: Path) -> str:
    """Every figure of the space: picture and numbers."""
    parts = []
    for figure in results.space.figures:
        parts.append(f"### Figure {text(figure.number)}. {text(figure.title)}")
        scored = _scored(results, figure)
        draw = {"distribution": _distribution, "lines": _lines}[figure.kind]
        parts += draw(figure, scored, pictures / f"figure-{figure.number.lower()}.svg")
        parts += [text(figure.note)] if figure.note else []
    return "\n\n".join(parts)


def _scored(results: Results, figure: Figure) -> Scored:
    """Trained recipes only: one that is merely evaluated has no place on the grid, whatever its recipe says."""
    paper = results.space.table(figure.table)
    column = paper.column(figure.column)
    wanted = [results.info.row_hashes.get(label) for _, label in paper.rows]
    wanted += results.explored if results.info.search == "grid" else []
    found: Scored = []
    for recipe_hash in dict.fromkeys(wanted):
        records: list[Record] = results.recipes.get(recipe_hash or "", [])
        score = results.measured(records, paper, column)
        if score is not None and records[0].recipe["optimisation.epochs"]:
            found.append((records[0].recipe, score))
    return found


def _distribution(figure: Figure, scored: Scored, path: Path) -> list[str]:
    """Box and dots for each value of each key; keys of which only one value was run are named, not drawn."""
    panels = {key: _by_value(key, scored) for key in figure.keys}
    drawn = {key: values for key, values in panels.items() if len(values) > 1}
    alike = [f"`{key}`" for key in panels if key not in drawn]
    said = [f"Only one value of {', '.join(alike)} has finished, so nothing is drawn over it."] if alike else []
    if not drawn:
        return said
    distribution_picture(drawn, _score(figure), path)
    lines = [
        [f"`{key}`", text(value), str(len(scores)), *_summary(scores)]
        for key, values in drawn.items()
        for value, scores in values.items()
    ]
    return [
        f"![Distributions over {', '.join(drawn)}]({path.parent.name}/{path.name})",
        f"{text(_score(figure))} of {count(len(scored), 'recipe')}: a dot is a recipe (mean over its seeds), a box "
        "spans the quartiles of all recipes with that value, whatever their other values; its line is the median.",
        table(["Key", "Value", "recipes", "lowest", "median", "highest", "mean"], lines, left=2),
        *said,
    ]


def _lines(figure: Figure, scored: Scored, path: Path) -> list[str]:
    """The first key runs along the x axis; of several others the last makes the panels, the rest name the lines."""
    over, *rest = figure.keys
    by_line, by_panel = (rest[:-1], rest[-1:]) if len(rest) > 1 else (rest, [])
    points: dict[tuple[str, str, float], list[Measured]] = {}
    for recipe, score in sorted(scored, key=lambda item: [_order(item[0][key]) for key in (*by_panel, *by_line, over)]):
        named = (name for name, own in figure.lines.items() if all(recipe[key] == own[key] for key in own))
        line = next(named, _names(recipe, by_line))
        points.setdefault((_names(recipe, by_panel), line, _number(recipe[over])), []).append(score)
    if not points:
        return ["No finished recipe has this score."]
    panels: dict[str, dict[str, list[tuple[float, float, float | None]]]] = {}
    lines = []
    for (panel, name, x), scores in points.items():
        point = scores[0] if len(scores) == 1 else Measured(statistics.fmean(s.mean for s in scores), None, 1)
        panels.setdefault(panel, {}).setdefault(name, []).append((x, point.mean, point.std))
        lines.append([text(panel) or "all", text(name), _value(x), str(len(scores)), spread(point)])
    lines_picture(panels, over, _score(figure), path)
    barred = any(point[2] is not None for named in panels.values() for line in named.values() for point in line)
    seeds = max(score.seeds for _, score in scored)
    bars = "; bars are the standard deviation over seeds" if barred else ", one seed" if seeds == 1 else ""
    return [
        f"![Lines over {over}]({path.parent.name}/{path.name})",
        f"{text(_score(figure))} over `{over}`{bars}. Where several recipes share a point it is their mean.",
        table(["Panel", "Line", f"`{over}`", "recipes", text(figure.column)], lines, left=2),
    ]


def _by_value(key: str, scored: Scored) -> dict[str, list[float]]:
    """Scores by the key's values, numbers in order; an unset value comes last."""
    ordered = sorted({recipe[key] for recipe, _ in scored}, key=_order)
    return {_value(value): [score.mean for recipe, score in scored if recipe[key] == value] for value in ordered}


def _order(value: Value) -> tuple[bool, float, str]:
    return value is None, value if isinstance(value, int | float) else 0.0, str(value)


def _summary(scores: Sequence[float]) -> list[str]:
    """Lowest, median, highest, mean."""
    return [number(value) for value in (min(scores), statistics.median(scores), max(scores), statistics.fmean(scores))]


def _score(figure: Figure) -> str:
    return f"{figure.column} (Table {figure.table})"


def _names(recipe: Mapping[str, Value], keys: Sequence[str]) -> str:
    return ", ".join(f"{_key(key)}{_value(recipe[key])}" for key in keys)


def _key(key: str) -> str:
    """The key in words, before its value; nothing for a key that is a name."""
    return "" if key.endswith(".name") else f"{keys()[key].label.split(' (')[0]}: "


def _number(value: Value) -> float:
    """A value on the x axis; a space is refused when it loads if lines run over anything but a number."""
    assert isinstance(value, int | float)
    return float(value)


def _value(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else "none" if value is None else short_paths(str(value))
