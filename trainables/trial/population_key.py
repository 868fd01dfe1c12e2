"""Which trials may train together in a population."""

from __future__ import annotations

import hashlib
import json

from trainables.corpora.layouts.contract import Layout
from trainables.encoders.projection import Projection
from trainables.objectives.objective import Objective
from trainables.recipe import Recipe, keys
from trainables.training.optimisers import Optimiser


def population_key(recipe: Recipe) -> str | None:
    """Trials whose recipes have the same key may train together, whatever their seeds; None: not at all.

    Members share base, corpus, layout, batch size and number of steps, and may differ in keys that are marked
    `together`. Their layout, objective, head and optimiser must stack (`stacks`).
    """
    objective = recipe.part(Objective)
    parts = objective, recipe.part(Layout), recipe.part(Projection), recipe.part(Optimiser)
    stacks = recipe.encoder.adapter == "mlp" and all(part.stacks for part in parts) and not objective.memory()[0]
    # A head for masked language modelling belongs to the base, and so to one trial.
    masked = recipe.objective.mlm or objective.mlm_only
    further = masked or recipe.pooling.after != "none" or recipe.optimisation.keep != "last" or not objective.plain
    if not recipe.trains or not stacks or further:
        return None
    # A key at its default counts as none: it may be there for a member's own pooling alone.
    shared = {
        name: value
        for name, value in recipe.flat().items()
        if value != keys()[name].default and not keys()[name].together
    }
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]
