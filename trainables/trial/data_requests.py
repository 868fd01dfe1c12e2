"""Where a recipe's data lies, and what a layout is asked for."""

from __future__ import annotations

from trainables.corpora.augment import NONE, Augmentation
from trainables.corpora.layouts import SamplerRequest, SpanEncoder
from trainables.objectives import Objective, group_shape
from trainables.recipe import Recipe
from trainables.senteval.read_task import senteval_folder

__all__ = ["sampler_request", "senteval_folder"]


def sampler_request(recipe: Recipe, seed: int, encoder: SpanEncoder | None = None) -> SamplerRequest:
    """What a layout is asked for. `encoder` is for layouts that draw tokens; a check needs none."""
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
