"""Which trials may train together in a population."""

from __future__ import annotations

import hashlib
import json

from trainables.corpora.layout import Layout
from trainables.encoders.projection import PROJECTIONS
from trainables.objectives.objective import Objective
from trainables.recipe import Recipe, keys


def population_key(recipe: Recipe) -> str | None:
    """Trials whose recipes have the same key may train together, whatever their seeds; None: not at all.

    Members share the base, the corpus and its layout, batch size and number of steps. They may differ in the keys that
    a recipe marks as `together`: pooling, head, temperature, and how parameters move. Those that
    take turns also share the pooling. A trial that keeps other weights than the last trains alone, and so does one
    that mines negatives anew by its own weights.
    """
    objective = recipe.part(Objective)
    parts = objective, recipe.part(Layout), PROJECTIONS[recipe.head.kind]
    stacks = recipe.encoder.adapter == "mlp" and all(part.stacks for part in parts) and not objective.memory()[0]
    # A head for masked language modelling belongs to the base, and so to one trial.
    masked = recipe.objective.mlm or objective.mlm_only
    further = masked or recipe.pooling.after != "none" or recipe.optimisation.keep != "last" or not objective.plain
    further = further or recipe.flat().get("corpus.mined_every") is not None
    if not recipe.trains or not (stacks or takes_turns(recipe)) or further:
        return None
    apart = "pooling.mode" if takes_turns(recipe) else None
    # A key at its default counts as none: it may be there for a member's own pooling alone.
    shared = {
        name: value
        for name, value in recipe.flat().items()
        if name == apart or not (keys()[name].together or value == keys()[name].default)
    }
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()[:12]


def takes_turns(recipe: Recipe) -> bool:
    """Whether the members of a population of such recipes take turns: they share memory, but save no time."""
    return recipe.encoder.adapter == "lora"
