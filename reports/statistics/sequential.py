"""Which recipes need more seeds: a test that may be looked at after every seed.

All recipes of a race get the same seeds in the same order, so they are compared on the same seeds, and an effect of a
seed on all recipes cancels. The race goes in rounds. In round k all recipes still in the race have k seeds, and only
these seeds count, whatever else has run: the same scores always give the same decisions.

There are two questions.

- *Who is best?* (`race_for_best`) A recipe leaves once it is too far behind to win with the most seeds. The predicted
  number is the difference of two means over the most seeds, k of which are known: its variance is that between seeds
  times (1/k - 1/most), which shrinks to nothing. The bounded error: the recipe that would win if all ran with the most
  seeds leaves the race with a probability of at most LOST (see LOST_AT_WORST, too). The error is shared evenly over
  the rounds, and in a round over the others (Bonferroni). With several goals a recipe leaves once one other recipe is
  ahead in all of them, and the bound holds for each recipe of the front.
- *Is a row above the baseline?* (`race_against`) A row stops once a report's own verdict is sure (`compare`; see
  `race_p_factor`), or once the most seeds are unlikely to bring a verdict. Stopping for the second reason costs some
  power and makes no false verdict.

Assumptions: a recipe's scores under its seeds are exchangeable, and not far from normal. Recipes scatter differently,
and two seeds estimate a spread badly: each spread is shrunk towards the common one, as far as all spreads together
allow (Smyth's moderated variances), with Student's t of the degrees of freedom that this leaves. If seeds move recipes
together (a permutation test, as in `pairing`), the common movement is removed from the spreads; else recipes count as
independent, which is on the safe side. tests/reports/statistics/test_sequential.py simulates the error rates,
including heavy tails, unequal spreads and seeds that move together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from reports.statistics.comparison import compare
from reports.statistics.pairing import SURE, seed_effect_p
from reports.statistics.sample import Array, Sample
from reports.statistics.spreads import common_spread
from reports.statistics.true_scores import MIN_RECIPES, common_variance

LOST = 0.1
"""Highest probability that the race loses the recipe that would win with the most seeds, if spreads are similar."""
LOST_AT_WORST = 0.21
"""The same probability in simulations of a race from one seed on, if one recipe scatters 15 times as widely as the 11
to 39 others: after its first seed it is judged by their spread. From two seeds on it is 9 to 11 %."""
WRONG = 0.05
"""Highest probability that any row is wrongly said to be above or below the baseline."""
HOPELESS = 0.05
"""A row leaves the race if even the most seeds would bring a verdict with less than this probability."""
PILOT = 8
"""Number of the best recipes that run a second seed first, because after one seed the spread over seeds is unknown."""

State = Literal["going", "behind", "on the front", "best", "most", "decided", "undecided", "failed"]
"""`going`: another seed could change the answer. `behind`: too far behind to win. `on the front`: with several goals,
surely beaten by no other recipe. `best`: the only one left. `most`: has the most seeds. `decided`: the verdict is sure.
`undecided`: a row on which even the most seeds would hardly bring a verdict. `failed`: a seed failed or was stopped."""


@dataclass(frozen=True, eq=False)
class Entrant:
    """A recipe in a race. `values`: (seeds, goals) scores, in the order of the seeds, without a gap after the first."""

    values: Array
    fixed: bool = False
    """Whether every seed would give the same scores, so that one seed is enough."""
    failed: bool = False
    """Whether a seed failed or was stopped early, so that the recipe gets no further seeds."""

    def first(self, seeds: int) -> Array:
        """(seeds, goals) Scores of the first `seeds` seeds; for a fixed recipe its one score repeated."""
        return np.repeat(self.values[:1], seeds, axis=0) if self.fixed else self.values[:seeds]


@dataclass(frozen=True)
class Course:
    """A recipe's state in a race."""

    seeds: int
    """Number of seeds that the recipe needs, or, if it has left the race, had by then."""
    state: State
    other: str = ""
    """Name of another recipe: if the state is `behind`, the one that is ahead; if `going`, the closest one."""
    gap: float = 0.0
    """Points by which `other` is ahead after these seeds, in the goal in which it is ahead by least."""
    waits: bool = False
    """Whether the recipe has all seeds of the round and waits, because other recipes lack some."""


