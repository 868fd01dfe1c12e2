"""What early stopping could have cost, from the scores at the rungs and the ends of the trials that ran through.

Those that ran through are the best of each rung, so a correlation among them alone is too low. But who goes on is
decided by scores that are known for the stopped trials too, and such a choice does not move a regression on these very
scores. So each rung is regressed on the one before, over all trials that reached it; a stopped trial's end is then
drawn rung by rung, with the uncertainty of the regressions and their scatter. No trials need to run on as a control
group, which with one in sixteen would make a search by halves a quarter dearer. What is taken for granted: the same
straight line holds below the cut, the scatter is normal, and the last scores of a trial say all that earlier ones say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from reports.statistics.order import tau_interval
from reports.statistics.sample import Array

DRAWS, ORDERS = 2000, 200
"""So many draws of all ends; of so many the order is taken."""
SPARE = 3
"""So many trials more than it has coefficients a regression needs, or there is no saying."""
SLOPES, EARLIER = 0.5, 4
"""What is known before a regression has seen a trial: its slope is 1, give or take one half, and its scatter is that of
the rung before, which counts as so many trials. It matters where few trials came so far."""


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau-b of a rung's scores with the ends."""

    through: int
    """How many trials reached the rung and ran through."""
    tau: float | None
    """Of these alone, with its interval at 95 %; too low where trials were stopped by these scores."""
    low: float | None
    high: float | None
    all_tau: float | None
    """Of all that reached the rung, had nobody been stopped: the middle of the draws, and 95 % of them."""
    all_low: float | None
    all_high: float | None


@dataclass(frozen=True)
class Cost:
    """What a goal lost by stopping."""

    chance: float
    """Of one of the stopped trials ending above the best one that ran through."""
    expected: float
    """By how much, in points, on average; it counts 0 where none does."""
    most: float
    """By no more than that, in 95 % of the draws."""


@dataclass(frozen=True)
class Audit:
    """Of one goal."""

    rungs: tuple[Agreement, ...]
    cost: Cost | None
    """None where too few trials ran through to say."""


def audit(values: Array, ends: Array, best: Sequence[float], seed: int = 0, draws: int = DRAWS) -> list[Audit]:
    """An `Audit` of each goal.

    `values` (trials, rungs, goals): scores at the rungs, NaN from where a trial was stopped; `ends` (trials, goals):
    NaN of the stopped ones; `best`: of each goal the best end of the study, rows included. A rung that a trial jumped
    over, as it lay at the same step as the next, has that one's scores.
    """
    through = ~np.isnan(ends).any(axis=1)
    courses = _filled(np.concatenate([values, ends[:, None, :]], axis=1))
    drawn = _drawn_ends(courses, np.random.default_rng(seed), draws)
    audits = []
    for goal, ceiling in enumerate(best):
        agreements = [_agreement(courses, through, drawn, rung, goal) for rung in range(values.shape[1])]
        cost = None
        if drawn is not None:
            highest = drawn[:, ~through, goal].max(axis=1, initial=-np.inf)
            gains = np.maximum(highest - ceiling, 0.0)
            cost = Cost(float((gains > 0).mean()), float(gains.mean()), float(np.quantile(gains, 0.95)))
        audits.append(Audit(tuple(agreements), cost))
    return audits


def _filled(courses: Array) -> Array:
    """A rung that was jumped over has the next one's scores."""
    filled = courses.copy()
    for rung in range(filled.shape[1] - 2, -1, -1):
        missing = np.isnan(filled[:, rung])
        filled[:, rung][missing] = filled[:, rung + 1][missing]
    return filled


