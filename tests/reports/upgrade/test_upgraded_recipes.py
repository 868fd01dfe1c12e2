"""Old recipes as new ones: the same training, whatever keys the old form had beside."""

from __future__ import annotations

from typing import Any

import pytest

from reports.upgrade.recipes import upgraded
from trainables.errors import UserError
from trainables.recipe import Recipe

OLD: dict[str, Any] = {  # what the first version wrote, and some keys of later ones
    "encoder.kind": "transformer",
    "encoder.name": "scenes-small",
    "encoder.layers": None,
    "encoder.max_length": 128,
    "pooling.mode": "mean_without_cls",
    "pooling.padding": None,
    "head.kind": "none",
    "head.dim": 64,
    "corpus.nli": "scenes",
    "corpus.limit": None,
    "objective.name": "scl",
    "objective.positives": None,
    "objective.negatives": 3,
    "objective.weight": 0.3,
    "objective.temperature": 0.05,
    "objective.fidelity": "paper",
    "objective.false_negatives": None,
    "objective.margin": 2.0,
    "optimisation.batch_size": 32,
    "optimisation.schedule": "linear",
    "evaluation.tasks": ["sts", "transfer", "STSBenchmark"],
}


def test_what_its_components_lack_is_dropped_and_the_rest_stays() -> None:
    found = upgraded(OLD).flat()
    dropped = {"head.dim", "objective.margin", "objective.fidelity", "evaluation.tasks"}
    assert dropped.isdisjoint(found)
    said = {name: value for name, value in OLD.items() if name not in dropped and value is not None}
    assert found.items() >= said.items()
    assert (found["objective.false_negatives"], found["objective.anchors"], found["pooling.padding"]) == (
        "mask",
        "premises",
        "ignore",
    )


def test_released_code_is_written_out() -> None:
    found = upgraded({**OLD, "objective.fidelity": "released"}).flat()
    assert found["objective.anchors"] == "rows"
    assert "objective.negatives" not in found, "all are taken there"
    assert (found["pooling.padding"], found["optimisation.schedule"]) == ("count", "constant")
    kept = upgraded({**OLD, "objective.fidelity": "released", "optimisation.schedule": "cosine"}).flat()
    assert kept["optimisation.schedule"] == "cosine"
    own = upgraded({**OLD, "objective.fidelity": "released", "pooling.padding": "ignore"}).flat()
    assert (own["pooling.padding"], own["objective.anchors"]) == ("ignore", "rows"), "it was set by itself"


def test_similar_pairs_name_their_own_folder() -> None:
    pairs = {"corpus.layout": "similar_pairs", "objective.name": "ntxent", "evaluation.senteval": "scenes"}
    assert upgraded({**OLD, **pairs}).flat()["corpus.senteval"] == "scenes"


def test_one_of_today_is_upgraded_to_itself() -> None:
    recipe = Recipe().override({"objective.name": "triplet", "corpus.layout": "groups", "objective.margin": 1.0})
    assert upgraded(recipe.flat()) == recipe
    assert upgraded(recipe.flat()).hash == recipe.hash


def test_a_component_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match="theirs"):
        upgraded({**OLD, "objective.name": "theirs"})
