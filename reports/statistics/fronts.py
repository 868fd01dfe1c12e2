"""The order of trials that have several goals: the better front first, within a front those that lie apart.

A trial dominates another one where it is at least as good in every goal and better in one. The first front is what no
trial dominates, the next one what only trials of the first front dominate, and so on. A front that only partly fits is
thinned evenly: after one end of it always the trial comes next that is farthest from all chosen ones (an epsilon-net,
as in multi-objective ASHA, Schmucker et al. 2021). With one goal all of this is the order of its values.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def front_numbers(values: Array) -> Array:  # (trials, goals) -> (trials,) int64
    """The front of each trial, from 0; every goal is the higher the better."""
    trials = len(values)
    by = dominated_by(values)
    left = by.sum(axis=1)  # how many that no front has yet dominate each
    numbers = np.full(trials, -1)
    number = 0
    while (numbers < 0).any():
        front = (left == 0) & (numbers < 0)
        numbers[front] = number
        left -= by[:, front].sum(axis=1)
        number += 1
    return numbers


def on_front(values: Array) -> Array:  # (trials, goals) -> (front,) their numbers
    """The trials that no other one dominates."""
    return np.flatnonzero(~dominated_by(values).any(axis=1))


def dominated_by(values: Array) -> Array:  # (trials, goals) -> (trials, trials) bool
    """At [i, j] whether trial j dominates trial i."""
    no_worse = np.ones((len(values), len(values)), dtype=bool)
    better = ~no_worse
    for goal in values.T:
        no_worse &= goal[None, :] >= goal[:, None]
        better |= goal[None, :] > goal[:, None]
    return no_worse & better


def spread(points: Array) -> Array:  # (points, goals), all different -> (points,) their order
    """The points in an order whose every beginning covers them well. It does not depend on the order in which they are
    given, nor on the units of the goals."""
    points = np.asarray(points, dtype=float)
    order = np.lexsort(points.T[::-1])[::-1]  # by the first goal, the best first; what is equally far goes by it too
    ranges = points.max(axis=0) - points.min(axis=0)
    placed = (points[order] - points.min(axis=0)) / np.where(ranges > 0, ranges, 1.0)
    chosen = [0]
    distance = np.full(len(points), np.inf)
    for _ in range(len(points) - 1):
        distance = np.minimum(distance, np.square(placed - placed[chosen[-1]]).sum(axis=1).round(12))
        distance[chosen[-1]] = -1.0
        chosen.append(int(distance.argmax()))
    return order[chosen]


def trials_before(values: Array, trial: int) -> int:  # (trials, goals)
    """How many of the trials come before this one. Trials of the same values come at the same place."""
    if values.shape[1] == 1:
        return int((values[:, 0] > values[trial, 0]).sum())
    numbers = front_numbers(values)
    front = values[numbers == numbers[trial]]
    points, counts = np.unique(front, axis=0, return_counts=True)
    order = spread(points)
    place = int(np.flatnonzero((points[order] == values[trial]).all(axis=1))[0])
    return int((numbers < numbers[trial]).sum() + counts[order[:place]].sum())
