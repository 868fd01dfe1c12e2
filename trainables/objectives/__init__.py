"""Objectives: one contrastive kernel, and losses that choose its masks.

To add one: a module with a class like `SCL`, and a row here. The recipe's `objective.name` picks it.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from trainables.errors import UserError, choices
from trainables.recipe import ObjectiveConfig

if TYPE_CHECKING:
    from trainables.objectives.batch import Objective

OBJECTIVES = {
    "scl": "SCL",  # Liao 2021, eq. 3: (1 - lambda) cross-entropy + lambda supervised contrastive
    "ce": "CrossEntropy",  # Liao 2021, eq. 1: the SBERT baseline
    "ce_augment": "AugmentedCrossEntropy",  # cross-entropy over the pairs that SCL would contrast
}
"""Name (and module) of each objective, and its class."""


def check_objective(config: ObjectiveConfig) -> None:
    """Refuse an unknown name."""
    if config.name not in OBJECTIVES:
        raise UserError(f"objective.name must be {choices(map(repr, OBJECTIVES))}, not {config.name!r}")


def build_objective(config: ObjectiveConfig, dim: int) -> Objective:
    """The objective of a recipe for sentence embeddings of size `dim`."""
    check_objective(config)
    module = importlib.import_module(f"trainables.objectives.{config.name}")
    objective: Objective = getattr(module, OBJECTIVES[config.name])(config, dim)
    return objective
