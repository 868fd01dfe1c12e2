"""The condition for trials to train together in a population."""

from __future__ import annotations

import hashlib
import json

from trainables.corpora.layouts.contract import Layout
from trainables.encoders.projection import Projection
from trainables.objectives.objective import Objective
from trainables.recipe import Recipe, keys
from trainables.training.optimisers import Optimiser


def population_key(recipe: Recipe) -> str | None:
    """Return a hash that is equal for recipes that may train together, with any seeds; None: the recipe trains alone.

    Members share base, corpus, layout, batch size and number of steps. They may differ in keys marked `together`. Their
    layout, objective, head and optimiser must have `fits_population`.
    """
    objective = recipe.part(Objective)
    parts = objective, recipe.part(Layout), recipe.part(Projection), recipe.part(Optimiser)
    fitting = (
        recipe.encoder.adapter == "mlp"
        and all(part.fits_population for part in parts)
        and not objective.memory_bank()[0]
    )
    # A head for masked language modelling belongs to the base, and so to one trial.
    masked = recipe.objective.mlm or objective.mlm_only
    further = (
        masked
        or recipe.pooling.after != "none"
        or recipe.optimisation.keep != "last"
        or not objective.settings_stackable
    )
    if not recipe.trains or not fitting or further:
        return None
    # Keys at their defaults are left out: such a key may exist only with the pooling of some members.
    shared = {
        name: value
        for name, value in recipe.flat().items()
        if value != keys()[name].default and not keys()[name].together
    }
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]
