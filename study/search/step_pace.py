"""The pace of a training, by the steps that it reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class StepPace:
    """The pace of one training. Times are of one clock, in any unit."""

    first: tuple[float, int] | None = None
    """Time and number of the first reported step. The number may be above 1, as after a resumed training."""
    last: tuple[float, int] | None = None
    steps: int = 0
    """Steps of the whole training; 0 until a step is reported."""

    def stepped(self, now: float, step: int, steps: int) -> None:
        """Store a reported step. A lower step than the last begins anew: the training resumed from a checkpoint."""
        if self.last is None or step < self.last[1]:
            self.first = now, step
        self.last, self.steps = (now, step), steps

    @property
    def share(self) -> float:
        """The share of the steps since the first report."""
        return (self.last[1] - self.first[1]) / self.steps if self.first and self.last else 0.0

    @property
    def a_step(self) -> float | None:
        """The time of a step; None until two steps were reported: with one, the pace would include the start."""
        if self.first is None or self.last is None or self.first[1] == self.last[1]:
            return None
        (begin, before), (at, step) = self.first, self.last
        return (at - begin) / (step - before)

    def left(self, now: float) -> float | None:
        """Return the time of the steps to come; None until two were reported. A step that takes longer than usual, as
        while a machine is replaced, does not shorten the rest."""
        if self.last is None or self.a_step is None:
            return None
        at, step = self.last
        return max(0.0, self.a_step * (self.steps - step) - min(now - at, self.a_step))
