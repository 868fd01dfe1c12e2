"""Estimates of the scores that recipes would have over very many seeds: for fronts, and for the best of many recipes.

The best of many measured scores is too high, since chance helped to choose it. So each score is estimated from the
scores and spreads of all recipes together.

- Spreads differ between recipes, and two or three seeds estimate a spread badly. Each is shrunk towards the common one
  as far as all spreads together are no more unequal than chance makes them (Smyth's moderated variances). If they are
  more unequal, each keeps its own value.
- Means are shrunk towards the mean of all recipes by the share of noise in their spread (empirical Bayes).
- Goals that were measured under one seed are correlated, and are drawn together.

Only seeds count as chance here; test and development items are taken as given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

Array = np.ndarray

DRAWS = 2000
"""Number of draws: a probability is exact to about one percent."""
STEPS = 60
"""Number of EM steps that estimate the spread of the true scores."""
MIN_RECIPES = 4
"""Smallest number of recipes of several seeds for a common spread; with fewer, each keeps its own spread and mean."""
EQUAL = 1e6
"""Degrees of freedom that the common spread gets if no recipe departs from it."""


@dataclass(frozen=True, eq=False)
class RecipeScores:
    """A recipe's scores: `values` is (seeds, goals). `fixed`: every seed would give the same scores."""

    values: Array
    fixed: bool = False


@dataclass(frozen=True, eq=False)
class TrueScores:
    """Random draws of the recipes' true scores, those over very many seeds; in all goals higher is better.

    `draws`: (draws, recipes, goals). `widths`: (recipes, goals), half the 95 % interval around each measured mean, by
    spread and number of seeds alone.
    """

    draws: Array
    widths: Array

    @cached_property
    def on_front(self) -> Array:
        """(recipes,) Probability that no other recipe dominates the recipe; of one goal, that it is the best."""
        return np.array([1 - self._beaten(index).mean() for index in range(self.draws.shape[1])])

    def _beaten(self, index: int) -> Array:
        gaps = self.draws - self.draws[:, [index]]
        return np.asarray(((gaps >= 0).all(axis=2) & (gaps > 0).any(axis=2)).any(axis=1))

    def interval(self, index: int) -> Array:
        """(3, goals) Median of a recipe's true score, and the ends of its 95 % interval. `index`: the recipe's."""
        return np.asarray(np.quantile(self.draws[:, index], [0.5, 0.025, 0.975], axis=0))


def true_scores(recipes: Sequence[RecipeScores]) -> TrueScores | None:
    """Estimate the true scores; None if a recipe's spread over seeds is unknown. Equal scores give equal draws."""
    from scipy.special import stdtrit

    seeds = np.array([len(recipe.values) for recipe in recipes])
    fixed = np.array([recipe.fixed for recipe in recipes])
    means = np.array([recipe.values.mean(axis=0) for recipe in recipes])
    several = (seeds > 1) & ~fixed
    common = several.sum() >= MIN_RECIPES
    if not (fixed | several).all() and not common:
        return None
    chance = np.random.default_rng(0)
    draws = np.broadcast_to(means, (DRAWS, *means.shape)).copy()
    if fixed.all():
        return TrueScores(draws, np.zeros_like(means))
    variances = np.array([recipe.values.var(axis=0, ddof=1) if more else 0 * mean
                          for recipe, more, mean in zip(recipes, several, means, strict=True)])  # fmt: skip
    freedom = np.where(several, seeds - 1, 0)
    sums, total = _moderated(variances, freedom, several, common)
    alike = _correlation([recipe.values for recipe, more in zip(recipes, several, strict=True) if more])
    trained = np.flatnonzero(~fixed)
    drawn = sums[trained] / chance.chisquare(np.broadcast_to(total[trained], (DRAWS, *total[trained].shape)))
    deviations = np.sqrt(drawn)
    noise = deviations[..., :, None] * deviations[..., None, :] * alike / seeds[trained, None, None]
    typical = np.sqrt(sums / total)[trained]
    usual = typical[..., :, None] * typical[..., None, :] * alike / seeds[trained, None, None]
    own = means[trained]
    draws[:, trained] = _believed(own, noise, usual, chance) if common else own + _normal(noise, chance)
    widths = np.zeros_like(means)
    widths[trained] = stdtrit(total[trained], 0.975) * typical / np.sqrt(seeds[trained])[:, None]
    return TrueScores(draws, widths)


def _moderated(variances: Array, freedom: Array, several: Array, common: bool) -> tuple[Array, Array]:
    """Return (recipes, goals) sums of squares, and their degrees of freedom; both include the common spread's share."""
    sums = freedom[:, None] * variances
    total = np.repeat(freedom[:, None].astype(float), variances.shape[1], axis=1)
    if common:
        for goal in range(variances.shape[1]):
            spread, weight = common_variance(variances[several, goal], freedom[several])
            sums[:, goal] += weight * spread
            total[:, goal] += weight
    return np.maximum(sums, 1e-12), total


