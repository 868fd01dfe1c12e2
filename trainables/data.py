"""Where a recipe's data lies, and what it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainables.corpora.batch import Sampler
from trainables.corpora.layouts import SamplerRequest, check_layout, check_sentences, make_sampler, training_sentences
from trainables.recipe import SCENES, Recipe

ENOUGH_SENTENCES = 100_000
"""Training sentences from which a mean and a covariance are taken."""


@dataclass(frozen=True)
class Data:
    """Resolved places; `description` fills with counts and fingerprints as data is read."""

    senteval: Path
    description: dict[str, Any] = field(default_factory=dict)

    def load_sampler(self, recipe: Recipe, seed: int, encoder: Any) -> Sampler:
        """The training batches. Only spans depend on the encoder: they are drawn from its tokens."""
        request = _request(recipe, self.senteval, seed, encoder)
        sampler, self.description["corpus"] = make_sampler(recipe.corpus.layout, request)
        return sampler

    def training_sentences(self, recipe: Recipe) -> list[str]:
        """The first so many unique sentences of the recipe's corpus, in its order."""
        return training_sentences(recipe.corpus.layout, _request(recipe, self.senteval), ENOUGH_SENTENCES)


def _request(recipe: Recipe, senteval: Path, seed: int = 0, encoder: Any = None) -> SamplerRequest:
    from trainables.objectives import group_shape

    return SamplerRequest(
        recipe.corpus,
        recipe.spans,
        recipe.optimisation.batch_size,
        seed,
        *group_shape(recipe.objective),
        senteval,
        recipe.encoder.max_length,
        encoder,
    )


def locate(recipe: Recipe) -> Data:
    """The places that a recipe's words mean; `scenes` writes the built-in corpus on its first use."""
    senteval = Path(recipe.evaluation.senteval)
    if recipe.evaluation.senteval == SCENES:
        from trainables.corpora import scenes

        senteval = scenes.ensure() / "senteval"
    return Data(senteval)


def check_data(recipes: Iterable[Recipe]) -> None:
    """Refuse, quickly and before anything runs, data that is missing or of the wrong kind.

    Local training files are read to their end, once for all recipes that share them.
    """
    from trainables.senteval import check_data as check_senteval
    from trainables.senteval import task_names
    from trainables.senteval.cosines import sentences as heat_map_sentences

    recipes = list(recipes)
    for evaluation in dict.fromkeys(recipe.evaluation for recipe in recipes):
        task_names(evaluation.tasks)
        if evaluation.senteval != SCENES:
            check_senteval(Path(evaluation.senteval), evaluation.tasks)
    for recipe in recipes:
        if recipe.evaluation.heat_map != "none":
            heat_map_sentences(recipe.evaluation.heat_map)
        if recipe.trains or recipe.pooling.after != "none":
            _check_corpus(recipe)


def _check_corpus(recipe: Recipe) -> None:
    request = _request(recipe, locate(recipe).senteval)
    if recipe.trains:
        check_layout(recipe.corpus.layout, request)
    if recipe.pooling.after != "none":
        check_sentences(recipe.corpus.layout, request)
