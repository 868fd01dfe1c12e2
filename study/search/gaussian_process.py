"""A search by a Gaussian process over recipes, for tens of recipes each of which is dear. An Optuna sampler.

Every finished recipe is a point: numbers on their domain's scale, choices without an order, and keys that do not apply
as such. The scores are noisy, since another seed gives another one, and how noisy, and how far each key's influence
reaches, is fitted before each choice. What is asked for next has the largest expected improvement over the best mean
found, among random recipes and changes of the best ones. No recipe of a finite space is asked for twice while others
are left.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState
from scipy.linalg import cho_solve, solve_triangular
from scipy.optimize import minimize
from scipy.special import log_ndtr

from search_spaces.domain_values import portable, scaled
from search_spaces.space import Domain
from study.search.distributions import drawn
from study.search.points import applying
from trainables.recipe import Value

FIRST = 8
"""Recipes that must be finished before the process chooses; those before are drawn far from each other."""
RANDOM, BEST, AROUND = 1000, 5, 8
"""Recipes to choose among: random ones, and how many of the best found are changed in each key; of a range so often."""
NEAR = 0.05
"""The spread of changes that stay near, in parts of a range."""
REACH, SPREAD = 0.5, 1.0
"""What is believed of a key's length scale before any score: its median, times the root of how many keys there are, and
the spread of its logarithm."""
NOISE = 0.1
"""What is believed of the noise's share of the variance."""
NOISES = (-9.0, 1.0)
"""Between which its logarithm lies."""
TAIL = 0.3
"""Of scores far below the middle, how far they still count."""
STEPS = 30
"""Of the fit, at most."""


