"""The untrained encoder: what a search is compared with beside its base settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from study.rows import as_it_came
from tests.conftest import NO_WEIGHTS
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
    names = ["Transformer", "Pooling", *["Dense"] * dense, "Normalize"]
    paths = ["", *(f"{place}_{name}" for place, name in enumerate(names[1:], start=1))]
    modules = [{"type": f"sentence_transformers.models.{name}", "path": path}
               for name, path in zip(names, paths, strict=True)]  # fmt: skip
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}', encoding="utf-8")
    (tmp_path / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}', encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(NO_WEIGHTS)
    base = Recipe({"encoder.name": str(tmp_path), "pooling.mode": "mean", **changes})
    recipe = as_it_came(base)
    assert recipe.encoder.kind == kind
    assert recipe.flat().get("pooling.mode") == ("cls" if kind == "transformer" else None)
    if kind == "transformer":
        assert recipe.encoder == base.encoder
