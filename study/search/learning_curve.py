"""Would more data help? What the answer says to use, trained again on parts of its data under the seeds of the finals.

A part is whole: of a text all that is paired with it (`corpus.share`). The smaller one is contained in the larger one.
Epochs stay, so a part has fewer steps. All of the data are the finals' own trials. Nothing that a part scores reaches
any choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reports.answer import Answer
from reports.guards.words import listed
from reports.ledger import LearningCurve
from reports.ledger.finals import SHARE, SHARES, part_name
from reports.results import Results
from study.search.ladder import on_part
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.trial import check_recipes

WITHOUT = {
    "unfinished": "it begins once all trials of the finals are done",
    "as it came": "the answer is to keep the untrained encoder, so there is nothing to train",
}
"""Why there is none, by the kind of the answer."""


def check_curve(recipe: Recipe) -> None:
    """`UserError` where the data of a study with this base cannot be cut."""
    if SHARE not in recipe.flat():
        raise UserError(
            f"--learning-curve trains on parts of the data, and corpus.layout={recipe.corpus.layout} has none "
            f"({SHARE}); leave it out"
        )


@dataclass(frozen=True)
class Parts:
    """What a learning curve trains."""

    curve: LearningCurve = LearningCurve()
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    """By what people call them."""
    sentences: tuple[str, ...] = ()
    """Sentences: what it is of, and why not of more."""


def parts_of(results: Results, trained: Sequence[Recipe], evaluation: EvaluationConfig) -> Parts:
    """Of a study whose finals have run, which `trained` these recipes."""
    answer = Answer.of(results)
    chosen = answer.to_train
    whole = next((recipe for recipe in trained if chosen and recipe.hash == chosen.recipe), None)
    if chosen is None or whole is None or not whole.trains:
        return Parts(
            sentences=(f"no learning curve: {WITHOUT.get(answer.kind, 'the answer names no recipe to train')}",)
        )
    parts: dict[str, Recipe | None] = {}
    sentences = []
    for name, share in SHARES.items():
        part = on_part(whole, share)
        try:
            check_recipes([part] if part else [], evaluation)
        except UserError as error:
            sentences.append(f"the learning curve has no {name} of the data: {error}")
            part = None
        parts[name] = part
    curve = LearningCurve(whole.hash, {name: part.hash if part else None for name, part in parts.items()})
    recipes = {part_name(SHARES[name], chosen.name): part for name, part in parts.items() if part}
    if recipes:
        sentences.append(
            f"learning curve: {chosen.name} on {listed([name for name in parts if parts[name]])} of its data"
        )
    return Parts(curve, recipes, tuple(sentences))
