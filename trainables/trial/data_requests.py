"""Where a recipe's data lies, and what a layout is asked for."""

from __future__ import annotations

from pathlib import Path

from trainables.corpora import scenes
from trainables.corpora.layouts import LAYOUTS, SamplerRequest, SpanEncoder
from trainables.objectives import group_shape
from trainables.recipe import SCENES, Recipe


def senteval_folder(name: str) -> Path:
    """The folder in SentEval's layout; `scenes` writes the built-in corpus on its first use."""
    return scenes.ensure() / "senteval" if name == SCENES else Path(name)


def with_senteval(recipe: Recipe, senteval: str) -> Recipe:
    """The recipe with `corpus.senteval` written out where its training reads that and nothing is given."""
    layout, used = LAYOUTS[recipe.corpus.layout], recipe.trains or recipe.pooling.after != "none"
    reads = (used and layout.reads == "corpus.senteval") or (recipe.trains and recipe.optimisation.keep == "best")
    given = recipe.corpus.senteval is not None
    return recipe.override({"corpus.senteval": senteval}) if reads and not given else recipe


def sampler_request(recipe: Recipe, seed: int, encoder: SpanEncoder | None = None) -> SamplerRequest:
    """What a layout is asked for. `encoder` is for layouts that draw tokens; a check needs none."""
    positives, negatives = group_shape(recipe.objective)
    return SamplerRequest(
        corpus=recipe.corpus,
        spans=recipe.spans,
        batch_size=recipe.optimisation.batch_size,
        seed=seed,
        positives=positives,
        negatives=negatives,
        senteval=None if recipe.corpus.senteval is None else senteval_folder(recipe.corpus.senteval),
        max_length=recipe.encoder.max_length,
        encoder=encoder,
    )
