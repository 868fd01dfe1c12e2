"""What is known of every recipe of a search space: a recorded benchmark, or the ledger of a study, as arrays."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from search_spaces import registered
from search_spaces.domain_values import scaled
from search_spaces.space import Domain, Scale, Space
from trainables.errors import UserError, choices, unforeseen
from trainables.recipe import Recipe, Value
from trainables.typed_json import LARGEST, parse_json, read_fields

if TYPE_CHECKING:
    import pandas as pd

APART = 100.0
"""The distance between two choices, or between a value and none: more than that of all numbers together."""


@dataclass(frozen=True, eq=False)
class Recorded:
    """Trials by recipe, seed and rung. NaN stands where a trial was not recorded, or did not come so far."""

    space: Space
    base: Recipe
    goals: tuple[str, ...]
    hashes: tuple[str, ...]
    """Of the recipes."""
    chosen: tuple[Mapping[str, Value], ...]
    """The domains' values of each recipe; a domain that is not asked for is not there."""
    seeds: tuple[int, ...]
    rungs: tuple[float, ...]
    """The step of each rung; the last one is the end of a training."""
    seconds: np.ndarray  # (recipes, seeds, rungs), of training, from its start
    scoring: np.ndarray  # (recipes, seeds, rungs), seconds of all scoring so far
    tokens: np.ndarray  # (recipes, seeds, rungs)
    development: np.ndarray  # (recipes, seeds, rungs, goals), in percent
    test: np.ndarray  # (recipes, seeds, rungs, goals), in percent

    def of_goals(self, goals: Sequence[str]) -> Recorded:
        """The same with these goals only, in this order. `UserError` for one that was not recorded."""
        for goal in goals:
            if goal not in self.goals:
                raise UserError(f"the goal {goal!r} was not recorded; {choices(self.goals)} would work")
        places = [self.goals.index(goal) for goal in goals]
        return dataclasses.replace(
            self, goals=tuple(goals), development=self.development[..., places], test=self.test[..., places]
        )

    @functools.cached_property
    def place(self) -> dict[str, int]:
        """By hash, the number of the recipe."""
        return {name: number for number, name in enumerate(self.hashes)}

    @functools.cached_property
    def recipes(self) -> tuple[Recipe, ...]:
        """The whole recipes."""
        return tuple(self.base.override(values) for values in self.chosen)

    def nearest(self, chosen: Mapping[str, Value]) -> int:
        """The number of the recipe that is nearest to what a search chose: as many equal choices as can be, then the
        least distance between numbers, each on its domain's own scale."""
        distance = np.zeros(len(self.hashes))
        for domain, scale in self._scales:
            distance += scale.distance(scaled(domain, chosen.get(domain.key)))
        return int(np.argmin(distance))

    @functools.cached_property
    def _scales(self) -> tuple[tuple[Domain, _Scale], ...]:
        return tuple(
            (domain, _Scale.of(domain, [values.get(domain.key) for values in self.chosen]))
            for domain in self.space.domains
        )


@dataclass(frozen=True, eq=False)
class _Scale:
    """A domain's values of all recipes, and how far each is from another value."""

    column: np.ndarray  # (recipes,), as `scaled`; far beyond all others where the domain is not asked for
    unasked: np.ndarray  # (recipes,), the distances from no value
    by_choice: tuple[np.ndarray, ...]  # (choices) of (recipes,), the distances from each

    @classmethod
    def of(cls, domain: Domain, values: Sequence[Value]) -> _Scale:
        column = np.array([scaled(domain, value) for value in values])
        asked = ~np.isnan(column)
        by_choice = tuple(np.where(column == number, 0.0, APART) for number in range(len(domain.choices)))
        return cls(np.where(asked, column, 2 * APART), np.where(asked, APART, 0.0), by_choice)

    def distance(self, wanted: float) -> np.ndarray:  # (recipes,)
        if math.isnan(wanted):
            return self.unasked
        if self.by_choice:
            return self.by_choice[int(wanted)]
        return np.minimum(np.abs(self.column - wanted), APART)


@dataclass(frozen=True)
class _Made:
    """What a packed benchmark says of itself."""

    space: str
    scale: Scale
    goals: list[str]
    rung_steps: list[float]


