"""The numbers that docs/record.md quotes: scores, noise, rungs and keys of a recorded benchmark.

python -m benchmarks describe_record benchmarks/recorded/frozen_grid-scenes.parquet
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from study.replay.recorded import Recorded

QUANTILES = (0, 5, 25, 50, 75, 95, 100)


def main(arguments: Sequence[str]) -> None:
    """Print tables in markdown."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks describe_record", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("records", nargs="+", type=Path, metavar="FILE", help="a packed record")
    from study.replay.recorded import read_record

    for path in parser.parse_args(arguments).records:
        print(f"### {path.stem}\n\n" + "\n\n".join(describe(read_record(path))) + "\n")


def describe(recorded: Recorded) -> Iterator[str]:
    """Its paragraphs and tables."""
    yield _size(recorded)
    yield "Recipes by their true value, the mean of the test scores at the end over all seeds, in percent:"
    yield _values(recorded)
    yield (
        "Rank correlation (Spearman's, over recipes) of the mean development score at each rung with the one at the "
        "end, and with the true value; and the share of the best tenth at the end that is in the best half at the rung:"
    )
    yield _rungs(recorded)
    yield (
        "Share of the variance of true values between recipes that each key explains alone, among the recipes that ask "
        "for it:"
    )
    yield _keys(recorded)


def _size(recorded: Recorded) -> str:
    there = ~np.isnan(recorded.seconds)
    begun, whole = there[..., 0], there[..., -1]
    seeds, how_many = np.unique(begun.sum(axis=1), return_counts=True)
    spread = ", ".join(f"{many:,} recipes under {count} seeds" for count, many in zip(seeds, how_many, strict=True))
    training, scoring = (np.nanmax(part[begun], axis=1) for part in (recorded.seconds, recorded.scoring))
    steps = ", ".join(f"{step:g}" for step in recorded.rungs)
    return (
        f"{begun.sum():,} trials: {spread}. {(begun & ~whole).sum():,} of them diverged. Scored after steps {steps}. "
        f"Training took {training.sum() / 60:,.1f} processor minutes, {np.median(training):.3f} s a trial (median, "
        f"from {training.min():.3f} to {training.max():.3f} s); scoring {scoring.sum() / 60:,.1f} minutes."
    )


def _values(recorded: Recorded) -> str:
    from reports.markdown import number, table

    rows = []
    for place, goal in enumerate(recorded.goals):
        test, development = recorded.test[:, :, -1, place], recorded.development[:, :, -1, place]
        truth, seen = np.nanmean(test, axis=1), np.nanmean(development, axis=1)
        quantiles = np.nanpercentile(truth, QUANTILES)
        rows.append([goal, *map(number, (*quantiles, _noise(test), _noise(development), _ranked(seen, truth)))])
    head = [
        "goal",
        *(f"{part} %" for part in QUANTILES),
        "spread of seeds, test",
        "development",
        "their rank correlation",
    ]
    return table(head, rows)


def _rungs(recorded: Recorded) -> str:
    from reports.markdown import number, table

    rows = []
    for place, goal in enumerate(recorded.goals):
        seen = np.nanmean(recorded.development[..., place], axis=1)  # (recipes, rungs)
        truth = np.nanmean(recorded.test[:, :, -1, place], axis=1)
        best = seen[:, -1] >= np.nanpercentile(seen[:, -1], 90)
        for rung, step in enumerate(recorded.rungs):
            here = seen[:, rung]
            kept = (here[best] >= np.nanmedian(here)).mean()
            measures = number(_ranked(here, seen[:, -1])), number(_ranked(here, truth)), f"{kept:.0%}"
            rows.append([goal, f"{step:g}", *measures])
    return table(["goal", "step", "with the end", "with the true value", "best tenth in the upper half"], rows, left=1)


def _keys(recorded: Recorded) -> str:
    from reports.markdown import table

    rows = []
    for domain in recorded.space.domains:
        asked = np.array([domain.key in chosen for chosen in recorded.chosen])
        values = np.array([str(chosen.get(domain.key)) for chosen in recorded.chosen])
        shares = []
        for place in range(len(recorded.goals)):
            truth = np.nanmean(recorded.test[:, :, -1, place], axis=1)
            asked_and_known = asked & ~np.isnan(truth)
            shares.append(f"{_explained(truth[asked_and_known], values[asked_and_known]):.1%}")
        rows.append([domain.key, f"{asked.sum():,}", *shares])
    return table(["key", "recipes", *recorded.goals], rows)


def _explained(truth: np.ndarray, values: np.ndarray) -> float:
    """Of the variance, the share between the groups of equal values."""
    means = {value: truth[values == value].mean() for value in np.unique(values)}
    return float(np.var([means[value] for value in values]) / truth.var())


def _noise(scores: np.ndarray) -> float:  # (recipes, seeds)
    """The standard deviation between seeds of a recipe, pooled over recipes."""
    counts = (~np.isnan(scores)).sum(axis=1)
    several = counts > 1
    squares = np.nansum((scores[several] - np.nanmean(scores[several], axis=1, keepdims=True)) ** 2)
    return float(np.sqrt(squares / (counts[several] - 1).sum()))


def _ranked(first: np.ndarray, second: np.ndarray) -> float:
    from scipy.stats import spearmanr

    there = ~np.isnan(first) & ~np.isnan(second)
    return float(spearmanr(first[there], second[there]).statistic)
