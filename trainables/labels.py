"""The three labels of natural language inference: the relation of a premise and a hypothesis."""

from __future__ import annotations

from typing import Literal

Label = Literal["entailment", "neutral", "contradiction"]

ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2
LABELS: tuple[Label, ...] = ("entailment", "neutral", "contradiction")
"""Names of the labels 0, 1 and 2."""
