"""Successive halving without waiting (ASHA), for one goal or several: the scheduler `asha`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from reports.statistics.fronts import trials_before
from study.search.schedulers import Setting


class SuccessiveHalving:
    """At each rung, the trials whose scores are among the best share of those that have arrived there go on."""

    def __init__(self, shares: Sequence[float]) -> None:
        """`shares`: for each rung, the share of the trials there that goes on."""
        self.shares = tuple(shares)
        self.values: dict[int, list[Sequence[float]]] = {}

    def goes_on(self, trial: str, rung: int, values: Sequence[float]) -> bool:
        arrived = self.values.setdefault(rung, [])
        arrived.append(tuple(values))
        most = max(1, int(len(arrived) * self.shares[rung - 1]))
        return trials_before(np.array(arrived), len(arrived) - 1) < most


def asha(setting: Setting) -> SuccessiveHalving:
    """Return a scheduler whose share at a rung is the rung's amount of training divided by the next rung's. With rungs
    at 1/8, 1/4 and 1/2 of a training half of the trials go on each time, so every rung costs about the same."""
    return SuccessiveHalving([resource / following for resource, following in itertools.pairwise(setting.rungs)])
