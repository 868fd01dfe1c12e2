"""A recipe as older versions wrote it, as one of today: nothing else knows the old form.

There every recipe had every key, also those that nothing in it read; some were `none`, which meant: as
`objective.fidelity` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainables.recipe import FIDELITY, Recipe, keys

_AS_FIDELITY_SAYS = (
    "pooling.padding",
    "spans.places",
    "objective.false_negatives",
    "objective.anchors",
    "objective.own_positives",
    "objective.workers",
)


def upgraded_recipe(old: Mapping[str, Any]) -> Recipe:
    """The recipe that trains what the old flat one trained. Keys that it lacks have their defaults; those that its
    components do not have are dropped. `UserError` for unknown keys and components: a study's plugins must have run."""
    given = {name: value for name, value in old.items() if name == FIDELITY or not _is_left(name, value)}
    if old.get("corpus.layout") == "similar_pairs":  # it was trained on the STSBenchmark that it was evaluated on
        given["corpus.senteval"] = old.get("evaluation.senteval", keys()["corpus.senteval"].default)
    return Recipe.from_flat(Recipe().preferring(given).flat())


def _is_left(name: str, value: Any) -> bool:
    """Whether a key was left at its default, which a preset could change."""
    known = keys().get(name)
    value = tuple(value) if isinstance(value, list) else value
    return known is not None and (value == known.default or (value is None and name in _AS_FIDELITY_SAYS))
