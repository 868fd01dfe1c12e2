"""The folder of a recipe's evaluation data, and the request to its layout."""

from __future__ import annotations

from pathlib import Path

from trainables.corpora import scenes
from trainables.corpora.augment import NONE, Augmentation
from trainables.corpora.layouts import SamplerRequest, SpanEncoder
from trainables.objectives import Objective, group_shape
from trainables.recipe import SCENES, Recipe


def senteval_folder(name: str) -> Path:
    """Return the folder of evaluation data in SentEval's layout. `scenes`: the built-in data, written on first use."""
    return scenes.ensure() / "senteval" if name == SCENES else Path(name)


def sampler_request(recipe: Recipe, seed: int, encoder: SpanEncoder | None = None) -> SamplerRequest:
    """Return what a recipe asks of its layout. `encoder`: for layouts that draw tokens; checks need none."""
    positives, negatives = group_shape(recipe)
    return SamplerRequest(
        batch_size=recipe.optimisation.batch_size,
        seed=seed,
        positives=positives,
        negatives=negatives,
        max_length=recipe.encoder.max_length,
        encoder=encoder,
        augmentation=recipe.part(Augmentation) if recipe.has(Augmentation) else NONE,
        taught=recipe.part(Objective).taught,
    )