def race_p_factor(seeds: int, least: int, most: int) -> float:
    """Return the factor on p-values if a race could have stopped at any number of seeds from `least` to `most`.

    Half of the error level is kept for the most seeds. The other half is shared evenly by the smaller numbers at which
    there can be a verdict. So at most the whole level is spent, for whatever reason a recipe stopped, and however the
    scores that stopped it are correlated with the judged scores.
    """
    if most <= max(least, 2):
        return 1.0
    return 2.0 if seeds >= most else 2.0 * (most - max(least, 2))


def race_for_best(entrants: Mapping[str, Entrant], least: int, most: int, level: float = LOST) -> dict[str, Course]:
    """Return by name each recipe's state in the race for the best, or, with several goals, for the front."""
    courses: dict[str, Course] = {}
    variances_of: dict[str, tuple[Array, int]] = {}
    going = [name for name, entrant in entrants.items() if len(entrant.values)]
    for seeds in range(least, most):
        going = _without_failed(entrants, going, seeds, courses)
        if len(going) < 2:
            return courses | {name: Course(len(entrants[name].values), "best") for name in going}
        if _lacks(entrants, going, seeds):
            return courses | _open(entrants, going, seeds, courses)
        if seeds == 1:
            pilots = [name for name in best_first(entrants, going) if not entrants[name].fixed][:PILOT]
            ready = [name for name in pilots if not entrants[name].failed]
            if _lacks(entrants, ready, 2):
                return courses | _open(entrants, going, 1, courses) | _open(entrants, ready, 2, courses)
            _learn(variances_of, entrants, [name for name in ready if len(entrants[name].values) > 1], 2)
        else:
            _learn(variances_of, entrants, going, seeds)
        judged = _judge(entrants, going, variances_of, seeds, most, level / ((most - least) * (len(going) - 1)))
        if seeds == 1:
            judged |= {name: replace(judged[name], seeds=2) for name in ready if name in judged}
        courses |= judged
        going = [name for name in going if judged[name].state == "going"]
    going = _without_failed(entrants, going, most, courses)
    if _lacks(entrants, going, most):
        return courses | _open(entrants, going, most, courses)
    return courses | {name: Course(most, "most") for name in going}


def race_against(baseline: str, entrants: Mapping[str, Entrant], least: int, most: int) -> dict[str, Course]:
    """Return by name each row's state in the race for a verdict against the baseline. The baseline has a state, too."""
    courses: dict[str, Course] = {}
    variances_of: dict[str, tuple[Array, int]] = {}
    rows = [name for name, entrant in entrants.items() if len(entrant.values) and name != baseline]
    if baseline not in entrants or not len(entrants[baseline].values):
        return {}
    of_rows, going = len(rows), rows
    for seeds in range(max(least, 2), most):
        going = _without_failed(entrants, going, seeds, courses)
        both = [baseline, *going]
        if not going or not _without_failed(entrants, [baseline], seeds, courses):
            return courses
        if _lacks(entrants, both, seeds):
            return courses | _open(entrants, both, seeds, courses)
        _learn(variances_of, entrants, both, seeds)
        spreads, freedom = _spreads(entrants, both, variances_of)
        samples = _samples(entrants, both, seeds)
        common = [common_spread(own) for own in samples]
        for index, name in enumerate(going, start=1):
            chance = WRONG / of_rows / race_p_factor(seeds, least, most)
            variance = spreads[0] + spreads[index]
            degrees = _pair_freedom(spreads[[0, index]], freedom[[0, index]])
            comparisons = [
                compare(own[index], own[0], common=alike) for own, alike in zip(samples, common, strict=True)
            ]
            decided = np.array([item.p is not None and item.p < chance for item in comparisons])
            gain = np.array([item.gain for item in comparisons])
            hopeless = _hopeless(gain, variance, degrees, seeds, most, WRONG / of_rows)
            gap = float(-gain.max())
            if (entrants[baseline].fixed and entrants[name].fixed) or (decided | hopeless).all():
                courses[name] = Course(seeds, "decided" if decided.any() else "undecided", baseline, gap)
            else:
                courses[name] = Course(seeds + 1, "going", baseline, gap)
        going = [name for name in going if courses[name].state == "going"]
        courses[baseline] = Course(seeds + bool(going), "going" if going else "decided")
    going = _without_failed(entrants, going, most, courses)
    if going and _lacks(entrants, [baseline, *going], most):
        return courses | _open(entrants, [baseline, *going], most, courses)
    last = {name: Course(most, "most", baseline) for name in going}
    return courses | last | ({baseline: Course(most, "most")} if going else {})


