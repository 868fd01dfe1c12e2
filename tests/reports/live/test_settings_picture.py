"""Recipes as lines across their settings: where they lie, and whose line is boldest."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from reports.live.folder import ScoredRecipe
from reports.live.picture import HEIGHT
from reports.live.settings_picture import ABSENT, BOTTOM, MAX_AXES, TOP, SettingAxis, settings_picture
from trainables.recipe import Value

LOW, HIGH = HEIGHT - BOTTOM, TOP


def recipe(name: str, settings: Mapping[str, Value], score: float) -> ScoredRecipe:
    return ScoredRecipe(name, "", (score,), 1, 0.0, settings=settings)


def test_numbers_lie_by_their_size_and_words_after_them() -> None:
    batches = SettingAxis.of("batch", 0.0, [64, 16, 32, 16], 4)
    assert batches.values == (16, 32, 64)
    assert [batches.y(value) for value in (16, 40, 64)] == [LOW, (LOW + HIGH) / 2, HIGH]
    rates = SettingAxis.of("rate", 0.0, [1e-4, 1e-6, 1e-5], 3)
    assert rates.y(1e-5) == pytest.approx((LOW + HIGH) / 2)
    mixed = SettingAxis.of("positives", 0.0, [None, 10, 2], 3)
    assert mixed.values == (2, 10, None)
    assert [mixed.y(value) for value in mixed.values] == [LOW, (LOW + HIGH) / 2, HIGH]


def test_a_recipe_without_a_setting_passes_below_its_axis() -> None:
    settings = [{"objective.temperature": 0.1, "head.dim": 32}, {"objective.temperature": 0.2}, {"head.dim": 64}]
    drawn = settings_picture([recipe(f"#{place}", each, place) for place, each in enumerate(settings)], False)
    heights = [re.findall(r",([\d.]+)", points) for points in re.findall(r'points="([^"]*)"', drawn)]
    absent = [[float(height) == ABSENT for height in line] for line in heights]
    assert absent == [[False, False, False], [False, True, False], [True, False, False]]
    assert drawn.count(f'y="{ABSENT + 4}">—<') == 2


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_the_best_is_boldest_and_on_top(lower_is_better: bool) -> None:
    lines = [recipe(f"#{place}", {"objective.temperature": 0.1 * place}, 50.0 + place) for place in range(1, 11)]
    drawn = re.findall(r'class="recipe f(\d)" data-name="#(\d+)"', settings_picture(lines, lower_is_better))
    order = [*range(10, 0, -1)] if lower_is_better else [*range(1, 11)]
    assert [int(name) for _, name in drawn] == order
    assert [int(fifth) for fifth, _ in drawn] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_only_settings_that_differ_have_an_axis() -> None:
    same = {"pooling.mode": "mean", "optimisation.batch_size": 16}
    assert settings_picture([recipe(name, same, 1.0) for name in "ab"], False) == ""
    other = recipe("b", {**same, "pooling.mode": "cls"}, 2.0)
    picture = settings_picture([recipe("a", same, 1.0), other], False)
    assert ">pooling<" in picture
    assert "batch" not in picture
    assert MAX_AXES > 1


def test_nothing_from_outside_is_markup() -> None:
    hostile = '"><script>alert(1)</script>'
    lines = [recipe(hostile, {"pooling.mode": value}, score) for value, score in ((hostile, 1.0), ("mean", 2.0))]
    picture = settings_picture(lines, False)
    assert "<script" not in picture
    assert 'data-name="&quot;' in picture


def test_no_line_lies_over_the_values_of_an_axis() -> None:
    lines = [recipe(f"#{place}", {"optimisation.epochs": place}, 50.0 + place) for place in range(1, 4)]
    drawn = settings_picture(lines, lower_is_better=False)
    assert drawn.rindex("<polyline") < drawn.index('class="end value"')
