"""What may make a comparison worthless: different code, data or budgets, broken scores, leaked test sentences.

A guard looks at the results and raises flags; a comparison across a flag gets no verdict unless the reader asks for it
(`StudyInfo.across`, `--across GUARD`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flag:
    """One thing that a reader must know about some recipes, or about some of their scores."""

    guard: str
    """The guard's name, as `--across` takes it."""
    sentence: str
    """Markdown, escaped: what is wrong, with figures, and what it means."""
    recipes: frozenset[str]
    """The hashes of the recipes that it touches."""
    tasks: frozenset[str] = frozenset()
    """The tasks whose scores it touches; empty: all."""
    blocks: bool = True
    """Whether comparisons across it get no verdict."""

    def touches(self, recipe_hash: str, tasks: frozenset[str]) -> bool:
        """Whether it concerns a figure of that recipe that is made of these tasks."""
        return recipe_hash in self.recipes and (not self.tasks or bool(self.tasks & tasks))
