"""Records of trainings on real data as arrays, and statistics of looks: cheap scores after part of the training.

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
"""Shares at which a recipe is scored: of the data, each with a whole schedule; and of the steps on all data."""
WHOLE = SHARES.index(1.0)
SMALLEST_GAIN = 2.0
"""Points of score. If the best recipe gains less than this over the base, regrets are in units of this number."""
REST, OF_STEPS = 0.15, 0.4
"""Shares of a training's time. REST: the share of start and scoring in a whole training with the base; every training
takes this time. OF_STEPS: share of the remaining time that grows with the steps; the rest grows with the passes over
the data. Measured at two layers on 1,200 to 3,000 rows, where batches of 16 instead of 64 take twice as long."""
MINED = ("corpus.negatives_from", "objective.negatives", "corpus.mined_skip", "corpus.mined_margin")
"""Keys that belong to the layout of mined negatives."""


@dataclass(frozen=True, eq=False)
class OwnTable:
    """The trainings on one set. Values that were not recorded, or failed, are NaN."""

    name: str
    kind: str
    recipes: tuple[int, ...]
    """Numbers of the recipes, ascending, that were trained at least on all of the data under the first seed."""
    keys: tuple[Mapping[str, Value], ...]
    """Each recipe's changes to the space's base."""
    dev: np.ndarray  # (recipes, shares, seeds), percent, higher is better
    test: np.ndarray  # (recipes, shares, seeds)
    seconds: np.ndarray  # (recipes, shares, seeds), processor time with scoring
    steps: np.ndarray  # (recipes, shares, seeds)
    rungs: np.ndarray  # (recipes, rungs, seeds), development scores
    as_it_came: tuple[float, float]
    """Development and test score of the original encoder."""
    record: str = ""
    """Name of the packed record that contains the set. All sets of a record have the same encoder."""

    @functools.cached_property
    def truth(self) -> np.ndarray:  # (recipes,)
        """The mean test score of each recipe over its seeds; the original encoder's score if a recipe failed."""
        return np.where(np.isnan(self._mean(self.test)), self.as_it_came[1], self._mean(self.test))

    @functools.cached_property
    def chosen_by(self) -> np.ndarray:  # (recipes,)
        """The mean development score over seeds of each recipe on all of the data; -inf if the recipe failed."""
        return _worst_last(self._mean(self.dev))

    @property
    def base(self) -> int:
        """The position of the base settings among the recipes."""
        return self.recipes.index(BASE)

    @functools.cached_property
    def looks(self) -> Mapping[str, np.ndarray]:
        """Development scores (recipes,) by name of a look, under the first seed: -inf if failed, NaN if unrecorded."""
        whole = self.seconds[:, WHOLE, 0]
        parts = {f"{share:g} of the data": (self.dev[:, at], self.seconds[:, at, 0]) for at, share in enumerate(SHARES)}
        rungs = {f"{share:g} of the steps": (self.rungs[:, at], whole) for at, share in enumerate(RUNGS)}
        return {
            name: np.where(np.isnan(recorded), np.nan, _worst_last(look[:, 0]))
            for name, (look, recorded) in {**parts, **rungs}.items()
        }

    @functools.cached_property
    def costs(self) -> np.ndarray:  # (recipes, shares)
        """Training time of each recipe on each share of the data, in whole trainings with the base. Recorded seconds
        are from several machines, so times are computed from constants measured on two cores, `REST` and `OF_STEPS`."""
        shares = np.array(SHARES)
        passes = np.array([float(str(keys.get(EPOCHS, PINNED[EPOCHS]))) for keys in self.keys])[:, None] * shares
        steps = np.where(np.isnan(self.steps[:, :, 0]), self.steps[:, [WHOLE], 0] * shares, self.steps[:, :, 0])
        training = (1 - OF_STEPS) * passes + OF_STEPS * steps / steps[self.base, WHOLE]
        return np.asarray(REST + (1 - REST) * training)

    @property
    def scale(self) -> float:
        """Points of score that make a regret of 1: the best recipe's gain over the base, at least `SMALLEST_GAIN`."""
        return max(float(self.truth.max() - self.truth[self.base]), SMALLEST_GAIN)

    def _mean(self, scores: np.ndarray) -> np.ndarray:
        whole = scores[:, WHOLE]
        recorded = ~np.isnan(whole)
        total = np.where(recorded, whole, 0.0).sum(axis=1)
        return np.where(recorded[:, 0], total / np.maximum(recorded.sum(axis=1), 1), np.nan)


