"""The speed of a training."""

from __future__ import annotations

import time
from collections import deque

PACE_SECONDS = 10.0
"""The speed is measured over about this many last seconds."""


class Pace:
    """Measures steps and tokens per second over the last `PACE_SECONDS`."""

    def __init__(self, step: int, tokens: float) -> None:
        """`step`, `tokens`: numbers of steps and tokens that are done at the start of the measurement."""
        self._points = deque([(time.perf_counter(), step, tokens)])

    def after(self, step: int, tokens: float) -> dict[str, float]:
        """Return the speed after `step` steps and `tokens` tokens; empty if no step was done since the start."""
        now = time.perf_counter()
        points = self._points
        points.append((now, step, tokens))
        while len(points) > 2 and points[1][0] < now - PACE_SECONDS:
            points.popleft()
        then, steps_then, tokens_then = points[0]
        if step == steps_then:
            return {}
        return {
            "steps_per_second": (step - steps_then) / (now - then),
            "tokens_per_second": (tokens - tokens_then) / (now - then),
        }
