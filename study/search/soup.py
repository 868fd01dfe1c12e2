"""What comes after the finals for nothing but scoring: averages of the models that the answer says to use.

First those of all seeds, mixed with the encoder as it came in each share; then, of the share that development scores
choose, one without each seed in turn, which tells how far other seeds would move it. Nothing is trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.answer import Answer
from reports.ledger import SoupOf, StudyInfo
from reports.ledger.finals import SOUP_SHARES, SoupVariant
from reports.results import Results
from reports.soup import Soups
from study.plan import Plan
from study.trial import Trial
from trainables.recipe import Recipe


@dataclass(frozen=True)
class SoupTrials:
    """The soups of a study, as far as they are known."""

    made: SoupOf = SoupOf()
    trials: tuple[Trial, ...] = ()


def soups_of(plan: Plan, info: StudyInfo, trained: Sequence[Recipe]) -> SoupTrials:
    """Of a study whose finals have run. `info` names the finalists, `trained` are the recipes of the finals."""
    results = Results.of(plan.results, info, plan.space)
    chosen = Answer.of(results).to_train
    recipe = next((recipe for recipe in trained if chosen and recipe.hash == chosen.recipe), None)
    if chosen is None or recipe is None or not _averages(recipe):
        return SoupTrials()
    models = {
        record.seed: record.key
        for record in results.finals.get(recipe.hash, ())
        if record.status == "finished" and record.checkpoint is not None
    }
    made = SoupOf(recipe.hash, sorted(models))
    if len(models) < 2:
        return SoupTrials()
    variants = [SoupVariant(share) for share in SOUP_SHARES]
    variants += Soups(results, made).without
    return SoupTrials(made, tuple(_trial(recipe, chosen.name, variant, models) for variant in variants))


def _trial(recipe: Recipe, name: str, variant: SoupVariant, models: dict[int, str]) -> Trial:
    averaged = tuple(key for seed, key in models.items() if seed != variant.without)
    return Trial(recipe, variant.seed, name, averaged=averaged)


def _averages(recipe: Recipe) -> bool:
    """Whether its models begin at one point: weights that each seed draws anew have no average."""
    return recipe.trains and recipe.encoder.adapter != "mlp" and recipe.flat().get("encoder.start") != "random"
