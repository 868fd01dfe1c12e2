"""The original encoder: what a search is compared with beside its base settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from study.rows import as_it_came
from tests.study.plans import model_folder
from trainables.recipe import Recipe


def test_a_plain_transformer_comes_with_what_is_set_of_it_and_the_mean() -> None:
    changes = {"encoder.layers": 1, "encoder.query_prompt": "query: ", "encoder.max_length": 16}
    base = Recipe({"encoder.name": "scenes-small", "encoder.adapter": "mlp", "pooling.mode": "cls", **changes})
    recipe = as_it_came(base)
    flat = recipe.flat()
    assert (flat["optimisation.epochs"], flat["encoder.adapter"], flat["pooling.mode"]) == (0, "none", "mean")
    assert recipe.encoder == base.override({"encoder.adapter": "none"}).encoder
    assert not recipe.uses_seed
    assert recipe == as_it_came(Recipe({"encoder.name": "scenes-small", **changes}))


@pytest.mark.parametrize(
    ("dense", "changes", "kind"),
    [
        (False, {}, "transformer"),
        (True, {}, "pipeline"),
        (True, {"encoder.max_length": None}, "pipeline"),
        (True, {"encoder.max_length": 64}, "transformer"),
        (True, {"encoder.layers": 1}, "transformer"),
        (True, {"encoder.query_prompt": "ask: "}, "transformer"),
    ],
)
def test_a_finished_model_comes_through_its_own_pipeline_only_where_nothing_else_follows_it(
    dense: bool, changes: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    name = model_folder(str(tmp_path / "model"), *["Dense"] * dense, "Normalize")
    base = Recipe({"encoder.name": name, "pooling.mode": "mean", **changes})
    recipe = as_it_came(base)
    assert recipe.encoder.kind == kind
    assert recipe.flat().get("pooling.mode") == ("cls" if kind == "transformer" else None)
    if kind == "transformer":
        assert recipe.encoder == base.encoder
