"""Objectives: one contrastive kernel, and losses that choose its masks.

To add one: a module with a class like `SupCon`, and a row here. The recipe's `objective.name` picks it.
"""

from __future__ import annotations

import dataclasses
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainables.errors import UserError, choices
from trainables.recipe import ObjectiveConfig

if TYPE_CHECKING:
    from trainables.objectives.objective import Objective

_NLI = ("rows", "groups")
_PAIRED = ("pairs", "similar_pairs")


@dataclass(frozen=True)
class Kind:
    """Where an objective is, and what its formula takes."""

    module: str
    cls: str
    layouts: tuple[str, ...]
    """The layouts of a corpus (`corpus.layout`) that it can learn from."""
    positives: int | None = None
    """Most positives of an anchor; None takes any number."""
    negatives: int | None = None
    """Most hard negatives of an anchor; None takes any number, 0 none."""
    bank: bool = False
    """Whether it contrasts in a softmax, so that earlier batches (`objective.bank`) can be further negatives."""


OBJECTIVES = {
    # Liao 2021. Cross-entropy needs the three labels.
    "scl": Kind("scl", "SCL", _NLI, bank=True),
    "ce": Kind("ce", "CrossEntropy", _NLI),
    "ce_augment": Kind("ce_augment", "AugmentedCrossEntropy", _NLI),
    # CLSR, DeCLUTR
    "ntxent": Kind("ntxent", "NTXent", ("groups", *_PAIRED, "sentences", "spans"), negatives=0, bank=True),
    # SupMPN, and what it compares itself with
    "mnrl": Kind("mnrl", "MNRL", ("groups", *_PAIRED, "sentences"), positives=1, bank=True),
    "simcse": Kind("mnrl", "SimCSE", ("groups", "sentences"), positives=1, negatives=1, bank=True),
    "supcon": Kind("supcon", "SupCon", ("groups", *_PAIRED, "sentences", "spans"), negatives=0, bank=True),
    "supmpn": Kind("supmpn", "SupMPN", ("groups", *_PAIRED, "sentences", "spans"), bank=True),
    "triplet": Kind("triplets", "Triplet", ("groups",)),
    "batch_all": Kind("triplets", "BatchAll", ("groups", *_PAIRED)),
    "batch_hard": Kind("triplets", "BatchHard", ("groups", *_PAIRED)),
    "mlm": Kind("mlm", "MaskedLanguage", ("sentences", "spans")),
}


def check_objective(config: ObjectiveConfig, layout: str) -> None:
    """Refuse an unknown name, a layout that it cannot learn from, and numbers that its formula has no place for."""
    name = config.name
    if name not in OBJECTIVES:
        raise UserError(f"objective.name must be {choices(map(repr, OBJECTIVES))}, not {name!r}")
    kind = OBJECTIVES[name]
    if layout not in kind.layouts:
        raise UserError(
            f"the objective {name!r} cannot use corpus.layout={layout!r}; it can use {choices(map(repr, kind.layouts))}"
        )
    _check_number("positives", "positive", config, kind.positives)
    _check_number("negatives", "hard negative", config, kind.negatives)
    if layout in (*_PAIRED, "sentences") and (config.positives or 1) > 1:
        raise UserError(f"corpus.layout={layout!r} gives one positive per anchor; set objective.positives=1")
    if layout == "spans" and config.positives is not None:
        raise UserError("corpus.layout='spans' takes spans.positives; set objective.positives=none")
    if layout not in _NLI and config.negatives is not None:
        raise UserError(f"corpus.layout={layout!r} gives no hard negatives; set objective.negatives=none")
    if config.bank and not kind.bank:
        raise UserError(f"the objective {name!r} has no use for a memory bank; set objective.bank=0")
    if name == "mlm" and config.mlm == 0:
        raise UserError("the objective 'mlm' has nothing to train while objective.mlm is 0; set objective.mlm=1")


def group_shape(config: ObjectiveConfig) -> tuple[int | None, int | None]:
    """How many positives and hard negatives the layout `groups` makes for each anchor; None takes all of its own."""
    kind = OBJECTIVES[config.name]
    return (
        kind.positives if config.positives is None else config.positives,
        kind.negatives if config.negatives is None else config.negatives,
    )


def build_objective(config: ObjectiveConfig, dim: int, layout: str) -> Objective:
    """The objective of a recipe for sentence embeddings of size `dim`."""
    check_objective(config, layout)
    if layout == "groups":  # the layout has made exactly P and Q, so nothing is left to be drawn
        config = dataclasses.replace(config, positives=None, negatives=None)
    kind = OBJECTIVES[config.name]
    objective: Objective = getattr(importlib.import_module(f"trainables.objectives.{kind.module}"), kind.cls)(
        config, dim
    )
    return objective


def _check_number(key: str, word: str, config: ObjectiveConfig, most: int | None) -> None:
    asked = getattr(config, key)
    if asked is None or most is None or asked <= most:
        return
    if most == 0:
        raise UserError(f"the objective {config.name!r} takes no {word}s; set objective.{key}=none")
    raise UserError(f"the objective {config.name!r} takes one {word} per anchor; set objective.{key}=1")
