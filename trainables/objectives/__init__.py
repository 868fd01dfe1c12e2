"""Objectives: the losses that train an encoder. All contrastive ones call one kernel, each with its own masks.

To add an objective, write a subclass of `Objective` (`objective.py`) in a module of `losses/` or in a plugin file. Its
fields are its keys. The recipe's `objective.name` picks the objective.
"""

from __future__ import annotations

from trainables.corpora.layouts import LAYOUTS, Layout
from trainables.errors import UserError, choices
from trainables.objectives.objective import Objective
from trainables.objectives.options import FILTERS
from trainables.objectives.temperature import Temperature
from trainables.objectives.widths import Widths
from trainables.recipe import EncoderConfig, ObjectiveConfig, Recipe
from trainables.registry import Registry, classes_in

_LOSSES = classes_in("trainables.objectives.losses", Objective)
_LOSSES.sort(key=lambda loss: loss.name != ObjectiveConfig.name)  # the default first: tables list keys in this order
OBJECTIVES: Registry[type[Objective]] = Registry("objective", *_LOSSES)
"""All objectives, by the values of `objective.name`."""


def fits(objective: type[Objective], layout: type[Layout]) -> bool:
    """Return whether an objective can learn from a layout: one of the two classes must list the other's name."""
    return layout.name in objective.layouts or objective.name in layout.objectives


def check_objective(recipe: Recipe) -> None:
    """Raise `UserError` for a layout that the objective cannot learn from, or for a setting that it cannot use."""
    objective, layout = type(recipe.part(Objective)), recipe.part(Layout)
    for part in layout.parts:
        if not fits(objective, part):
            possible = [repr(other.name) for other in LAYOUTS.values() if fits(objective, other)]
            key = "corpus.layout" if part is type(layout) else "corpus.mix_layouts"
            raise UserError(
                f"the objective {objective.name!r} cannot use {key}={part.name!r}; it can use {choices(possible)}"
            )
    _check_number("objective.positives", "positive", recipe, objective.most_positives)
    _check_number("objective.negatives", "hard negative", recipe, objective.most_negatives)
    _check_filter(recipe)
    made = recipe.part(Objective)
    if isinstance(made, Widths):
        made.check_widths(recipe.head.kind)
    if isinstance(made, Temperature):
        made.check_bounds()
    for part in layout.parts:
        made.check(part)
    if objective.mlm_only and recipe.objective.mlm == 0:
        raise UserError(
            f"the objective {objective.name!r} has nothing to train while objective.mlm is 0; set objective.mlm=1"
        )


def check_bank(recipe: Recipe) -> None:
    """Raise `UserError` for a memory bank smaller than a batch, or for any bank if the layout's groups are classes."""
    anchors = recipe.optimisation.batch_size * recipe.part(Layout).anchors_each
    bank, _ = recipe.part(Objective).memory_bank()
    if bank and any(part.groups_are_classes for part in recipe.part(Layout).parts):
        raise UserError(
            f"objective.bank={bank} would hold texts of a class as negatives of the class, as it knows no labels; take "
            f"objective.bank=0 with corpus.layout={recipe.corpus.layout}"
        )
    if 0 < bank < anchors:
        raise UserError(
            f"objective.bank={bank} is smaller than one batch, which has {anchors} anchors; take a larger bank, or 0 "
            "for none"
        )


def group_shape(recipe: Recipe) -> tuple[int | None, int | None]:
    """Return the numbers of positives and hard negatives per anchor in the layout `groups`. None means all."""
    objective = recipe.part(Objective)
    positives, negatives = (_number(recipe, key) for key in ("objective.positives", "objective.negatives"))
    return (
        objective.most_positives if positives is None else positives,
        objective.most_negatives if negatives is None else negatives,
    )


def chosen_objective(recipe: Recipe) -> Objective:
    """Return the checked objective of a recipe. It draws no positives or negatives if its layout has `exact_counts`."""
    check_objective(recipe)
    objective = recipe.part(Objective)
    return objective.without_draws() if all(part.exact_counts for part in recipe.part(Layout).parts) else objective


def guide_config(recipe: Recipe) -> EncoderConfig | None:
    """Return the settings of the encoder that `objective.guide` or `objective.teacher` names; all but the name are
    defaults. None if the recipe names neither."""
    flat = recipe.flat()
    name = flat.get("objective.guide", flat.get("objective.teacher"))
    return EncoderConfig(name=name) if isinstance(name, str) else None


def _number(recipe: Recipe, key: str) -> int | None:
    value = recipe.flat().get(key)
    return value if isinstance(value, int) else None


def _check_number(key: str, word: str, recipe: Recipe, most: int | None) -> None:
    number, name = _number(recipe, key), recipe.objective.name
    if number is None or most is None or number <= most:
        return
    if most == 0:
        raise UserError(f"the objective {name!r} takes no {word}s; set {key}=none")
    counted = f"one {word}" if most == 1 else f"at most {most} {word}s"
    raise UserError(f"the objective {name!r} takes {counted} per anchor; set {key}={most}")


def _check_filter(recipe: Recipe) -> None:
    flat, objective = recipe.flat(), recipe.part(Objective)
    rule = flat.get("objective.false_negatives")
    if rule not in FILTERS:
        return
    setting = f"objective.false_negatives={rule}"
    if not objective.filters:
        raise UserError(
            f"{setting} needs the scores of a softmax, which the objective {objective.name!r} has not; set "
            "objective.false_negatives=mask"
        )
    if rule == "self":
        return
    if flat["objective.guide"] is None:
        raise UserError(f"{setting} needs a guide; name an encoder by objective.guide, a hub id or a folder")
    if recipe.part(Layout).draws_tokens:
        raise UserError(
            f"{setting} lets another encoder read the texts, and corpus.layout={recipe.corpus.layout} cuts tokens of "
            "the trained one; set objective.false_negatives=self, or take another layout"
        )
    if objective.memory_bank()[0]:
        raise UserError(
            f"{setting} knows no embeddings of earlier batches, which objective.bank holds; set objective.bank=0, or "
            "objective.false_negatives=self"
        )
