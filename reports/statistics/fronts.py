"""The order of trials with several goals: by front, and within a front such that trials far apart come first.

A trial dominates another trial if it is at least as good in every goal and better in one. No trial dominates a trial of
the first front, only trials of the first front dominate a trial of the second, and so on. If only a part of a front is
needed, the front is thinned evenly: from one end on, the next trial is the trial farthest from all chosen trials (an
epsilon-net, as in multi-objective ASHA, Schmucker et al. 2021). One goal gives the order of the values.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def front_numbers(values: Array) -> Array:  # (trials, goals) -> (trials,) int64
    """Return the number of each trial's front, from 0. In every goal higher is better."""
    trials = len(values)
    by = dominated_by(values)
    left = by.sum(axis=1)  # for each trial, how many trials without a front dominate it
    numbers = np.full(trials, -1)
    number = 0
    while (numbers < 0).any():
        front = (left == 0) & (numbers < 0)
        numbers[front] = number
        left -= by[:, front].sum(axis=1)
        number += 1
    return numbers


def on_front(values: Array) -> Array:  # (trials, goals) -> (front,) their indices
    """Return the indices of the trials that no other trial dominates."""
    return np.flatnonzero(~dominated_by(values).any(axis=1))


def dominated_by(values: Array) -> Array:  # (trials, goals) -> (trials, trials) bool
    """Return a matrix: at [i, j], whether trial j dominates trial i."""
    no_worse = np.ones((len(values), len(values)), dtype=bool)
    better = ~no_worse
    for goal in values.T:
        no_worse &= goal[None, :] >= goal[:, None]
        better |= goal[None, :] > goal[:, None]
    return no_worse & better


def spread(points: Array) -> Array:  # (points, goals), all different -> (points,) indices in order
    """Sort the points such that the first n points cover all points well, for every n. The order depends neither on the
    order of the input nor on the units of the goals."""
    points = np.asarray(points, dtype=float)
    order = np.lexsort(points.T[::-1])[::-1]  # by the first goal, the best first; this order also breaks ties
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
    """Return the number of trials that come before this trial in the order. Equal trials have equal numbers."""
    if values.shape[1] == 1:
        return int((values[:, 0] > values[trial, 0]).sum())
    numbers = front_numbers(values)
    front = values[numbers == numbers[trial]]
    points, counts = np.unique(front, axis=0, return_counts=True)
    order = spread(points)
    position = int(np.flatnonzero((points[order] == values[trial]).all(axis=1))[0])
    return int((numbers < numbers[trial]).sum() + counts[order[:position]].sum())