def _lacks(entrants: Mapping[str, Entrant], names: Iterable[str], seeds: int) -> bool:
    return any(_has_too_few(entrants[name], seeds) for name in names)


def _has_too_few(entrant: Entrant, seeds: int) -> bool:
    return not entrant.fixed and not entrant.failed and len(entrant.values) < seeds


def _open(
    entrants: Mapping[str, Entrant], names: Iterable[str], seeds: int, before: Mapping[str, Course]
) -> dict[str, Course]:
    """Return the states in a round of which some seeds are missing. `other` and `gap` are those of the round before."""
    last = {name: before.get(name, Course(seeds, "going")) for name in names}
    return {
        name: Course(seeds, "going", course.other, course.gap, waits=not _has_too_few(entrants[name], seeds))
        for name, course in last.items()
    }


def _without_failed(
    entrants: Mapping[str, Entrant], names: Sequence[str], seeds: int, courses: dict[str, Course]
) -> list[str]:
    """Return the recipes that have, or can get, this many seeds. Set the state `failed` for the other recipes."""
    present = []
    for name in names:
        entrant = entrants[name]
        if entrant.failed and not entrant.fixed and len(entrant.values) < seeds:
            courses[name] = Course(len(entrant.values), "failed")
        else:
            present.append(name)
    return present


def best_first(entrants: Mapping[str, Entrant], names: Sequence[str]) -> list[str]:
    """Sort names by the first seed's score, best first; with several goals by the sum of ranks. Ties stay in order."""
    first = np.stack([entrants[name].values[0] for name in names])
    ranks = (first[:, None] < first).sum(axis=1).sum(axis=1)
    return [names[index] for index in np.argsort(ranks, kind="stable")]


# Spreads


def _learn(
    variances_of: dict[str, tuple[Array, int]], entrants: Mapping[str, Entrant], names: Sequence[str], k: int
) -> None:
    """Store each recipe's own variance over its first k seeds, (goals,), with its degrees of freedom."""
    trained = [name for name in names if not entrants[name].fixed]
    if not trained:
        return
    values = np.stack([entrants[name].values[:k] for name in trained])  # (recipes, seeds, goals)
    rest = values - values.mean(axis=1, keepdims=True)
    once = np.sort(np.unique(values, axis=0, return_index=True)[1])  # seeds would seem to move copies together
    for goal in range(values.shape[2]):
        samples = [Sample(row, tuple(range(k))) for row in values[once, :, goal]]
        if len(once) > 1 and seed_effect_p(samples) <= SURE:
            common = rest[once, :, goal].mean(axis=0)
            rest[:, :, goal] = (rest[:, :, goal] - common) * np.sqrt(len(once) / (len(once) - 1))
    for name, own in zip(trained, (rest**2).sum(axis=1) / (k - 1), strict=True):
        variances_of[name] = own, k - 1


def _spreads(
    entrants: Mapping[str, Entrant], names: Sequence[str], variances_of: Mapping[str, tuple[Array, int]]
) -> tuple[Array, Array]:
    """(names, goals) Each recipe's variances over seeds, and their degrees of freedom: 0 if nothing is known."""
    goals = entrants[names[0]].values.shape[1]
    own = np.stack([variance for variance, _ in variances_of.values()]) if variances_of else np.zeros((0, goals))
    freedom = np.array([degrees for _, degrees in variances_of.values()], dtype=float)
    variances, degrees = np.zeros((len(names), goals)), np.full((len(names), goals), np.inf)
    for goal in range(goals):
        usual, weight = 0.0, 0.0
        if len(own) >= MIN_RECIPES:
            usual, weight = common_variance(own[:, goal], freedom)
            weight = min(weight, float(freedom.sum()))  # at most the degrees of freedom of all recipes together
        for index, name in enumerate(names):
            if not entrants[name].fixed:
                mine, mine_freedom = variances_of.get(name, (np.zeros(goals), 0))
                degrees[index, goal] = weight + mine_freedom
                total = weight * usual + mine_freedom * mine[goal]
                variances[index, goal] = total / max(weight + mine_freedom, 1e-12)
    return variances, degrees


