"""How the embeddings of each recipe lie, beside its scores, and which hyperparameter moves what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import Literal

import numpy as np

from reports.best_model import ranking
from reports.boards import Board
from reports.document import Block, DataTable, Picture
from reports.evidence import SURE
from reports.findings import Findings
from reports.ledger import Record
from reports.markdown import DASH, code, count, number, signed, text
from reports.plots.canvas import ends_of
from reports.plots.geometry_map import Place, geometry_picture
from reports.quantity import Quantity
from reports.recipe_names import called, short
from reports.results import Results
from reports.statistics import holm
from reports.statistics.ranks import rank_correlations
from reports.statistics.sample import Array
from trainables.recipe import Recipe, Value

NUMBERS: tuple[Literal["alignment", "uniformity", "anisotropy"], ...] = ("alignment", "uniformity", "anisotropy")
SHOWN = 5
"""So many explored recipes are in the table, those with the highest development scores."""
FEWEST = 6
"""Of fewer recipes nothing is correlated."""
MOST_VALUES = 4
"""A key of more words than these is no line of the correlations."""
Line = tuple[str, list[float | None]]


@dataclass(frozen=True)
class Lying:
    """A recipe with the means over its seeds."""

    name: str
    records: Sequence[Record]
    scores: tuple[float | None, ...]
    is_row: bool

    @cached_property
    def numbers(self) -> tuple[float | None, ...]:
        """Alignment, uniformity, anisotropy."""
        return tuple(_mean([record.geometry.get(name) for record in self.records]) for name in NUMBERS)

    @property
    def is_known(self) -> bool:
        """Whether it has all of them."""
        return None not in self.numbers

    @property
    def trained(self) -> bool:
        """Whether its trials trained anything."""
        return Recipe.from_flat(dict(self.recipe)).trains

    @property
    def recipe(self) -> Mapping[str, Value]:
        """Flat."""
        return self.records[0].recipe


def write(results: Results, pictures: Path) -> list[Block]:
    """What the numbers mean, the table, the picture, the correlations; empty where no record has them."""
    boards = Findings.of(results).boards
    figures = [board.quantity for board in boards]  # others no row has
    rows = [_lying(label, results.of_row(label), figures, True) for label in results.asked_rows]
    best = {recipe.recipe_hash: place for place, recipe in enumerate(ranking(results))}
    tried = (key for key in results.explored if key in results.recipes)
    ranked = sorted(tried, key=lambda key: best.get(key, len(best)))
    explored = [_lying(called(results, key), results.recipes[key], figures, False) for key in ranked]
    rows, explored = ([item for item in items if item.records and item.is_known] for items in (rows, explored))
    if not rows and not explored:
        return []
    names = [figure.name for figure in figures]
    places = [_place(item, results.space.baseline) for item in rows + explored]
    blocks: list[Block] = [_how(rows + explored), _table([*rows, *explored[:SHOWN]], names)]
    if names:  # without a score that sums the study up there is nothing to colour by
        spans = [_noise(board) for board in boards]
        path = geometry_picture(places, names, spans, pictures / "geometry.svg")
        blocks.append(Picture(path, "Alignment against uniformity, coloured by score"))
    once = {results.once(item.records[0].recipe_hash): item for item in reversed(rows + explored) if item.trained}
    return [*blocks, *_correlations([*reversed(once.values())], names)]


def _lying(name: str, records: Sequence[Record], figures: Sequence[Quantity], is_row: bool) -> Lying:
    scores = tuple(_mean([figure.of(record.scores) for record in records]) for figure in figures)
    return Lying(name, records, scores, is_row)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return fmean(known) if known and len(known) == len(values) else None


def _noise(board: Board) -> float:
    """How wide the interval of a row's gain is in the middle, in points; 0 where none is known."""
    widths = [ends[1] - ends[0] for item in board.standings if (ends := ends_of(item.gain))]
    return median(widths) if widths else 0.0


def _place(item: Lying, baseline: str | None) -> Place:
    alignment, uniformity, _ = (value or 0.0 for value in item.numbers)
    name = item.name if item.is_row else ""
    return Place(name, alignment, uniformity, item.scores, item.trained, item.name == baseline)


