"""Successive halving without waiting for anybody (ASHA), for one goal or several."""

from __future__ import annotations

from collections.abc import Sequence

from study.schedulers import Setting


class Halving:
    """At each rung the best share of the trials seen there goes on.

    The share is the ratio of this rung's resource to the next one's: with rungs at 1/8, 1/4 and 1/2 of a training half
    of the trials go on each time, so that every rung costs about the same.
    """

    def __init__(self, setting: Setting) -> None:
        self.shares = [here / after for here, after in zip(setting.rungs, setting.rungs[1:], strict=False)]
        self.seen: dict[int, list[tuple[float, ...]]] = {}

    def goes_on(self, trial: str, rung: int, values: Sequence[float]) -> bool:
        seen = self.seen.setdefault(rung, [])
        seen.append(tuple(values))
        better = sum(other[0] > values[0] for other in seen)  # one goal so far
        return better < max(1, int(len(seen) * self.shares[rung - 1]))


def asha(setting: Setting) -> Halving:
    """What the registry names."""
    return Halving(setting)
