"""Whether any training of a search comes to the rungs that were asked for: else its scheduler would stop nobody."""

from __future__ import annotations

from collections.abc import Sequence

from reports.markdown import count
from search_spaces.space import Domain
from trainables.errors import UserError
from trainables.keys import Value
from trainables.recipe import Recipe
from trainables.training.rungs import RungPlan
from trainables.trial.check import comes_to

DATA_KEYS = ("corpus.", "spans.", "evaluation.", "objective.name", "objective.positives", "objective.negatives")
"""How keys begin that decide how many batches a corpus gives."""


def check_reach(rungs: RungPlan, base: Recipe, domains: Sequence[Domain]) -> None:
    """`UserError` where even the longest training ends before the first rung, as far as that is known by now."""
    longest = None if rungs.unit == "share" else _longest(base, domains)
    found = None if longest is None else comes_to(rungs, longest)
    if found is not None and not found[0]:
        raise UserError(
            f"--rungs {rungs}: no training comes to the first of them, for the longest has {count(found[1], 'step')}; "
            "take smaller amounts, or leave it out"
        )


def _longest(base: Recipe, domains: Sequence[Domain]) -> Recipe | None:
    """The recipe of the longest training that a search may ask for; None where it may ask for other data, too."""
    chosen: dict[str, Value] = {}
    for domain in domains:
        if domain.key.startswith(DATA_KEYS):
            return None
        numbers = [value for value in (*domain.choices, domain.low, domain.high) if isinstance(value, int)]
        if domain.key == "optimisation.batch_size":
            chosen[domain.key] = min(numbers)
        elif domain.key in ("optimisation.epochs", "optimisation.max_steps"):  # none: no bound
            chosen[domain.key] = None if None in domain.choices else max(numbers)
    return base.override(chosen)
