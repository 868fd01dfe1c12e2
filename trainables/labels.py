"""The three labels of natural language inference, by name: what a pair says of its premise and hypothesis."""

from __future__ import annotations

ENTAILMENT, NEUTRAL, CONTRADICTION = 0, 1, 2
LABELS = ("entailment", "neutral", "contradiction")
"""Names of the labels 0, 1 and 2."""
