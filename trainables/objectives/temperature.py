"""Keys of tau, the divisor of similarities: a number, or trained with the encoder."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trainables.errors import UserError
from trainables.keys import Options, Range, above, key

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.objectives.learned_temperature import LearnedTemperature

TEMPERATURE = functools.partial(
    key,
    1.0,
    "tau, which divides every similarity; learned: it is trained with the encoder, as in CLIP.",
    above(0.0),
    alias="tau",
    together=True,
    label="tau (temperature)",
    search=Range(0.01, 1.0, log=True),
)
"""Defines the key `objective.temperature` in the class of an objective that calls this."""
LEARNED = ("temperature", lambda temperature: temperature == "learned")


@dataclass(frozen=True)
class Temperature(Options):
    """Keys of objectives that divide similarities by tau."""

    section = "objective"

    temperature: float | Literal["learned"] = TEMPERATURE()
    temperature_start: float = key(
        0.07, "Where a learned tau begins; 0.07 in CLIP.", above(0.0), search=Range(0.01, 1.0, log=True), when=LEARNED
    )
    temperature_rate: float = key(
        1e-3,
        "Highest learning rate of the logarithm of a learned tau; it rises and falls as optimisation.learning_rate.",
        above(0.0),
        search=Range(1e-4, 1e-1, log=True),
        when=LEARNED,
    )
    temperature_low: float = key(0.01, "A learned tau goes no lower; 0.01 in CLIP.", above(0.0), when=LEARNED)
    temperature_high: float = key(1.0, "A learned tau goes no higher.", above(0.0), when=LEARNED)

    def check_bounds(self) -> None:
        """Raise `UserError` for a learned tau that starts outside its bounds."""
        if self.temperature != "learned":
            return
        if not self.temperature_low <= self.temperature_start <= self.temperature_high:
            raise UserError(
                f"objective.temperature_start={self.temperature_start:g} must lie between objective.temperature_low="
                f"{self.temperature_low:g} and objective.temperature_high={self.temperature_high:g}"
            )

    def learned(self) -> LearnedTemperature | None:
        """Return a module that trains tau; None if tau is a number."""
        if self.temperature != "learned":
            return None
        from trainables.objectives.learned_temperature import LearnedTemperature

        return LearnedTemperature(
            self.temperature_start, self.temperature_rate, self.temperature_low, self.temperature_high
        )

    def tau(self, learned: Tensor | None) -> float | Tensor:
        """Return the present tau. `learned`: the output of the module that trains tau; None if tau is a number."""
        if self.temperature != "learned":
            return self.temperature
        assert learned is not None, "the model gives a learned temperature"
        return learned
