"""Successive halving without waiting for anybody (ASHA), for one goal or several: the schedulers `asha`,
`hyperband` and `median`. What decides at a rung is `SuccessiveHalving.goes_on`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reports.statistics.fronts import trials_before
from study.search.schedulers import Setting


class SuccessiveHalving:
    """At each rung the best share of the trials seen there goes on."""

    def __init__(self, shares: Sequence[float], first: int = 1, fewest: int = 1) -> None:
        """`shares` of each rung; rungs before the `first` one stop nobody, nor does one that has seen fewer than the
        `fewest` trials."""
        self.shares, self.first, self.fewest = tuple(shares), first, fewest
        self.seen: dict[int, list[Sequence[float]]] = {}

    def goes_on(self, trial: str, rung: int, values: Sequence[float]) -> bool:
        if rung < self.first:
            return True
        seen = self.seen.setdefault(rung, [])
        seen.append(tuple(values))
        most = max(1, int(len(seen) * self.shares[rung - 1]))
        return len(seen) < self.fewest or trials_before(np.array(seen), len(seen) - 1) < most


class Hyperband:
    """Hyperband without waiting: several halvings whose first rungs differ, for trials that begin slowly.

    A trial belongs to one of them, which compares it with its own trials only. A new trial goes to the bracket that has
    cost the least so far, so that all get about the same compute: the earlier a bracket stops, the more trials it has.
    """

    def __init__(self, setting: Setting) -> None:
        shares = _shares(setting)
        self.brackets = [SuccessiveHalving(shares, first) for first in range(1, len(setting.rungs) + 1)]
        self.costs = [_expected_cost(setting, bracket) for bracket in self.brackets]
        self.spent = [0.0] * len(self.brackets)
        self.of: dict[str, int] = {}

    def goes_on(self, trial: str, rung: int, values: Sequence[float]) -> bool:
        if trial not in self.of:
            number = self.of[trial] = self.spent.index(min(self.spent))
            self.spent[number] += self.costs[number]
        return self.brackets[self.of[trial]].goes_on(trial, rung, values)


def asha(setting: Setting) -> SuccessiveHalving:
    """The share that goes on is the ratio of a rung's resource to the next one's: with rungs at 1/8, 1/4 and 1/2 of a
    training half of the trials go on each time, so that every rung costs about the same."""
    return SuccessiveHalving(_shares(setting))


def hyperband(setting: Setting) -> Hyperband:
    """Brackets that begin at each rung, and one that stops nobody."""
    return Hyperband(setting)


def median(setting: Setting) -> SuccessiveHalving:
    """Stops what is not in the better half of its rung, once five trials were there."""
    return SuccessiveHalving([0.5] * len(setting.rungs), fewest=5)


def _shares(setting: Setting) -> list[float]:
    return [here / after for here, after in zip(setting.rungs, setting.rungs[1:], strict=False)]


def _expected_cost(setting: Setting, bracket: SuccessiveHalving) -> float:
    """Of a trial, in the unit of the rungs."""
    cost, share, before = 0.0, 1.0, 0.0
    for number, resource in enumerate(setting.rungs, 1):
        cost += share * (resource - before)
        before = resource
        if bracket.first <= number < len(setting.rungs):
            share *= bracket.shares[number - 1]
    return cost
