"""What `objective.fidelity` sets: presets of keys that can each be had by themselves."""

from __future__ import annotations

from typing import Any

import pytest

from search_spaces import spaces
from trainables.fidelity import preset, resolve
from trainables.objectives import OBJECTIVES
from trainables.recipe import Recipe, keys

OPEN = {name: item for name, item in keys().items() if item.since == 2 and item.default is None}
RELEASED = {"objective.fidelity": "released"}


def values(changes: dict[str, Any]) -> dict[str, Any]:
    return dict(resolve(Recipe().override(changes)).flat())


def test_nothing_stays_open():
    for changes in ({}, RELEASED):
        for name in OBJECTIVES:
            found = values({"objective.name": name, **changes})
            honest = [key for key in OPEN if key not in ("corpus.columns", "corpus.labels")]
            assert all(found[key] is not None for key in honest), name


@pytest.mark.parametrize("name", ["scl", "ce", "ce_augment"])
def test_liao_as_released(name: str):
    found = values({"objective.name": name, **RELEASED})
    assert found["objective.anchors"] == "rows"
    assert found["objective.false_negatives"] == "keep"
    assert found["pooling.padding"] == "count"
    assert found["optimisation.schedule"] == "constant"
    assert found["objective.workers"] == "sum"
    other = values({"objective.name": name, "pooling.mode": "cls", **RELEASED})
    assert other["pooling.padding"] == "ignore"


def test_only_declutr_divides_by_the_workers():
    """NT-Xent as CLSR has it is the same on any number of workers, also as released."""
    clsr = values({"objective.name": "ntxent", "corpus.layout": "pairs", **RELEASED})
    declutr = values({"objective.name": "ntxent", "corpus.layout": "spans", **RELEASED})
    assert (clsr["objective.workers"], declutr["objective.workers"]) == ("sum", "mean")
    assert (clsr["objective.false_negatives"], declutr["objective.false_negatives"]) == ("keep", "keep")
    assert (clsr["spans.places"], declutr["spans.places"]) == ("apart", "blocks")
    assert clsr["optimisation.schedule"] == "linear"


def test_supmpn_as_released():
    found = values({"objective.name": "supmpn", "corpus.layout": "groups", **RELEASED})
    assert (found["objective.own_positives"], found["objective.false_negatives"]) == ("score_zero", "keep")


def test_a_key_that_is_set_is_not_set_again():
    """CLSR's eq. 1 as printed: repeated texts stay, and nothing else of the released code."""
    printed = Recipe().override({"objective.name": "ntxent", "objective.false_negatives": "keep"})
    assert "objective.false_negatives" not in preset(printed)
    found = resolve(printed)
    assert (found.objective.false_negatives, found.objective.anchors) == ("keep", "premises")
    mixed = resolve(Recipe().override({**RELEASED, "objective.anchors": "premises", "optimisation.schedule": "cosine"}))
    assert (mixed.objective.anchors, mixed.optimisation.schedule) == ("premises", "cosine")
    assert mixed.objective.false_negatives == "keep"


@pytest.mark.parametrize("space", spaces().values(), ids=lambda space: space.name)
def test_a_resolved_recipe_is_resolved(space: Any):
    for row in space.rows:
        recipe = resolve(space.base.override(row.overrides))
        assert resolve(recipe) == recipe
