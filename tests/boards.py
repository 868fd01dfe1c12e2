"""Boards made up for tests of what is written from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from reports.facts.boards import Board, Standing
from reports.facts.guards import Flag
from reports.facts.quantity import Quantity
from reports.statistics.comparison import Comparison
from reports.statistics.sample import Sample

BASE = "base"
STEPS = Flag("steps", "different", frozenset({"hash of flagged"}))


def gain(value: float, half: float | None = 0.5, *, seeds: int = 3) -> Comparison:
    """A difference whose interval reaches half as far to either side; without `half` it has none."""
    low, high = (None, None) if half is None else (value - half, value + half)
    basis: Any = "items only" if seeds == 1 and half is not None else "seeds and items"
    return Comparison(value, low, high, None, None, None, basis, (seeds, seeds), seeds == 1)


def standing(name: str, mean: float, **changes: Any) -> Standing:
    """A row of three seeds, its gain taken from the mean over 60."""
    seeds = changes.pop("seeds", 3)
    half = changes.pop("half", 0.5)
    sample = Sample(np.full(seeds, mean), tuple(range(seeds)))
    fields: dict[str, Any] = {
        "gain": None if name == BASE else gain(mean - 60, half, seeds=seeds),
        "p_holm": None if seeds == 1 or name == BASE else 0.01,
        "verdict": "baseline" if name == BASE else "undecided: one seed" if seeds == 1 else "undecided",
        "blocked_by": (),
        "flags": (),
        "wins": None,
        "ties": None,
        "losses": None,
        "in_best_set": None if seeds == 1 else False,
        "ranks": None,
    }
    return Standing(f"hash of {name}", name, sample, **{**fields, **changes})


def board(*standings: Standing, name: str = "STS Avg.", **changes: Any) -> Board:
    """Best first, with the baseline among them at 60."""
    base = standing(BASE, 60.0, seeds=standings[0].sample.count if standings and standings[0].sample else 3)
    ordered = sorted([*standings, base], key=lambda item: -(item.sample.mean if item.sample else 0.0))
    quantity = Quantity(name, {("STS12", "spearman_wmean"): 0.5, ("STS13", "spearman_wmean"): 0.5})
    return Board(quantity, **{"baseline": BASE, "standings": tuple(ordered), **changes})
