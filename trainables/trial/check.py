"""Refuse, before anything starts, recipes that cannot run: what is not there, and what does not go together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trainables.corpora.layouts import check_layout, check_sentences
from trainables.encoders import check_encoder
from trainables.encoders.kinds import ENCODERS
from trainables.encoders.mlm_head import check_mask_token
from trainables.errors import UserError
from trainables.fidelity import resolve
from trainables.objectives import check_objective
from trainables.recipe import SCENES, Recipe
from trainables.senteval import check_data, task_names
from trainables.senteval.cosines import sentences
from trainables.trial.places import sampler_request


def check_recipes(recipes: Sequence[Recipe]) -> None:
    """Raise `UserError` for the first recipe that cannot run.

    Quick, and nothing is downloaded; local training files are read to their end, once for all recipes that share them.
    """
    for encoder in sorted({recipe.encoder for recipe in recipes}, key=lambda config: config.name):
        check_encoder(encoder)
    for recipe in recipes:
        check_combination(recipe)
        check_objective(recipe.objective, recipe.corpus.layout)
    for evaluation in dict.fromkeys(recipe.evaluation for recipe in recipes):
        task_names(evaluation.tasks)
        if evaluation.senteval != SCENES:
            check_data(Path(evaluation.senteval), evaluation.tasks)
        if evaluation.heat_map != "none":
            sentences(evaluation.heat_map)
    for recipe in recipes:
        if recipe.pooling.after != "none":
            check_sentences(recipe.corpus.layout, sampler_request(recipe, seed=0))
        if recipe.trains:
            check_layout(recipe.corpus.layout, sampler_request(resolve(recipe), seed=0))


def check_combination(recipe: Recipe) -> None:
    """Refuse a recipe that would train what can only be evaluated, or whose sections do not go together."""
    if recipe.pooling.padding == "count" and recipe.pooling.mode != "mean_without_cls":
        raise UserError(
            f"pooling.padding='count' is for pooling.mode 'mean_without_cls', not {recipe.pooling.mode!r}; "
            "set pooling.padding=none"
        )
    if not recipe.optimisation.epochs:
        return
    adapter = recipe.encoder.adapter != "none"
    if not ENCODERS[recipe.encoder.kind].trainable and not adapter:
        raise UserError(
            f"encoder.kind {recipe.encoder.kind!r} is for evaluation only; set optimisation.epochs to 0, train an "
            "adapter on it (encoder.adapter 'mlp'), or take encoder.kind 'transformer'"
        )
    anchors = recipe.optimisation.batch_size * (recipe.spans.anchors if recipe.corpus.layout == "spans" else 1)
    if 0 < recipe.objective.bank < anchors:
        raise UserError(
            f"objective.bank={recipe.objective.bank} is smaller than one batch, which has {anchors} anchors; "
            "take a larger bank, or 0 for none"
        )
    if recipe.pooling.after != "none":
        raise UserError(
            f"pooling.after {recipe.pooling.after!r} is for evaluation only; set optimisation.epochs to 0, "
            "or pooling.after to 'none'"
        )
    if recipe.objective.mlm:
        check_mask_token(recipe.encoder.name)
    if adapter and (recipe.objective.mlm or recipe.objective.name == "mlm"):
        raise UserError(
            "masked language modelling trains the encoder, which encoder.adapter freezes; set objective.mlm to 0, "
            "or encoder.adapter to 'none'"
        )
