"""How fast a training goes."""

from __future__ import annotations

import time
from collections import deque

PACE_SECONDS = 10.0
"""Steps and tokens a second are those of about so many last seconds."""


class Pace:
    """Steps and tokens a second, of late."""

    def __init__(self, step: int, tokens: float) -> None:
        """How many steps and tokens are done when the clock starts."""
        self._points = deque([(time.perf_counter(), step, tokens)])

    def after(self, step: int, tokens: float) -> dict[str, float]:
        """Once so many steps and tokens are done; empty where no step was."""
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
