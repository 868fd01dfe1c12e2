"""What comes after the finals for nothing but scoring: averages of the models that the answer says to use.

First those of all seeds, mixed with the untrained encoder in each share; then, of the share that development scores
choose, one without each seed in turn, which tells how far other seeds would move it. Nothing is trained. Once the first
is scored its seeds stay, also where further ones run later: the models of others may be gone by then.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from reports.answer import Answer
from reports.evidence import Evidence
from reports.ledger import trial_key
from reports.ledger.finals import SOUP_SHARES, SoupVariant
from reports.results import Results
from reports.soup import Soups
from study.trial import Trial
from trainables.recipe import Recipe


def soups_of(results: Results, trained: Sequence[Recipe]) -> list[Trial]:
    """Of a study whose finals have run, which `trained` these recipes, as far as they are known."""
    chosen = Answer.of(results).to_train
    recipe = next((recipe for recipe in trained if chosen and recipe.hash == chosen.recipe), None)
    if chosen is None or recipe is None or not _averages(recipe) or all(goal.cost for goal in results.goals):
        return []
    soups = Soups(results, recipe.hash)
    seeds = soups.seeds or _seeds(results, recipe.hash)
    if len(seeds) < 2:
        return []
    variants = [SoupVariant(share) for share in SOUP_SHARES] + soups.without
    return [
        Trial(
            recipe,
            variant.seed,
            chosen.name,
            averaged=tuple(trial_key(recipe.hash, seed) for seed in seeds if seed != variant.without),
        )
        for variant in variants
    ]


def _seeds(results: Results, recipe_hash: str) -> list[int]:
    """The fresh seeds, if all of them have a model; without those under which training collapsed."""
    records = [record for record in results.finals.get(recipe_hash, ()) if record.status == "finished"]
    collapsed = Evidence(dataclasses.replace(results, records=records)).collapses.get(recipe_hash, ())
    whole = [record for record in records if record.seed not in collapsed]
    return [record.seed for record in whole] if all(record.checkpoint for record in whole) else []


def _averages(recipe: Recipe) -> bool:
    """Whether its models begin at one point: weights that each seed draws anew have no average."""
    return recipe.trains and recipe.encoder.adapter != "mlp" and recipe.flat().get("encoder.start") != "random"
