"""What `objective.fidelity` sets: the presets `paper` and `released`, and a recipe with them written out.

A preset sets keys that are left at their defaults, so each can also be set by itself. What the authors' released code
does instead of the paper's text stands in the entry of the objective or the layout that it belongs to.
"""

from __future__ import annotations

from trainables.corpora.layouts import LAYOUTS
from trainables.encoders.pooling import POOLINGS
from trainables.objectives import OBJECTIVES, PAPER
from trainables.recipe import Recipe, Value, keys

EVERYWHERE: dict[str, Value] = {
    **PAPER,
    "objective.workers": "sum",
    "pooling.padding": "ignore",
    "spans.places": "apart",
}
"""What `paper` sets, and `released` too where the entries of the objective and the layout set nothing else."""


def preset(recipe: Recipe) -> dict[str, Value]:
    """The keys that the recipe's `objective.fidelity` sets, with their values."""
    values = recipe.flat()
    wanted = dict(EVERYWHERE)
    if recipe.objective.fidelity == "released":
        wanted |= OBJECTIVES[recipe.objective.name].released
        wanted |= LAYOUTS[recipe.corpus.layout].released
    if POOLINGS[recipe.pooling.mode].padded is None:  # a pooling in which padding cannot count
        wanted["pooling.padding"] = "ignore"
    return {name: value for name, value in wanted.items() if values[name] == keys()[name].default}


def resolve(recipe: Recipe) -> Recipe:
    """The recipe as it is followed: what its preset sets is written out. Its hash is not that of the recipe."""
    return recipe.override(preset(recipe))