def common_variance(variances: Array, freedom: Array) -> tuple[float, float]:
    """Return the common variance and its degrees of freedom, from the mean and the spread of the logarithms (Smyth
    2004). Each variance counts as at least a millionth of the median."""
    from scipy.special import digamma, polygamma

    variances = np.maximum(variances, 1e-6 * max(float(np.median(variances)), 1e-12))
    logs = np.log(variances) - digamma(freedom / 2) + np.log(freedom / 2)
    beyond = float(logs.var(ddof=1) - polygamma(1, freedom / 2).mean())
    if beyond <= 0:
        return float(np.average(variances, weights=freedom)), EQUAL
    weight = min(2 * _inverse_trigamma(beyond), EQUAL)
    return float(np.exp(logs.mean() + digamma(weight / 2) - np.log(weight / 2))), weight


def _inverse_trigamma(value: float) -> float:
    from scipy.optimize import brentq
    from scipy.special import polygamma

    return float(brentq(lambda x: float(polygamma(1, x)) - value, 1e-3, 1e7)) if 1e-7 < value < 1e6 else EQUAL


def _correlation(values: Sequence[Array]) -> Array:
    """(goals, goals) Correlation of the goals under one seed, over all recipes, each in units of its own spread."""
    size = values[0].shape[1] if values else 1
    total = np.zeros((size, size))
    for own in values:
        scaled = (own - own.mean(axis=0)) / np.maximum(own.std(axis=0, ddof=1), 1e-12)
        total += scaled.T @ scaled
    deviations = np.sqrt(np.maximum(np.diag(total), 1e-12))
    correlation = total / np.outer(deviations, deviations)
    correlation = np.clip(correlation, -0.99, 0.99)
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def _believed(means: Array, noise: Array, usual: Array, chance: np.random.Generator) -> Array:
    """(draws, recipes, goals) Means shrunk towards their centre by the share of noise in their spread.

    `noise` (draws, recipes, goals, goals): covariances of the means; `usual` (recipes, goals, goals): typical ones.
    """
    centre, spread = _centre_and_spread(means, usual)
    noise = _likely(noise, spread + noise, means - centre, chance)
    belief = spread @ np.linalg.inv(spread + noise)
    expected = centre + np.einsum("dnij,nj->dni", belief, means - centre)
    return np.asarray(expected + _normal(spread - belief @ spread, chance))


def _likely(noise: Array, whole: Array, gaps: Array, chance: np.random.Generator) -> Array:
    """Draw each recipe's noise again, weighted by how well it explains the distance of the mean from the centre.

    A mean far from the centre comes from a good recipe or from large noise.
    """
    far = np.einsum("ni,dnij,nj->dn", gaps, np.linalg.inv(whole), gaps)
    logs = -(far + np.linalg.slogdet(whole).logabsdet) / 2
    weights = np.cumsum(np.exp(logs - logs.max(axis=0)), axis=0)
    drawn = chance.random(weights.shape) * weights[-1]
    indices = [np.searchsorted(own, draw) for own, draw in zip(weights.T, drawn.T, strict=True)]
    return np.stack([noise[index, recipe] for recipe, index in enumerate(indices)], axis=1)


def _centre_and_spread(means: Array, noise: Array) -> tuple[Array, Array]:
    """Mean and covariance of the true scores, by maximum likelihood (EM); noisy recipes count less.

    The covariance is at least the error of its estimate for equal true scores: else all recipes could count as equal
    for sure.
    """
    spread = np.cov(means, rowvar=False).reshape(noise.shape[1:]) + noise.mean(axis=0)
    for _ in range(STEPS):
        weights = np.linalg.inv(spread + noise)
        centre = np.linalg.solve(weights.sum(axis=0), np.einsum("nij,nj->i", weights, means))
        belief = spread @ weights
        moved = np.einsum("nij,nj->ni", belief, means - centre)
        spread = np.einsum("ni,nj->ij", moved, moved) / len(means) + (spread - belief @ spread).mean(axis=0)
    variances = np.diagonal(noise, axis1=1, axis2=2)
    typical = np.sqrt((variances**-2.0).mean(axis=0) ** -0.5)
    root = np.linalg.cholesky(noise[0] / np.sqrt(np.outer(variances[0], variances[0])) * np.outer(typical, typical))
    unit = np.linalg.inv(root)
    values, vectors = np.linalg.eigh(unit @ spread @ unit.T)
    floored = np.maximum(values, np.sqrt(2 / (len(means) - 1)))
    return centre, root @ (vectors * floored) @ vectors.T @ root.T


def _normal(covariances: Array, chance: np.random.Generator) -> Array:
    """(draws, recipes, goals) Normal draws with these covariances."""
    values, vectors = np.linalg.eigh((covariances + np.swapaxes(covariances, -1, -2)) / 2)
    roots = vectors * np.sqrt(np.maximum(values, 0))[..., None, :]
    return np.asarray(np.einsum("dnij,dnj->dni", roots, chance.standard_normal(covariances.shape[:-1])))