def _worst_last(scores: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(scores), -np.inf, scores)


def load(record: str = "minilm-2") -> dict[str, OwnTable]:
    """Return the sets of a packed record by name, without sets whose base was not trained."""
    import pandas as pd

    rows = pd.read_parquet(RECORDS / f"{record}.parquet")
    begun = rows[(rows["recipe"] == BASE) & (rows["share"] == 1)]["set"].unique()
    return {str(name): table_of(rows[rows["set"] == name], record) for name in begun}


def table_of(rows: pd.DataFrame, record: str = "") -> OwnTable:
    """Return the table of one set's rows."""
    first = rows.iloc[0]
    untrained = rows[rows["recipe"] == AS_IT_CAME].iloc[0]
    whole = rows[(rows["share"] == 1) & (rows["seed"] == 1) & (rows["recipe"] != AS_IT_CAME)]
    recipes = tuple(sorted(int(number) for number in whole["recipe"]))
    shape = len(recipes), len(SHARES), int(rows["seed"].max())
    dev, test, seconds, steps = (np.full(shape, np.nan) for _ in range(4))
    rungs = np.full((shape[0], len(RUNGS), shape[2]), np.nan)
    for row in rows[rows["recipe"].isin(recipes)].to_dict("records"):
        cell = recipes.index(row["recipe"]), SHARES.index(row["share"]), row["seed"] - 1
        dev[cell], test[cell] = row["dev"], row["test"]
        seconds[cell], steps[cell] = row["seconds"], row["steps"]
        if row["share"] == 1:
            rungs[cell[0], :, cell[2]] = [row[f"rung_{number}"] for number in range(1, len(RUNGS) + 1)]
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
    """Return Spearman's correlation of the scores at a look with the test scores. Ties get the mean rank."""
    from scipy.stats import spearmanr

    lowest = np.where(np.isinf(look), np.min(look[np.isfinite(look)], initial=0.0) - 1, look)
    return float(spearmanr(lowest, truth).statistic)


def top_regret(look: np.ndarray, truth: np.ndarray, share: float) -> float:  # (recipes,) each
    """Return by how many points the best test score of all recipes exceeds the best among the top share at a look."""
    kept = np.argsort(-look, kind="stable")[: max(1, round(len(look) * share))]
    return float(truth.max() - truth[kept].max())


def effects(table: OwnTable) -> dict[tuple[str, Value], list[float]]:
    """Return, by key and value, the gains in test score of that value over the base's value, one for each pair of
    recipes that differ only in that key."""
    by_keys = {frozenset(keys.items()): number for number, keys in enumerate(table.keys)}
    gains: dict[tuple[str, Value], list[float]] = {}
    for number, keys in enumerate(table.keys):
        for key, value in keys.items():
            without = {key} | ({*MINED} if key == LAYOUT else set())
            other = by_keys.get(frozenset(item for item in keys.items() if item[0] not in without))
            if other is not None:
                gains.setdefault((key, value), []).append(float(table.truth[number] - table.truth[other]))
    return gains


def seed_deviation(table: OwnTable) -> float:
    """Return the pooled standard deviation of test scores on all data over seeds; NaN without a second seed."""
    pairs = table.test[:, WHOLE, :2]
    if pairs.shape[1] < 2:
        return float("nan")
    moves = pairs[:, 0] - pairs[:, 1]
    moves = moves[~np.isnan(moves)]
    return float(np.sqrt(np.mean(moves**2) / 2)) if len(moves) else float("nan")
