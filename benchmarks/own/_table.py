"""Records of trainings on real data as arrays, and what they say of cheap looks at a recipe.

tables = load()                                    # by set's name, of recorded/minilm-2.parquet
tables["packages"].dev[:, WHOLE].mean(axis=-1)     # of each recipe, trained on all of the data
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.own._recipes import AS_IT_CAME, BASE, EPOCHS, LAYOUT, PINNED
from trainables.recipe import Value

if TYPE_CHECKING:
    import pandas as pd

RECORDS = Path(__file__).parent / "recorded"
SHARES = (1 / 8, 1 / 4, 1 / 2, 1.0)
RUNGS = (1 / 8, 1 / 4, 1 / 2)
"""Of the data, each with a whole schedule; and of the steps of a training on all of it."""
WHOLE = SHARES.index(1.0)
SMALLEST_GAIN = 2.0
"""Points: where the best recipe gains less over the base, regrets are in units of this."""
REST, OF_STEPS = 0.15, 0.4
"""Of a whole training with the base, what begins it and scores it, which every training has, however short; and of what
is left, what grows with the steps: the other part grows with the passes over the data. Measured at two layers on 1,200
to 3,000 rows, where batches of 16 instead of 64 take twice as long."""
MINED = ("corpus.negatives_from", "objective.negatives", "corpus.mined_skip", "corpus.mined_margin")
"""Keys that go with the layout of mined negatives."""


@dataclass(frozen=True, eq=False)
class OwnTable:
    """The trainings on one set. What was not recorded, or failed, is NaN."""

    name: str
    kind: str
    recipes: tuple[int, ...]
    """Their numbers, rising; those that were trained on all of the data under the first seed at least."""
    keys: tuple[Mapping[str, Value], ...]
    """Of each what differs from the space's base."""
    dev: np.ndarray  # (recipes, shares, seeds), percent, the higher the better
    test: np.ndarray  # (recipes, shares, seeds)
    seconds: np.ndarray  # (recipes, shares, seeds), of a processor, with scoring
    steps: np.ndarray  # (recipes, shares, seeds)
    rungs: np.ndarray  # (recipes, rungs, seeds), development scores
    as_it_came: tuple[float, float]
    """Development and test score of the encoder without training."""
    record: str = ""
    """The packed record that it is of: all of one have the same encoder."""

    @functools.cached_property
    def truth(self) -> np.ndarray:  # (recipes,)
        """What a recipe is worth: the mean test score over its seeds, and the encoder's own where it failed."""
        return np.where(np.isnan(self._mean(self.test)), self.as_it_came[1], self._mean(self.test))

    @functools.cached_property
    def chosen_by(self) -> np.ndarray:  # (recipes,)
        """The mean development score over its seeds of each recipe on all of the data; -inf where it failed."""
        return _worst_last(self._mean(self.dev))

    @property
    def base(self) -> int:
        """The place of the base."""
        return self.recipes.index(BASE)

    @functools.cached_property
    def looks(self) -> Mapping[str, np.ndarray]:
        """Each way to look at recipes under the first seed, (recipes,): -inf where it failed, NaN where it was not
        recorded."""
        whole = self.seconds[:, WHOLE, 0]
        parts = {f"{share:g} of the data": (self.dev[:, at], self.seconds[:, at, 0]) for at, share in enumerate(SHARES)}
        rungs = {f"{share:g} of the steps": (self.rungs[:, at], whole) for at, share in enumerate(RUNGS)}
        return {
            name: np.where(np.isnan(recorded), np.nan, _worst_last(look[:, 0]))
            for name, (look, recorded) in {**parts, **rungs}.items()
        }

    @functools.cached_property
    def costs(self) -> np.ndarray:  # (recipes, shares)
        """What a training takes, in whole trainings with the base. Recorded seconds are of several machines, so it is
        told by two numbers of two cores, `REST` and `OF_STEPS`."""
        shares = np.array(SHARES)
        passes = np.array([float(str(keys.get(EPOCHS, PINNED[EPOCHS]))) for keys in self.keys])[:, None] * shares
        steps = np.where(np.isnan(self.steps[:, :, 0]), self.steps[:, [WHOLE], 0] * shares, self.steps[:, :, 0])
        training = (1 - OF_STEPS) * passes + OF_STEPS * steps / steps[self.base, WHOLE]
        return np.asarray(REST + (1 - REST) * training)

    @property
    def scale(self) -> float:
        """Points that a regret of 1 stands for: what the best recipe gains over the base."""
        return max(float(self.truth.max() - self.truth[self.base]), SMALLEST_GAIN)

    def _mean(self, scores: np.ndarray) -> np.ndarray:
        whole = scores[:, WHOLE]
        recorded = ~np.isnan(whole)
        total = np.where(recorded, whole, 0.0).sum(axis=1)
        return np.where(recorded[:, 0], total / np.maximum(recorded.sum(axis=1), 1), np.nan)