def _pair_freedom(variances: Array, freedom: Array) -> Array:
    """Return Satterthwaite's degrees of freedom of the sum of two variances. (2, ...) arrays become (...)."""
    total = variances.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        doubt = (variances**2 / freedom).sum(axis=0)
        return np.where(doubt > 0, total**2 / doubt, np.inf)


# Rounds


def _judge(
    entrants: Mapping[str, Entrant],
    names: Sequence[str],
    variances_of: Mapping[str, tuple[Array, int]],
    seeds: int,
    most: int,
    chance: float,
) -> dict[str, Course]:
    """Return each recipe's state after a complete round: which recipes leave, and which need one more seed."""
    from scipy.special import stdtr

    variances, freedom = _spreads(entrants, names, variances_of)
    means = np.stack([entrants[name].first(seeds).mean(axis=0, dtype=float) for name in names])  # (recipes, goals)
    leads = means[:, None] - means  # (first, second, goals)
    both = np.stack(np.broadcast_arrays(variances[:, None], variances[None]))
    degrees = _pair_freedom(both, np.stack(np.broadcast_arrays(freedom[:, None], freedom[None])))
    error = np.sqrt(np.maximum(both.sum(axis=0) * (1 / seeds - 1 / most), 1e-18))
    p = np.where(degrees > 0, stdtr(np.maximum(degrees, 1e-6), -leads / error), 1.0)
    ahead = np.all(p < chance, axis=2)
    somewhere = np.any(p < chance / means.shape[1], axis=2)
    out = np.any(ahead, axis=0)
    apart = somewhere & somewhere.T  # each leads in some goal: neither can beat the other
    others = ~np.eye(len(names), dtype=bool)
    remaining = others & ~out  # (recipe, another recipe), as in all following arrays
    winners = ahead.T
    gaps = leads.min(axis=2).T  # in the goal in which the other is ahead by least
    closest = np.where(np.where(winners.any(axis=1, keepdims=True), winners, remaining), gaps, -np.inf).argmax(axis=1)
    alone = ~remaining.any(axis=1)
    front = ~(remaining & ~apart).any(axis=1)
    courses = {}
    for index, name in enumerate(names):
        if alone[index] and not out[index]:
            courses[name] = Course(seeds, "best")
            continue
        other, gap = names[closest[index]], float(gaps[index, closest[index]])
        if out[index]:
            courses[name] = Course(seeds, "behind", other, gap)
        elif front[index]:
            courses[name] = Course(seeds, "on the front")
        else:
            courses[name] = Course(seeds + 1, "going", other, gap)
    return courses


def _samples(entrants: Mapping[str, Entrant], names: Sequence[str], seeds: int) -> list[list[Sample]]:
    """By goal, the recipes' scores under the first `seeds` seeds, as the samples that a report judges."""
    goals = entrants[names[0]].values.shape[1]
    counts = {name: 1 if entrants[name].fixed else seeds for name in names}
    return [
        [
            Sample(entrants[name].values[: counts[name], goal], tuple(range(counts[name])), fixed=entrants[name].fixed)
            for name in names
        ]
        for goal in range(goals)
    ]


def _hopeless(gain: Array, variance: Array, freedom: Array, seeds: int, most: int, level: float) -> Array:
    """(goals,) Whether a verdict on a row is unlikely even with the most seeds."""
    from scipy.special import stdtr, stdtrit

    bar = stdtrit(2 * (most - 1), 1 - level / 4) * np.sqrt(variance / most)  # two-sided, at half of the level
    error = np.sqrt(np.maximum(variance * (1 / seeds - 1 / most), 1e-18))
    chance = stdtr(freedom, (gain - bar) / error) + stdtr(freedom, (-gain - bar) / error)
    return np.asarray(chance < HOPELESS)
