"""The registry of objectives: every one has an oracle, and what a formula cannot take is refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.naive import LIAO_ORACLES
from tests.naive_groups import GROUP_ORACLES
from tests.naive_scored import SCORED_ORACLES
from trainables.corpora.layouts import LAYOUTS
from trainables.errors import UserError
from trainables.keys import keys_of
from trainables.objectives import OBJECTIVES, check_bank, check_objective, chosen_objective, fits, group_shape
from trainables.objectives.contrastive import Contrastive
from trainables.objectives.directions import DIRECTIONS as ALL
from trainables.objectives.losses.mnrl import MNRL
from trainables.objectives.objective import Objective
from trainables.recipe import Recipe
from trainables.testing.objectives import ObjectiveContract
from trainables.trial.population_key import population_key


def recipe_of(name: str, layout: str, **changes: Any) -> Recipe:
    needed: dict[str, Any] = {"mlm": {"mlm": 1.0}, "distill": {"teacher": "scenes-small"}}.get(name, {})
    given = {f"objective.{key}": value for key, value in {**needed, **changes}.items()}
    return Recipe().override({"objective.name": name, "corpus.layout": layout, **given})


def test_every_objective_has_one_oracle():
    assert sorted([*LIAO_ORACLES, *GROUP_ORACLES, *SCORED_ORACLES, "distill"]) == sorted(OBJECTIVES)


@pytest.mark.parametrize("name", OBJECTIVES)
class TestEveryObjective:
    def test_is_built_for_its_layouts_and_refuses_others(self, name: str):
        for layout in LAYOUTS:
            if fits(OBJECTIVES[name], LAYOUTS[layout if layout != "mix" else "pairs"]):  # of which a mixture is
                assert isinstance(chosen_objective(recipe_of(name, layout)), Objective)
            else:
                key = "mix_layouts='pairs'" if layout == "mix" else f"layout='{layout}'"
                with pytest.raises(UserError, match=f"the objective '{name}' cannot use corpus.{key}; it can"):
                    chosen_objective(recipe_of(name, layout))

    def test_takes_a_memory_bank_if_it_is_on_the_kernel(self, name: str):
        kind = OBJECTIVES[name]
        assert kind.__doc__
        assert ("bank" in keys_of(kind)) == issubclass(kind, Contrastive)
        if issubclass(kind, Contrastive):
            check_bank(recipe_of(name, kind.layouts[0], bank=128))
            with pytest.raises(UserError, match=r"objective\.bank=8 is smaller than one batch, which has \d+ anchors"):
                check_bank(recipe_of(name, kind.layouts[0], bank=8))
        else:
            with pytest.raises(UserError, match=f"objective.name={name} has no objective.bank; leave it out, or take"):
                recipe_of(name, kind.layouts[0], bank=8)

    def test_a_population_takes_its_formula_alone(self, name: str):
        kind = OBJECTIVES[name]
        alone = {"encoder.adapter": "lora", "head.kind": "none"}
        for key, value in {"temperature": "learned", "dims": ("8", "4")}.items():
            if key in keys_of(kind) and (name, key) != ("distill", "temperature"):  # which it refuses
                recipe = recipe_of(name, kind.layouts[0], **{key: value}).override(alone)
                assert not chosen_objective(recipe).settings_stackable
                assert population_key(recipe) is None


@pytest.mark.parametrize(
    ("name", "changes", "layout", "sentence"),
    [
        ("mnrl", {"positives": 2}, "groups", "'mnrl' takes one positive per anchor; set objective.positives=1"),
        ("simcse", {"positives": 2}, "groups", "'simcse' takes one positive per anchor; set objective.positives=1"),
        ("simcse", {"negatives": 2}, "groups", "'simcse' takes one hard negative per anchor; set"),
        ("ntxent", {"negatives": 1}, "groups", "'ntxent' takes no hard negatives; set objective.negatives=none"),
        ("supcon", {"negatives": 5}, "groups", "'supcon' takes no hard negatives; set objective.negatives=none"),
        ("supmpn", {"positives": 2}, "pairs", "corpus.layout=pairs has no objective.positives; leave it out, or take"),
        ("mnrl", {"negatives": 2}, "pairs", "corpus.layout=pairs has no objective.negatives; leave it out, or take"),
        ("distill", {"teacher": None}, "pairs", "objective.name=distill needs a teacher; name an encoder by"),
        ("distill", {"matches": "margins"}, "pairs", "and corpus.layout=pairs has none; take corpus.layout=groups, or"),
        ("distill", {"temperature": "learned"}, "pairs", "would flatten teacher and learner alike; give"),
        ("distill", {"matches": "embeddings", "temperature": 0.1}, "pairs", "objective.temperature changes nothing"),
        ("mlm", {"mlm": 0.0}, "spans", "'mlm' has nothing to train while objective.mlm is 0; set objective.mlm=1"),
        ("sgd", {}, "rows", "objective.name must be 'scl', "),
        ("mlm", {}, "rows", "'mlm' cannot use corpus.layout='rows'; it can use 'sentences' or 'spans'"),
        ("triplet", {"false_negatives": "self"}, "groups", "needs the scores of a softmax, which the objective 't"),
        ("ce_augment", {"false_negatives": "guide"}, "rows", "needs the scores of a softmax, which the objective 'c"),
        ("mnrl", {"false_negatives": "guide"}, "pairs", "needs a guide; name an encoder by objective.guide"),
        ("ntxent", {"false_negatives": "guide", "guide": "x"}, "spans", "set objective.false_negatives=self, or take"),
        ("mnrl", {"false_negatives": "guide", "guide": "x", "bank": 99}, "pairs", "set objective.bank=0, or"),
        ("mnrl", {"filter_margin": 0.1}, "pairs", "changes nothing where objective.false_negatives is mask"),
        ("mnrl", {"directions": ALL, "partition": "apart"}, "pairs", "and query_to_query has no positive; set"),
        ("mnrl", {"directions": ALL, "bank": 99}, "pairs", "objective.directions needs to know which text of a bank"),
        ("mnrl", {"hardness": 1.0, "bank": 99}, "pairs", "and objective.bank holds texts alone; set objective.bank=0"),
        ("supmpn", {"directions": ALL}, "pairs", "objective.name=supmpn has no objective.directions; leave it out, or"),
        ("mnrl", {"temperature": "learned", "temperature_start": 2.0}, "pairs", "objective.temperature_start=2 must"),
        ("mnrl", {"temperature_rate": 0.1}, "pairs", "changes nothing where objective.temperature is 1.0"),
        ("mnrl", {"temperature": 0.0}, "pairs", "objective.temperature must be above 0, not 0"),
        ("mnrl", {"partition": "apart"}, "pairs", "objective.partition changes nothing where objective.directions is"),
        ("scl", {"anchors": "rows", "negatives": 2}, "rows", "changes nothing where objective.anchors is rows"),
    ],
)
def test_the_sentence(name: str, changes: dict[str, Any], layout: str, sentence: str):
    with pytest.raises(UserError) as caught:
        check_objective(recipe_of(name, layout, **changes))
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
    assert group_shape(recipe_of(name, "groups", positives=positives, negatives=negatives)) == shape


def test_in_groups_nothing_is_left_to_draw():
    caps = {"positives": 2, "negatives": 3}
    assert chosen_objective(recipe_of("scl", "rows", **caps)) == OBJECTIVES["scl"](**caps)
    assert chosen_objective(recipe_of("scl", "groups", **caps)) == OBJECTIVES["scl"]()


def test_a_bank_knows_no_classes():
    recipe = recipe_of("supcon", "same_label", bank=256)
    with pytest.raises(UserError, match=r"objective\.bank=256 would hold texts of a class as negatives of the class"):
        check_bank(recipe)


class TestAStrangersEntry:
    @pytest.fixture
    def added(self) -> Iterator[Callable[..., None]]:
        names = []

        def add(**fields: Any) -> None:
            OBJECTIVES.add(type("Mine", (MNRL,), {"name": "mine", **fields}))
            names.append("mine")

        yield add
        for name in names:
            OBJECTIVES.remove(name)

    def test_its_own_number_of_positives_is_named(self, added: Callable[..., None]):
        added(layouts=("groups",), most_positives=3)
        check_objective(recipe_of("mine", "groups", positives=3))
        with pytest.raises(UserError, match=r"takes at most 3 positives per anchor; set objective\.positives=3"):
            check_objective(recipe_of("mine", "groups", positives=4))

    def test_one_that_no_layout_fits_is_refused_in_a_sentence(self, added: Callable[..., None]):
        added(layouts=("gruops",))
        with pytest.raises(UserError, match=r"cannot use corpus\.layout='groups'; it can use none"):
            check_objective(recipe_of("mine", "groups"))


@pytest.mark.parametrize("entry", OBJECTIVES.values(), ids=lambda entry: entry.name)
class TestEveryEntry(ObjectiveContract):
    pass