def _worst_last(scores: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(scores), -np.inf, scores)


def load(record: str = "minilm-2") -> dict[str, OwnTable]:
    """The packed record, by set: those whose base was trained."""
    import pandas as pd

    rows = pd.read_parquet(RECORDS / f"{record}.parquet")
    begun = rows[(rows["recipe"] == BASE) & (rows["share"] == 1)]["set"].unique()
    return {str(name): table_of(rows[rows["set"] == name], record) for name in begun}


def table_of(rows: pd.DataFrame, record: str = "") -> OwnTable:
    """Of the rows of one set."""
    first = rows.iloc[0]
    untrained = rows[rows["recipe"] == AS_IT_CAME].iloc[0]
    whole = rows[(rows["share"] == 1) & (rows["seed"] == 1) & (rows["recipe"] != AS_IT_CAME)]
    recipes = tuple(sorted(int(number) for number in whole["recipe"]))
    shape = len(recipes), len(SHARES), int(rows["seed"].max())
    dev, test, seconds, steps = (np.full(shape, np.nan) for _ in range(4))
    rungs = np.full((shape[0], len(RUNGS), shape[2]), np.nan)
    for row in rows[rows["recipe"].isin(recipes)].to_dict("records"):
        place = recipes.index(row["recipe"]), SHARES.index(row["share"]), row["seed"] - 1
        dev[place], test[place] = row["dev"], row["test"]
        seconds[place], steps[place] = row["seconds"], row["steps"]
        if row["share"] == 1:
            rungs[place[0], :, place[2]] = [row[f"rung_{number}"] for number in range(1, len(RUNGS) + 1)]
    keys = dict(zip(whole["recipe"], whole["keys"].map(json.loads), strict=True))
    return OwnTable(
        str(first["set"]),
        str(first["kind"]),
        recipes,
        tuple(keys[number] for number in recipes),
        dev,
        test,
        seconds,
        steps,
        rungs,
        (float(untrained["dev"]), float(untrained["test"])),
        record,
    )


def rank_correlation(look: np.ndarray, truth: np.ndarray) -> float:  # (recipes,) each
    """Spearman's, with ties in the middle."""
    from scipy.stats import spearmanr

    lowest = np.where(np.isinf(look), np.min(look[np.isfinite(look)], initial=0.0) - 1, look)
    return float(spearmanr(lowest, truth).statistic)


def top_regret(look: np.ndarray, truth: np.ndarray, share: float) -> float:  # (recipes,) each
    """What the best of the top share lacks of the best of all, in points."""
    kept = np.argsort(-look, kind="stable")[: max(1, round(len(look) * share))]
    return float(truth.max() - truth[kept].max())


def effects(table: OwnTable) -> dict[tuple[str, Value], list[float]]:
    """By key and value: what it adds to the test score of recipes that are otherwise the same and have the base's, one
    number for each such pair of recipes."""
    place = {frozenset(keys.items()): number for number, keys in enumerate(table.keys)}
    gains: dict[tuple[str, Value], list[float]] = {}
    for number, keys in enumerate(table.keys):
        for key, value in keys.items():
            without = {key} | ({*MINED} if key == LAYOUT else set())
            other = place.get(frozenset(item for item in keys.items() if item[0] not in without))
            if other is not None:
                gains.setdefault((key, value), []).append(float(table.truth[number] - table.truth[other]))
    return gains


def seed_deviation(table: OwnTable) -> float:
    """Of test scores on all of the data between two seeds of a recipe, pooled; NaN without a second seed."""
    pairs = table.test[:, WHOLE, :2]
    if pairs.shape[1] < 2:
        return float("nan")
    moves = pairs[:, 0] - pairs[:, 1]
    moves = moves[~np.isnan(moves)]
    return float(np.sqrt(np.mean(moves**2) / 2)) if len(moves) else float("nan")
