"""Trials after the finals, of the recipe that the answer recommends.

Soups are averages of its models; they are only scored. First come those of all seeds, mixed with the original encoder
in each share. Then come, with the share that development scores choose, averages that leave out one seed each: they
show how far other seeds would move the score. Once the first soup is scored its seeds stay, even if further seeds run
later: the models of other seeds may be deleted by then.

A learning curve shows whether more data would help. It trains on parts of the data under the seeds of the finals. A
part keeps a text with all that is paired with it (`corpus.share`), and a larger part contains the smaller ones. Epochs
stay, so a part has fewer steps. The finals' own trials are its point for all of the data. No choice uses its scores.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reports.facts.answer import Answer
from reports.facts.evidence import Evidence
from reports.facts.results import Results
from reports.facts.soup import Soups
from reports.ledger import LearningCurve, trial_key
from reports.ledger.finals import CURVE_SHARES, SHARE, SOUP_SHARES, SoupVariant, part_name
from reports.words.guards import listed
from study.search.ladder import on_part
from study.trial import Trial
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.trial import check_recipes

WITHOUT = {
    "unfinished": "it begins once all trials of the finals are done",
    "as it came": "the answer is to keep the original encoder, so there is nothing to train",
}
"""Reasons why there is no learning curve, by the kind of the answer."""


def plan_soups(results: Results, trained: Sequence[Recipe]) -> list[Trial]:
    """Return the soups that are known so far. The study's finals have run, and it `trained` these recipes. Empty if the
    answer recommends no recipe with models to average, or if all goals are costs."""
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
    """Return the fresh seeds under which training did not collapse; empty if the model of one of them was not kept."""
    records = [record for record in results.finals.get(recipe_hash, ()) if record.status == "finished"]
    collapsed = Evidence(dataclasses.replace(results, records=records)).collapses.get(recipe_hash, ())
    whole = [record for record in records if record.seed not in collapsed]
    return [record.seed for record in whole] if all(record.checkpoint for record in whole) else []


def _averages(recipe: Recipe) -> bool:
    """Whether the models of all seeds of a recipe start from the same weights. Otherwise their mean is useless."""
    return recipe.trains and recipe.encoder.adapter != "mlp" and recipe.flat().get("encoder.start") != "random"


def check_curve(recipe: Recipe) -> None:
    """Raise `UserError` if the data of this base recipe cannot be cut into the parts of a learning curve."""
    if SHARE not in recipe.flat():
        raise UserError(
            f"--learning-curve trains on parts of the data, and corpus.layout={recipe.corpus.layout} has none "
            f"({SHARE}); leave it out"
        )


@dataclass(frozen=True)
class PlannedCurve:
    """The recipes of a learning curve."""

    curve: LearningCurve = LearningCurve()
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    """Recipes on parts of the data, by displayed name."""
    sentences: tuple[str, ...] = ()
    """Messages to print: the parts of the data on the curve, and the reasons for missing parts."""


def plan_curve(results: Results, trained: Sequence[Recipe], evaluation: EvaluationConfig) -> PlannedCurve:
    """Return the learning curve of a study whose finals have run and `trained` these recipes."""
    answer = Answer.of(results)
    chosen = answer.to_train
    whole = next((recipe for recipe in trained if chosen and recipe.hash == chosen.recipe), None)
    if chosen is None or whole is None or not whole.trains:
        return PlannedCurve(
            sentences=(f"no learning curve: {WITHOUT.get(answer.kind, 'the answer names no recipe to train')}",)
        )
    parts: dict[str, Recipe | None] = {}
    sentences = []
    for name, share in CURVE_SHARES.items():
        part = on_part(whole, share)
        try:
            check_recipes([part] if part else [], evaluation)
        except UserError as error:
            sentences.append(f"the learning curve has no {name} of the data: {error}")
            part = None
        parts[name] = part
    curve = LearningCurve(whole.hash, {name: part.hash if part else None for name, part in parts.items()})
    recipes = {part_name(CURVE_SHARES[name], chosen.name): part for name, part in parts.items() if part}
    if recipes:
        sentences.append(
            f"learning curve: {chosen.name} on {listed([name for name in parts if parts[name]])} of its data"
        )
    return PlannedCurve(curve, recipes, tuple(sentences))
