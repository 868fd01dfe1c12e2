"""Whole searches side by side: both sides run the same recipes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import whole_search
from search_spaces import load_space
from study.search.ask_tell import AskTell, memory_study
from study.search.samplers import SAMPLERS
from trainables.errors import UserError
from trainables.plugins import load_plugin
from trainables.recipe import SCENES


def test_recipes_are_drawn_within_the_peers_ranges_and_again_the_same():
    drawn = whole_search.recipes(40, seed=0)
    assert drawn == whole_search.recipes(40, seed=0) != whole_search.recipes(40, seed=1)
    assert {recipe["optimisation.epochs"] for recipe in drawn} == {1, 2}
    assert all(32 <= recipe["optimisation.batch_size"] <= 128 for recipe in drawn)


def test_our_side_asks_for_the_recipes_of_the_list_in_their_order(tmp_path: Path):
    drawn = whole_search.recipes(3, seed=0)
    asked = {"train": SCENES, "dev": "dev.csv", "test": "test.csv", "encoder": "scenes-small", "recipes": drawn}
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    sampler, file = whole_search.written(tmp_path / "asked.json")
    load_plugin(sampler)
    space = load_space(file)
    asking = AskTell(memory_study(SAMPLERS["listed"].build(0)), space.base, space.domains)
    assert [asking.choose()[1] for _ in drawn] == drawn


def test_an_encoder_that_is_no_folder_is_refused():
    with pytest.raises(UserError, match=r"holds no config\.json"):
        whole_search.main(["--train", "a", "--dev", "b", "--test", "c", "--encoder", "none"])