def _how(items: Sequence[Lying]) -> str:
    tasks = dict.fromkeys(str(record.geometry.get("sentences")) for item in items for record in item.records)
    return (
        f"Of the sentences of {text(' or '.join(tasks))}, scaled to length one. Alignment: the mean squared distance "
        "of sentences that mean the same (lower is closer). Uniformity: how evenly all sentences are spread over the "
        "sphere (lower is more even). Anisotropy: the mean cosine of two sentences (0 where they look into all "
        "directions). Means over seeds."
    )


def _table(items: Sequence[Lying], names: Sequence[str]) -> DataTable:
    lines = [
        [text(item.name), *(number(value, 3) for value in item.numbers), *(number(value) for value in item.scores)]
        for item in items
    ]
    return DataTable(["recipe", *NUMBERS, *map(text, names)], lines)


def _correlations(items: Sequence[Lying], names: Sequence[str]) -> list[Block]:
    """A line for each score and each hyperparameter that varies, a column for each number of the geometry."""
    if len(items) < FEWEST:
        return [f"Which hyperparameter moves which is not said of fewer than {FEWEST} trained recipes."]
    lines: list[Line] = [(text(name), [item.scores[place] for item in items]) for place, name in enumerate(names)]
    lines += _varied(items)
    correlated = _correlated(items, lines)
    flat = [float(p) for _, _, _, chances in correlated for p in chances]
    adjusted = holm(flat)
    shown = []
    for place, (name, recipes, correlations, _) in enumerate(correlated):
        of_line = adjusted[place * len(NUMBERS) : (place + 1) * len(NUMBERS)]
        cells = [_cell(float(value), p) for value, p in zip(correlations, of_line, strict=True)]
        shown.append([name, str(recipes), *cells])
    clear = sum(p is not None and p < SURE for p in adjusted)
    how = (
        f"Rank correlations (Spearman) over the trained recipes. {clear or 'None'} of "
        f"{count(len(flat), 'correlation')} {'are' if clear > 1 else 'is'} above noise (permutations, at 5 % over all "
        "of them, Holm); those are bold, the others may be chance. A correlation is no proof of a cause: "
        "hyperparameters of a study may vary together."
    )
    return [how, DataTable(["with", "recipes", *NUMBERS], shown)]


def _correlated(items: Sequence[Lying], lines: Sequence[Line]) -> list[tuple[str, int, Array, Array]]:
    """Of each line: how many recipes have its value, and its correlations with their geometry, with p-values.

    Lines that few recipes have, or with the same value in all of them, are left out. Those of the same recipes are
    shuffled together, which is ten times as quick.
    """
    together: dict[tuple[int, ...], list[str]] = {}
    values = dict(lines)
    for name, line in lines:
        places = tuple(place for place, value in enumerate(line) if value is not None)
        if len(places) >= FEWEST and len({line[place] for place in places}) > 1:
            together.setdefault(places, []).append(name)
    correlated = {}
    for places, names in together.items():
        first = np.array([[values[name][place] for name in names] for place in places], dtype=float)
        second = np.array([items[place].numbers for place in places], dtype=float)
        correlations, chances = rank_correlations(first, second)
        for column, name in enumerate(names):
            correlated[name] = (name, len(places), correlations[column], chances[column])
    return [correlated[name] for name, _ in lines if name in correlated]


def _varied(items: Sequence[Lying]) -> list[Line]:
    """Keys that vary among the recipes that have them. A number is one line; a word is a line of 0 and 1 for each of
    its values."""
    lines: list[Line] = []
    for key in dict.fromkeys(key for item in items for key in item.recipe):
        given = {place: item.recipe[key] for place, item in enumerate(items) if key in item.recipe}
        distinct = {str(value): value for value in given.values()}
        if len(distinct) < 2:
            continue
        if {_number(value) is None for value in given.values() if value is not None} == {False}:
            lines.append((code(key), [_number(given.get(place)) for place in range(len(items))]))
        elif len(distinct) <= MOST_VALUES:
            for word, value in list(distinct.items())[len(distinct) == 2 :]:
                line = [float(str(given[place]) == word) if place in given else None for place in range(len(items))]
                lines.append((code(f"{key}={short(value)}"), line))
    return lines


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _cell(correlation: float, p: float | None) -> str:
    if p is None:
        return DASH
    return f"**{signed(correlation)}**" if p < SURE else signed(correlation)