def _check_rows(rows: pd.DataFrame, made: _Made) -> None:
    """`ValueError` where the rows are not those of trials at these rungs: a column is missing or holds no numbers, a
    rung is none of them, or one stands there twice."""
    goals = [f"{part}_{goal}" for part in ("dev", "test") for goal in made.goals]
    for name in ("recipe", "seed", "rung", "seconds", "scoring_seconds", "tokens", *goals):
        if name not in rows:
            raise ValueError(f"it has no column {name!a}")
        if name != "recipe" and rows[name].dtype.kind not in "iuf":
            raise ValueError(f"its column {name!a} holds no numbers")
    if not len(rows) or not made.goals or not made.rung_steps:
        raise ValueError("it holds no trials, goals or rungs")
    for name, most in (("seed", LARGEST), ("rung", len(made.rung_steps))):
        if not (rows[name].between(name == "rung", most) & (rows[name] % 1 == 0)).all():
            raise ValueError(f"its column {name!a} holds what is no {name}")
    if rows.duplicated(["recipe", "seed", "rung"]).any():
        raise ValueError("it holds a rung of a trial twice")


def read_record(path: Path) -> Recorded:
    """A packed benchmark (`python -m benchmarks record`). `UserError` for a file that is none."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if not path.is_file():
            raise ValueError("it is no file")
        table = pq.ParquetFile(path).read()
        made = read_fields(_Made, parse_json((table.schema.metadata or {})[b"record"]))
        rows: pd.DataFrame = table.to_pandas()
        _check_rows(rows, made)
        space = registered(made.space)
    except (OSError, MemoryError, pa.ArrowException, KeyError, TypeError, ValueError, UserError) as error:
        raise UserError(
            f"{path} is no recorded benchmark ({unforeseen(error)}); python -m benchmarks record makes one, from a "
            "checkout"
        ) from None
    for domain in space.domains:
        if domain.key not in rows:
            raise UserError(
                f"{path} was made for another space than {space.name!r} is now: it has no column for {domain.key!r}"
            )
    base = space.recipe(made.scale)
    goals = tuple(made.goals)
    first = rows.drop_duplicates("recipe").set_index("recipe")
    chosen = tuple(
        {
            domain.key: _plain(domain, value)
            for domain, value in zip(space.domains, values, strict=True)
            if value is not None and value == value
        }
        for values in first[[domain.key for domain in space.domains]].itertuples(index=False, name=None)
    )
    seeds = tuple(sorted(int(seed) for seed in rows["seed"].unique()))
    rungs = tuple(float(step) for step in made.rung_steps)
    shape = len(first), len(seeds), len(rungs)
    place = (
        first.index.get_indexer(pd.Index(rows["recipe"])),
        np.searchsorted(seeds, rows["seed"]),
        rows["rung"].to_numpy() - 1,
    )

    def filled(*columns: str) -> np.ndarray:
        array = np.full((*shape, len(columns)), np.nan)
        array[place] = rows[list(columns)].to_numpy(dtype=float)
        return array

    return Recorded(
        space,
        base,
        goals,
        tuple(first.index),
        chosen,
        seeds,
        rungs,
        filled("seconds")[..., 0],
        filled("scoring_seconds")[..., 0],
        filled("tokens")[..., 0],
        filled(*(f"dev_{goal}" for goal in goals)),
        filled(*(f"test_{goal}" for goal in goals)),
    )


def _plain(domain: Domain, value: Value) -> Value:
    """As the grid has it: pandas keeps whole numbers with gaps among them as floats."""
    return next((known for known in domain.grid_values if known == value), value)


def rung_numbers(recorded: Recorded, given: str | None) -> tuple[int, ...] | None:
    """The numbers of the rungs at the steps that a command line names, from 0; None, for all, where it names none."""
    if given is None:
        return None
    known = {f"{step:g}": place for place, step in enumerate(recorded.rungs[:-1])}
    steps = [step.strip() for step in given.split(",")]
    for step in steps:
        if step not in known:
            there = f"it was scored at steps {', '.join(known)}" if known else "it was scored at its end only"
            raise UserError(f"--rungs {given}: the record has no rung at step {step}; {there}")
    return tuple(sorted({known[step] for step in steps}))
