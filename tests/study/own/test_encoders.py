"""Encoders of one's own to begin with: two in one study, and what is set of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from study.check import check_plan
from study.rows import as_it_came
from tests.conftest import NO_WEIGHTS
from tests.study.own.test_study import write
from tests.study.plans import model_folder, plan_of
from trainables.errors import UserError

pytestmark = pytest.mark.usefixtures("own_folder")


ENCODERS: dict[str, Callable[[str], str]] = {
    "built-in": lambda name: "scenes-small",
    "plain": lambda name: write_files(name, {"config.json": '{"model_type": "roberta"}'}),
    "finished": lambda name: model_folder(name, "Normalize"),
    "own pipeline": lambda name: model_folder(name, "Dense", "Normalize"),
    "prompts": lambda name: model_folder(name, query="ask: ", passage="text: "),
}


def write_files(folder: str, files: dict[str, str]) -> str:
    Path(folder).mkdir()
    for name, text in files.items():
        Path(folder, name).write_text(text)
    Path(folder, "model.safetensors").write_bytes(NO_WEIGHTS)
    return folder


@pytest.mark.parametrize("pair", [*itertools.pairwise([*ENCODERS, "built-in"])], ids=" and ".join)
def test_two_encoders_make_a_space_that_can_run(pair: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    """Every kind is the first once, and the second once. Each as it came, with what it says of itself, beside its base
    settings."""
    models = [ENCODERS[kind](f"{index}-model") for index, kind in enumerate(pair)]
    plan = plan_of("--train", write("pairs"), "--encoder", *models, "--dry-run")
    check_plan(plan)
    untrained_recipes = [plan.rows[label] for label in plan.rows if label.endswith("original")]
    base = [plan.rows[label] for label in plan.rows if label.endswith("base settings")]
    assert plan.finals is not None
    assert untrained_recipes[0] == as_it_came(plan.base)
    for kind, untrained, trained in zip(pair, untrained_recipes, base, strict=True):
        assert untrained.encoder.kind == ("pipeline" if kind == "own pipeline" else "transformer")
        assert untrained == as_it_came(trained)
        assert trained.encoder.max_length is None
    lengths = {"finished": "256 tokens", "own pipeline": "256 tokens", "prompts": "77 tokens", "plain": "all of a text"}
    read = [f"{index}-model {lengths[kind]}" for index, kind in enumerate(pair) if kind in lengths]
    assert f"longest input of each encoder (encoder.max_length): {', '.join(read)}" in capsys.readouterr().out


def test_what_is_set_of_the_encoder_holds_for_the_encoder_as_it_came(capsys: pytest.CaptureFixture[str]) -> None:
    name = model_folder("mine", "Dense", query="ask: ")
    values = ["encoder.layers=1", "encoder.max_length=64", "encoder.query_prompt=find: ", "encoder.precision=bf16"]
    settings = [word for value in values for word in ("--set", value)]
    plan = plan_of("--train", write("pairs"), "--encoder", name, *settings)
    check_plan(plan)
    assert "encoder.max_length" not in capsys.readouterr().out
    untrained = plan.rows["original encoder"]
    assert plan.finals is not None
    assert untrained == as_it_came(plan.base)
    assert untrained.encoder == plan.base.encoder
    assert (untrained.encoder.layers, untrained.encoder.max_length, untrained.encoder.query_prompt) == (1, 64, "find: ")
    assert untrained.encoder.precision == "bf16"


def test_static_encoders_are_named_and_can_be_asked_for() -> None:
    modules = json.dumps([{"type": "sentence_transformers.models.StaticEmbedding", "path": ""}])
    files = {"modules.json": modules, "tokenizer.json": "{}"}
    models = [write_files(name, files) for name in ("first", "second")]
    arguments = ["--train", write("pairs"), "--encoder", *models]
    with pytest.raises(UserError, match=r"is a static encoder; set encoder\.kind to 'static'"):
        check_plan(plan_of(*arguments, "--results", "one"))
    plan = plan_of(*arguments, "--set", "encoder.kind=static", "--results", "other")
    check_plan(plan)
    assert {recipe.encoder.kind for recipe in plan.rows.values() if recipe is not None} == {"static", "tf_idf"}
