"""Races over seeds on made-up studies whose truth is known."""

from __future__ import annotations

import math

import numpy as np

from reports.facts.seed_race import run_race as race_of
from reports.statistics.comparison import compare
from reports.statistics.families import holm
from reports.statistics.sample import Sample
from reports.statistics.sequential import WRONG, Entrant, race_for_best, race_p_factor
from reports.statistics.spreads import common_spread

Array = np.ndarray

ROWS, MOST = 6, 10
"""Of a report; and the most seeds of a row."""
NOISES, WILD = ("normal", "heavy tails", "unequal", "together"), "one wild"


def raced(scores: Array, least: int, most: int) -> tuple[int, list[int]]:
    """The winner of a race over (recipes, seeds) scores, and how many seeds each recipe got."""
    entrants = {str(number): Entrant(own[:, None]) for number, own in enumerate(scores)}
    ends = race_for_best(entrants, least, most)  # it looks only at those seeds that a study would have run
    counts = [ends[name].seeds for name in entrants]
    means = [
        -math.inf if ends[name].state == "behind" else own[:count].mean()
        for name, own, count in zip(entrants, scores, counts, strict=True)
    ]
    return int(np.argmax(means)), counts


def noise_of(kind: str, random: np.random.Generator, shape: tuple[int, int]) -> Array:
    """(recipes, seeds) Of about variance 1: `unequal` spreads of recipes, or seeds that move recipes `together`.

    `one wild`: the first recipe has the spread of a real baseline, and the others that of the rows beside it.
    """
    own = random.standard_t(3, shape) / math.sqrt(3) if kind == "heavy tails" else random.standard_normal(shape)
    if kind == "unequal":
        return np.asarray(own * np.exp(random.normal(-0.32, 0.8, (shape[0], 1))))
    if kind == WILD:
        return np.asarray(own * np.where(np.arange(shape[0]) == 0, 2.29, 0.15)[:, None])
    if kind == "together":
        return np.asarray(0.45 * own + 0.9 * random.standard_normal((1, shape[1])))
    return np.asarray(own)


def winner_is_lost(random: np.random.Generator, noise: str, recipes: int) -> bool:
    """Whether another recipe is chosen than the one that is best over all seeds."""
    scores = noise_of(noise, random, (recipes, MOST))
    return raced(scores, 1, MOST)[0] != int(scores.mean(axis=1).argmax())


def false_verdict(random: np.random.Generator, noise: str, agree: float, real: float) -> bool:
    """Whether a report calls any of its rows above or below the baseline (row 0), while on test sets all are alike.

    `agree`: the correlation of a seed's development and test noise. `real`: how far rows differ in development score,
    which makes them stop early.
    """
    test, other = (noise_of(noise, random, (ROWS, MOST)) for _ in range(2))
    development = agree * test + math.sqrt(1 - agree**2) * other + real * np.arange(ROWS)[:, None]
    entrants = {str(row): Entrant(own[:, None]) for row, own in enumerate(development)}
    counts = [course.seeds for course in race_of(entrants, [*entrants], "0", 1, MOST).values()]
    samples = [Sample(own[:count], tuple(range(count))) for own, count in zip(test, counts, strict=True)]
    chances, common = [], common_spread(samples)
    for sample in samples[1:]:
        allowed = max(race_p_factor(count, 1, MOST) for count in (sample.count, samples[0].count))
        chances.append(compare(sample, samples[0], common=common, p_factor=allowed).p)
    return any(p is not None and p < WRONG for p in holm(chances))
