"""Where a recipe's data lies, and what it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trainables.errors import UserError
from trainables.recipe import SCENES, Recipe

if TYPE_CHECKING:
    from trainables.corpora.batch import Sampler

ENOUGH_SENTENCES = 100_000
"""Training sentences from which a mean and a covariance are taken."""


@dataclass(frozen=True)
class Data:
    """Resolved places; `description` fills with counts and fingerprints as data is read."""

    senteval: Path
    description: dict[str, Any] = field(default_factory=dict)

    def load_sampler(self, recipe: Recipe, seed: int, encoder: Any) -> Sampler:
        """The training batches. Only spans depend on the encoder: they are drawn from its tokens."""
        if recipe.corpus.layout == "spans":
            from trainables.corpora.spans import make_span_sampler

            sampler, description = make_span_sampler(recipe, encoder, seed)
        else:
            from trainables.objectives import group_shape

            sampler, description = load_sampler(recipe, self.senteval, seed, *group_shape(recipe.objective))
        self.description["corpus"] = {"layout": recipe.corpus.layout, **description}
        return sampler

    def training_sentences(self, recipe: Recipe) -> list[str]:
        """See `training_sentences` below."""
        return training_sentences(recipe, self.senteval)


def load_sampler(
    recipe: Recipe, senteval: Path, seed: int, positives: int | None, negatives: int | None
) -> tuple[Sampler, dict[str, Any]]:
    """The batches of a recipe whose layout is in `LAYOUTS`, and what its corpus is, ready for JSON."""
    from trainables.corpora.layouts import LAYOUTS

    return LAYOUTS[recipe.corpus.layout].load(recipe, senteval, seed, positives, negatives)


def training_sentences(recipe: Recipe, senteval: Path, limit: int = ENOUGH_SENTENCES) -> list[str]:
    """The first so many unique sentences of the recipe's corpus, in its order."""
    from trainables.corpora.layouts import LAYOUTS

    _need_sentences(recipe)
    sentences = LAYOUTS[recipe.corpus.layout].sentences(recipe, senteval)
    return list(islice(dict.fromkeys(sentences), limit))


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
        if recipe.pooling.after != "none":
            _need_sentences(recipe)
        if recipe.trains or recipe.pooling.after != "none":
            _check_corpus(recipe)


def _check_corpus(recipe: Recipe) -> None:
    if recipe.corpus.layout == "spans":
        from trainables.corpora.documents import check_documents
        from trainables.corpora.spans import check_spans, shortest_document

        check_spans(recipe.spans, recipe.encoder.max_length)
        check_documents(
            recipe.corpus.documents,
            shortest_document(recipe.spans),
            recipe.optimisation.batch_size,
            recipe.corpus.share,
        )
        return
    from trainables.corpora.layouts import LAYOUTS, count_nli

    if not recipe.trains and recipe.corpus.layout != "similar_pairs":
        count_nli(recipe.corpus.nli, recipe.corpus.limit)  # sentences alone, however they would be laid out
        return
    from trainables.objectives import group_shape

    LAYOUTS[recipe.corpus.layout].check(recipe, locate(recipe).senteval, *group_shape(recipe.objective))


def _need_sentences(recipe: Recipe) -> None:
    if recipe.corpus.layout == "spans":
        raise UserError(
            f"pooling.after={recipe.pooling.after} is fitted on sentences, and corpus.layout=spans holds documents; "
            "give another layout"
        )