def _drawn_ends(courses: Array, random: np.random.Generator, draws: int) -> Array | None:
    """(draws, trials, goals); None where a regression has too few trials."""
    trials, columns, goals = courses.shape
    state = np.repeat(courses[None, :, 0], draws, axis=0)
    scatters: list[float | None] = [None] * goals  # of the regression before
    for column in range(1, columns):
        there = ~np.isnan(courses[:, column]).any(axis=1)
        if there.sum() < goals + 1 + SPARE:
            return None
        before, after = courses[there, column - 1], courses[there, column]
        centre, sizes = before.mean(axis=0), np.maximum(before.std(axis=0), 1e-9)
        given = np.concatenate([np.ones((draws, trials, 1)), state - centre], axis=2)
        following = np.empty_like(state)
        for goal in range(goals):
            design = np.column_stack([np.ones(len(before)), before - centre])
            reach = SLOPES * sizes[goal] / sizes
            weights, scatter = _posterior(design, after[:, goal], goal, reach, scatters[goal], random, draws)
            noise = scatter[:, None] * random.standard_normal((draws, trials))
            following[:, :, goal] = np.einsum("dtc,dc->dt", given, weights) + noise
            scatters[goal] = float(np.median(scatter))
        following[:, there] = courses[there, column]
        state = following
    return state


def _posterior(
    design: Array,
    outcome: Array,
    goal: int,
    reach: Array,
    earlier: float | None,
    random: np.random.Generator,
    draws: int,
) -> tuple[Array, Array]:
    """Draws of a regression's coefficients (draws, coefficients) and of its scatter (draws,).

    The column of ones comes first, then one of each goal. What is known before: a trial keeps its distance to the
    others, give or take `reach` (goals,) of it; and the scatter is about the `earlier` one.
    """
    spare = len(outcome) - design.shape[1]
    plain = np.linalg.lstsq(design, outcome, rcond=None)[0]
    rest = float(np.square(outcome - design @ plain).sum())
    known, freedom = (0.0, spare) if earlier is None else (EARLIER * earlier**2, spare + EARLIER)
    weight = np.sqrt((rest + known) / freedom) / reach
    expected = np.eye(design.shape[1] - 1)[goal]
    design = np.vstack([design, np.column_stack([np.zeros(len(reach)), np.diag(weight)])])
    outcome = np.concatenate([outcome, weight * expected])
    inverse = np.linalg.pinv(design.T @ design)
    fit = inverse @ design.T @ outcome
    scatter = np.sqrt((rest + known) / random.chisquare(freedom, draws))
    vectors, sizes, _ = np.linalg.svd(inverse)
    weights = fit + scatter[:, None] * (random.standard_normal((draws, len(fit))) @ (vectors * np.sqrt(sizes)).T)
    return weights, scatter


def _agreement(courses: Array, through: Array, drawn: Array | None, rung: int, goal: int) -> Agreement:
    reached = ~np.isnan(courses[:, rung]).any(axis=1)
    scores, ends = courses[:, rung, goal], courses[:, -1, goal]
    both = reached & through
    [tau] = _taus(scores[both], ends[None, both])
    low, high = (None, None) if tau is None else tau_interval(tau, int(both.sum()))
    found = [] if drawn is None else _taus(scores[reached], drawn[:ORDERS, reached, goal])
    known = [each for each in found if each is not None]
    if not known:
        return Agreement(int(both.sum()), tau, low, high, None, None, None)
    middle, least, most = np.quantile(known, [0.5, 0.025, 0.975])
    return Agreement(int(both.sum()), tau, low, high, float(middle), float(least), float(most))


def _taus(scores: Array, ends: Array) -> list[float | None]:  # (trials,), (draws, trials)
    """Kendall's tau-b of the scores with each draw; None where one of the two is the same for all trials."""
    upper = np.triu_indices(len(scores), 1)
    ours = np.sign(scores[upper[0]] - scores[upper[1]])
    taus: list[float | None] = []
    for draw in ends:
        theirs = np.sign(draw[upper[0]] - draw[upper[1]])
        pairs = np.sqrt(float(ours @ ours) * float(theirs @ theirs))
        taus.append(float(ours @ theirs) / float(pairs) if pairs else None)
    return taus