class GaussianProcessSampler(BaseSampler):
    """`bind` says what it searches; until then it knows no recipe."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.chosen: Mapping[str, Value] = {}

    def bind(self, domains: Sequence[Domain], flat: Mapping[str, Value]) -> None:
        """The domains, each after those that decide whether it is asked for, and the flat base recipe."""
        self.domains, self.flat = domains, flat
        deciding = frozenset().union(*(domain.decided_by for domain in domains))
        self.deciders = [place for place, domain in enumerate(domains) if domain.key in deciding]
        self.unasked: dict[bytes, np.ndarray] = {}
        """By the deciders' values, which domains do not apply."""

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return {}

    def sample_relative(self, study: Study, trial: FrozenTrial, search_space: Mapping[str, Any]) -> dict[str, Any]:
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        place = next(place for place, domain in enumerate(self.domains) if domain.key == param_name)
        value = self.chosen.get(param_name, self._value(place, self._column(place, 1)[0]))
        return portable(self.domains[place], value)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        others = [one for one in study.get_trials(deepcopy=False) if one.number != trial.number and one.params]
        points, values = self._points(others), _values(study, others, self.chance)
        known, running = ~np.isnan(values), np.array([one.state == TrialState.RUNNING for one in others], dtype=bool)
        if known.sum() < FIRST:
            point = self._far_from(points)
        else:
            point = self._improving(points[known], values[known], points[running], points)
        self.chosen = {
            domain.key: self._value(place, point[place])
            for place, domain in enumerate(self.domains)
            if not np.isnan(point[place])
        }

    def _points(self, trials: Sequence[FrozenTrial]) -> np.ndarray:  # (trials, domains)
        asked = [applying(self.domains, drawn(self.domains, one.params), self.flat) for one in trials]
        points = np.array([[scaled(domain, one.get(domain.key)) for domain in self.domains] for one in asked])
        return points.reshape(len(trials), len(self.domains))

    def _far_from(self, points: np.ndarray) -> np.ndarray:
        """Numbers lie on a ring here, or what is farthest would be the corners, where many a recipe is ruined."""
        candidates = self._applying(self._random(200))
        away = np.sqrt(self._apart(candidates, points))
        numbers = [place for place, domain in enumerate(self.domains) if not domain.choices]
        away[:, :, numbers] = 2 * np.minimum(away[:, :, numbers], 1 - away[:, :, numbers])
        return np.asarray(candidates[np.argmax((away**2).sum(axis=2).min(axis=1, initial=math.inf))])

    def _improving(self, x: np.ndarray, y: np.ndarray, running: np.ndarray, asked: np.ndarray) -> np.ndarray:
        process = _Process(self._apart(x, x), y)
        means = process.mean(self._apart(x, x))
        candidates = self._candidates(means, x, asked)
        best = means.max()
        if len(running):  # each is believed to score as the process says
            believed = process.mean(self._apart(running, x))
            best, x = max(best, believed.max()), np.vstack([x, running])
            process = process.with_points(self._apart(x, x), believed)
        return np.asarray(candidates[np.argmax(process.improvement(self._apart(candidates, x), best))])

    def _candidates(self, means: np.ndarray, x: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Random points, and changes of those of the best means; none that was asked for, while there are others."""
        found = self._applying(np.vstack([self._random(RANDOM), *self._changed(x[np.argsort(-means)[:BEST]])]))
        tried = set(_names(asked))
        new = [place for place, name in enumerate(_names(found)) if name not in tried]
        return np.asarray(found[new or slice(None)])

    # --- points: numbers from 0 to 1 on the domain's scale, numbers of choices, NaN where a domain is not asked for

    def _random(self, number: int) -> np.ndarray:
        return np.column_stack([self._column(place, number) for place in range(len(self.domains))])

    def _column(self, place: int, number: int) -> np.ndarray:
        domain, u = self.domains[place], self.chance.random(number)
        if domain.choices:
            return np.floor(u * len(domain.choices))
        if not (isinstance(domain.low, int) and isinstance(domain.high, int)):
            return u
        if domain.log:
            return np.array([scaled(domain, self._value(place, one)) for one in u])
        steps = domain.high - domain.low
        return np.floor(u * (steps + 1)) / steps

    def _value(self, place: int, point: float) -> Value:
        domain = self.domains[place]
        if domain.choices:
            return domain.choices[int(point)]
        assert domain.low is not None
        assert domain.high is not None
        low, high = (math.log(end) if domain.log else float(end) for end in (domain.low, domain.high))
        here = low + point * (high - low)
        here = math.exp(here) if domain.log else here
        value = round(here) if isinstance(domain.low, int) and isinstance(domain.high, int) else here
        return min(max(value, domain.low), domain.high)

    def _changed(self, best: np.ndarray) -> list[np.ndarray]:
        """These points, each with one domain changed, and mixtures of them with random ones."""
        found = []
        for point in best:
            whole = np.where(np.isnan(point), self._random(1)[0], point)
            for place, domain in enumerate(self.domains):
                values = np.arange(len(domain.choices)) if domain.choices else self._column(place, AROUND)
                changed = np.repeat(whole[None], len(values), axis=0)
                if not domain.choices and not isinstance(domain.low, int):  # every second one is near
                    values[::2] = (whole[place] + NEAR * self.chance.standard_normal(len(values[::2]))).clip(0, 1)
                changed[:, place] = values
                found.append(changed)
        top = best[self.chance.integers(len(best), size=RANDOM // 2)]
        kept = (self.chance.random(top.shape) < 1 - 2 / len(self.domains)) & ~np.isnan(top)
        return [*found, np.where(kept, top, self._random(len(top)))]

    def _applying(self, points: np.ndarray) -> np.ndarray:
        """The same with NaN for what does not apply."""
        for name in np.unique(points[:, self.deciders], axis=0) if self.deciders else ():
            rows = (points[:, self.deciders] == name).all(axis=1)
            if name.tobytes() not in self.unasked:
                one = {
                    domain.key: self._value(place, points[rows][0, place]) for place, domain in enumerate(self.domains)
                }
                there = applying(self.domains, one, self.flat)
                self.unasked[name.tobytes()] = np.array([domain.key not in there for domain in self.domains])
            points[np.ix_(rows, self.unasked[name.tobytes()])] = np.nan
        return points

    def _apart(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:  # (points, keys) twice -> (one, other, keys)
        """Squared distances: 1 between choices, and a number lies apart from none as from another choice."""
        found = np.empty((len(one), len(other), one.shape[1]))
        for place, domain in enumerate(self.domains):
            a, b = one[:, place, None], other[None, :, place]
            if domain.choices:
                found[:, :, place] = np.nan_to_num(a, nan=-1) != np.nan_to_num(b, nan=-1)
                continue
            none_a, none_b = np.isnan(a), np.isnan(b)
            a, b = np.where(none_a, 0.5, a), np.where(none_b, 0.5, b)
            found[:, :, place] = (a - b) ** 2 + np.where(none_a != none_b, 0.25, 0.0)
        return found


class _Process:
    """Fitted to scores `y` of points that lie this far apart; scores are standardised."""

    def __init__(self, apart: np.ndarray, y: np.ndarray, fitted: np.ndarray | None = None) -> None:
        if fitted is None:
            y = _tamed(y)
            y = (y - y.mean()) / (y.std() or 1.0)
            fitted = _fitted(apart, y)
        self.y, self.fitted, keys = y, fitted, apart.shape[2]
        self.weights, self.variance = np.exp(-2 * fitted[:keys]), math.exp(fitted[keys])
        covariance = self._covariance(apart) + (math.exp(fitted[keys + 1]) + 1e-6) * np.eye(len(y))
        self.root = np.linalg.cholesky(covariance)
        self.solved = cho_solve((self.root, True), y)

    def with_points(self, apart: np.ndarray, believed: np.ndarray) -> _Process:
        """With further points at the end, and what they are believed to score; nothing is fitted anew."""
        return _Process(apart, np.append(self.y, believed), self.fitted)

    def mean(self, apart: np.ndarray) -> np.ndarray:
        """Of points that lie this far from the known ones."""
        return np.asarray(self._covariance(apart) @ self.solved)

    def improvement(self, apart: np.ndarray, best: float) -> np.ndarray:
        """The logarithm of the expected improvement over `best`, but for a constant."""
        covariance = self._covariance(apart)
        known = solve_triangular(self.root, covariance.T, lower=True)
        spread = np.sqrt(np.maximum(self.variance - (known**2).sum(axis=0), 1e-12))
        z = (covariance @ self.solved - best) / spread
        # E[max(z + N, 0)] = pdf(z) + z cdf(z) = pdf(z) (1 + z m), where m = cdf(z) / pdf(z)
        log_pdf = -0.5 * z * z - 0.5 * math.log(2 * math.pi)
        gain = np.maximum(1 + z * np.exp(log_ndtr(z) - log_pdf), 1 / (3 + z * z))  # rounding apart
        return np.asarray(np.log(spread) + log_pdf + np.log(gain))

    def _covariance(self, apart: np.ndarray) -> np.ndarray:
        return self.variance * _matern(apart @ self.weights)[0]


def _tamed(y: np.ndarray) -> np.ndarray:
    """Scores far below the middle drawn near: how bad a bad recipe is says nothing of the good ones."""
    middle = np.median(y)
    above = max(float(np.quantile(y, 0.9) - middle), 1e-12)
    low = middle - 2 * above
    return np.where(y < low, low - TAIL * np.sqrt(np.maximum(low - y, 0.0) * above), y)


def _matern(squares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Matérn's kernel of order 5/2 by squared distances, and its derivative."""
    r = np.sqrt(5 * squares + 1e-12)
    fall = np.exp(-r)
    return (1 + r + r * r / 3) * fall, -5 / 6 * (1 + r) * fall


def _fitted(apart: np.ndarray, y: np.ndarray) -> np.ndarray:  # (points, points, keys) -> (keys + 2,)
    """Logarithms of the length scale of each key, the variance and the noise, where the posterior is largest."""
    points, _, keys = apart.shape
    flat, one = apart.reshape(points * points, keys), np.eye(points)
    middle = np.append(np.full(keys, math.log(REACH * math.sqrt(keys))), [0.0, math.log(NOISE)])
    widths = np.append(np.full(keys, SPREAD), [1.0, 1.5])

    def loss(at: np.ndarray) -> tuple[float, np.ndarray]:
        weights, variance, noise = np.exp(-2 * at[:keys]), np.exp(at[keys]), np.exp(at[keys + 1])
        value, slope = _matern((flat @ weights).reshape(points, points))
        root = np.linalg.cholesky(variance * value + (noise + 1e-6) * one)
        inverse = cho_solve((root, True), one)
        solved = inverse @ y
        rest = 0.5 * (inverse - np.outer(solved, solved))  # the derivative by the covariance
        slopes = (rest * variance * slope).reshape(-1) @ flat * (-2 * weights)
        off = (at - middle) / widths
        found = 0.5 * y @ solved + np.log(np.diag(root)).sum() + 0.5 * (off**2).sum()
        ends = [(rest * variance * value).sum(), noise * np.trace(rest)]
        return float(found), np.append(slopes, ends) + off / widths

    limits = [(-4.0, 5.0)] * keys + [(-4.0, 4.0), NOISES]
    return np.asarray(minimize(loss, middle, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": STEPS}).x)


def _names(points: np.ndarray) -> list[bytes]:
    return [point.tobytes() for point in np.round(np.nan_to_num(points, nan=-1.0), 9)]


def _values(study: Study, trials: Sequence[FrozenTrial], chance: np.random.Generator) -> np.ndarray:  # (trials,)
    """One number of each, the higher the better; NaN where nothing is known of it.

    Several goals are the least of their standardised values under weights of chance (ParEGO, Knowles 2006). What was
    stopped early counts as its last score, at most as the median; what breaks a limit lies below all that do not.
    """
    signs = np.array([1.0 if direction == StudyDirection.MAXIMIZE else -1.0 for direction in study.directions])
    goals = np.full((len(trials), len(signs)), np.nan)
    for place, trial in enumerate(trials):
        if trial.state == TrialState.COMPLETE:
            goals[place] = signs * trial.values
    ends = ~np.isnan(goals).any(axis=1)
    if not ends.any():
        return np.full(len(trials), np.nan)
    found = goals[:, 0]
    if len(signs) > 1:
        spread = goals[ends].std(axis=0)
        parts = (goals - goals[ends].max(axis=0)) / np.where(spread > 0, spread, 1.0)
        weighted = parts * chance.dirichlet(np.ones(len(signs)))
        found = weighted.min(axis=1) + 0.05 * weighted.sum(axis=1)
    least, middle = float(np.min(found[ends])), float(np.median(found[ends]))
    for place, trial in enumerate(trials):
        if trial.state == TrialState.PRUNED:
            last = trial.intermediate_values.get(trial.last_step) if trial.last_step is not None else None
            found[place] = least if last is None else min(signs[0] * last, middle)
    broken = np.array([math.fsum(max(0.0, one) for one in trial.constraints.values()) for trial in trials])
    over = ends & (broken > 0)
    if over.any():
        fine = found[ends & ~over]
        floor, width = (fine.min(), fine.std()) if len(fine) else (0.0, 1.0)
        found[over] = floor - (width or 1.0) * broken[over] / broken[over].max()
    return found
