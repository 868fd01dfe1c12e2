"""The registry of objectives: every one has an oracle, and what a formula cannot take is refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.naive import LIAO_ORACLES
from tests.naive_groups import GROUP_ORACLES
from trainables.corpora.layouts import LAYOUTS
from trainables.errors import UserError
from trainables.objectives import (
    OBJECTIVES,
    ObjectiveEntry,
    build_objective,
    check_objective,
    group_shape,
    resolve_objective,
)
from trainables.objectives.contrastive import Contrastive
from trainables.objectives.objective import Objective
from trainables.recipe import ObjectiveConfig
from trainables.testing.objectives import ObjectiveContract


def config_of(name: str, **changes: Any) -> ObjectiveConfig:
    return ObjectiveConfig(name, **({"mlm": 1.0} if name == "mlm" else {}), **changes)


def test_every_objective_has_one_oracle():
    assert sorted([*LIAO_ORACLES, *GROUP_ORACLES]) == sorted(OBJECTIVES)


@pytest.mark.parametrize("name", OBJECTIVES)
class TestEveryObjective:
    @pytest.mark.parametrize("layout", LAYOUTS)
    def test_is_built_for_its_layouts_and_refuses_others(self, name: str, layout: str):
        if layout in OBJECTIVES[name].layouts:
            assert isinstance(build_objective(config_of(name), 4, layout), Objective)
        else:
            with pytest.raises(UserError, match=f"the objective '{name}' cannot use corpus.layout='{layout}'; it can"):
                build_objective(config_of(name), 4, layout)

    def test_says_what_it_is(self, name: str):
        objective = build_objective(config_of(name), 4, OBJECTIVES[name].layouts[0])
        assert type(objective).__doc__
        assert objective.needs_embeddings != OBJECTIVES[name].mlm_only

    def test_takes_a_memory_bank_if_it_is_on_the_kernel(self, name: str):
        kind = OBJECTIVES[name]
        objective = build_objective(config_of(name), 4, kind.layouts[0])
        assert kind.bank == isinstance(objective, Contrastive)
        if kind.bank:
            check_objective(config_of(name, bank=8), kind.layouts[0])
        else:
            with pytest.raises(UserError, match=f"'{name}' has no use for a memory bank; set objective.bank=0"):
                check_objective(config_of(name, bank=8), kind.layouts[0])


@pytest.mark.parametrize(
    ("name", "changes", "layout", "sentence"),
    [
        ("mnrl", {"positives": 2}, "groups", "'mnrl' takes one positive per anchor; set objective.positives=1"),
        ("simcse", {"positives": 2}, "groups", "'simcse' takes one positive per anchor; set objective.positives=1"),
        (
            "simcse",
            {"negatives": 2},
            "groups",
            "'simcse' takes one hard negative per anchor; set objective.negatives=1",
        ),
        ("ntxent", {"negatives": 1}, "groups", "'ntxent' takes no hard negatives; set objective.negatives=none"),
        ("supcon", {"negatives": 5}, "groups", "'supcon' takes no hard negatives; set objective.negatives=none"),
        ("supmpn", {"positives": 2}, "pairs", "'pairs' gives one positive per anchor; set objective.positives=1"),
        ("mnrl", {"negatives": 2}, "pairs", "'pairs' gives no hard negatives; set objective.negatives=none"),
        ("ntxent", {"positives": 2}, "spans", "'spans' takes spans.positives; set objective.positives=none"),
        ("mlm", {"mlm": 0.0}, "spans", "'mlm' has nothing to train while objective.mlm is 0; set objective.mlm=1"),
        ("sgd", {}, "rows", "objective.name must be 'scl', "),
        ("mlm", {}, "rows", "'mlm' cannot use corpus.layout='rows'; it can use 'sentences' or 'spans'"),
    ],
)
def test_the_sentence(name: str, changes: dict[str, Any], layout: str, sentence: str):
    with pytest.raises(UserError) as caught:
        check_objective(ObjectiveConfig(name, **changes), layout)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("name", "positives", "negatives", "shape"),
    [
        ("supmpn", 5, 5, (5, 5)),
        ("supmpn", None, None, (None, None)),
        ("mnrl", None, 3, (1, 3)),
        ("simcse", None, None, (1, 1)),
        ("ntxent", 3, None, (3, 0)),
        ("supcon", None, None, (None, 0)),
        ("triplet", 2, None, (2, None)),
    ],
)
def test_what_the_layout_groups_is_to_make(
    name: str, positives: int | None, negatives: int | None, shape: tuple[int | None, int | None]
):
    assert group_shape(ObjectiveConfig(name, positives, negatives)) == shape


def test_in_groups_nothing_is_left_to_draw():
    config = ObjectiveConfig("scl", positives=2, negatives=3)
    assert build_objective(config, 4, "rows").config == resolve_objective(config)
    assert build_objective(config, 4, "groups").config == resolve_objective(ObjectiveConfig("scl"))


class TestAStrangersEntry:
    @pytest.fixture
    def added(self) -> Iterator[Callable[..., None]]:
        names = []

        def add(**fields: Any) -> None:
            OBJECTIVES.add(ObjectiveEntry("mine", OBJECTIVES["mnrl"].build, **fields))
            names.append("mine")

        yield add
        for name in names:
            OBJECTIVES.remove(name)

    def test_its_own_number_of_positives_is_named(self, added: Callable[..., None]):
        added(layouts=("groups",), positives=3)
        check_objective(ObjectiveConfig("mine", positives=3), "groups")
        with pytest.raises(UserError, match=r"takes at most 3 positives per anchor; set objective\.positives=3"):
            check_objective(ObjectiveConfig("mine", positives=4), "groups")

    def test_one_without_a_loss_of_its_own_needs_mlm(self, added: Callable[..., None]):
        added(layouts=("sentences",), mlm_only=True)
        check_objective(ObjectiveConfig("mine", mlm=0.1), "sentences")
        with pytest.raises(UserError, match=r"'mine' has nothing to train while objective\.mlm is 0"):
            check_objective(ObjectiveConfig("mine"), "sentences")

    def test_one_that_no_layout_fits_is_refused_in_a_sentence(self, added: Callable[..., None]):
        added(layouts=("gruops",))
        with pytest.raises(UserError, match=r"cannot use corpus\.layout='groups'; it can use none"):
            check_objective(ObjectiveConfig("mine"), "groups")


@pytest.mark.parametrize("entry", OBJECTIVES.values(), ids=lambda entry: entry.name)
class TestEveryEntry(ObjectiveContract):
    pass
