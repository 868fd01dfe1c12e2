"""The loss at several widths: the sum of what loops give for embeddings that were cut by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.gloo_worker import model_of
from tests.naive_distill import DISTILL_ORACLES
from tests.naive_groups import GROUP_ORACLES
from tests.naive_scored import SCORED_ORACLES
from tests.objective_batches import (
    EXACT,
    build,
    check_equal,
    embedded,
    fitting,
    labelled,
    options,
    random_rows,
    with_bank,
)
from trainables.errors import UserError
from trainables.keys import keys_of
from trainables.objectives import OBJECTIVES, check_objective
from trainables.objectives.contrastive import Contrastive
from trainables.objectives.objective import EmbeddedBatch
from trainables.recipe import Recipe

CUT = [name for name in OBJECTIVES if "dims" in keys_of(OBJECTIVES[name])]
ORACLES = {**GROUP_ORACLES, **SCORED_ORACLES, "distill": DISTILL_ORACLES["similarities"]}
SOFTMAX = [name for name in CUT if name in GROUP_ORACLES]
WIDTHS = {"dims": ("4", "2"), "dims_weights": ("0.5", "2")}
WEIGHTS = {None: 1.0, 4: 0.5, 2: 2.0}


def config_of(name: str, **changes: Any) -> Any:
    return options(name, temperature=0.3, teacher="scenes-small", **changes)


def batch_for(name: str, seed: int) -> EmbeddedBatch:
    if name == "scl":
        return labelled(random_rows(seed), seed)
    if name in SCORED_ORACLES:
        batch = embedded(list(range(12)), [(n, n, 6 + n, 1) for n in range(6)], seed)
        return replace(batch, score=torch.tensor([0.2, 0.9, 0.4, 0.4, 1.0, 0.0]))
    return fitting(name, seed)


def cut(batch: EmbeddedBatch, width: int | None) -> EmbeddedBatch:
    bank = None if batch.bank is None else batch.bank[:, :width]
    return replace(batch, projected=batch.projected[:, :width], bank=bank)


def summed(name: str, batch: EmbeddedBatch, config: Any) -> Tensor:
    return sum(weight * ORACLES[name](cut(batch, width), config) for width, weight in WEIGHTS.items())  # type: ignore[return-value]


def test_every_loss_with_a_softmax_and_every_scored_one_has_widths():
    softmax = {name for name, loss in OBJECTIVES.items() if issubclass(loss, Contrastive)}
    assert set(CUT) == {*softmax, *SCORED_ORACLES, "distill"}


@pytest.mark.parametrize("name", [name for name in CUT if name in ORACLES])
def test_against_loops(name: str):
    batch, objective = batch_for(name, 5), build(config_of(name, **WIDTHS))
    for given in [batch, with_bank(batch)] if name in SOFTMAX else [batch]:
        ours, theirs = objective(given).value, summed(name, given, config_of(name))
        check_equal(ours, theirs, given, objective)


def test_scl_contrasts_the_same_drawn_texts_at_every_width():
    """Its classifier sees whole embeddings alone."""
    drawn = {"weight": 1.0, "positives": 1, "negatives": 2}
    batch = batch_for("scl", 5)
    again = lambda width: replace(cut(batch, width), generator=torch.Generator().manual_seed(5))  # noqa: E731
    ours = build(config_of("scl", **drawn, **WIDTHS))(again(None)).value
    theirs = sum(w * build(config_of("scl", **drawn))(again(width)).value for width, w in WEIGHTS.items())
    torch.testing.assert_close(ours, theirs, **EXACT)
    plain, half = (build(config_of("scl", weight=0.5, **more)) for more in ({}, WIDTHS))
    only = build(config_of("scl", weight=1.0))(batch).value, build(config_of("scl", weight=1.0, **WIDTHS))(batch).value
    torch.testing.assert_close(half(batch).value - plain(batch).value, (only[1] - only[0]) / 2, **EXACT)


@pytest.mark.parametrize("by", ["guide", "self"])
def test_false_negatives_are_found_by_the_whole(by: str):
    batch = batch_for("mnrl", 5)
    filtered = {"false_negatives": by, "filter_margin": -0.3}
    assert (
        build(config_of("mnrl", **filtered, **WIDTHS))(batch).counts
        == build(config_of("mnrl", **filtered))(batch).counts
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"objective.dims": ("0",)}, "objective.dims must be whole numbers above 0, from the largest to the smallest"),
        ({"objective.dims": ("2", "4")}, "objective.dims must be whole numbers above 0"),
        ({"objective.dims": ("8",), "objective.dims_weights": ("x",)}, "dims_weights must be numbers above 0"),
        ({"objective.dims": ("8",), "objective.dims_weights": ("1", "2")}, "gives 2 weights for 1 widths; give one"),
        ({"objective.dims": ("8",), "head.kind": "mlp"}, "compares others in their place; set head.kind=none"),
        ({"objective.dims_weights": ("1",)}, "objective.dims_weights changes nothing where objective.dims is"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], sentence: str):
    with pytest.raises(UserError) as caught:
        check_objective(Recipe().override({"objective.name": "mnrl", "corpus.layout": "pairs", **changes}))
    assert sentence in str(caught.value)


def test_a_width_that_is_none_is_refused_once_the_encoder_is_there():
    with pytest.raises(UserError, match=r"objective\.dims=6,2 must be below the 6 numbers of the encoder's embeddings"):
        model_of({"objective.name": "cosent", "corpus.layout": "scored_pairs", "objective.dims": ("6", "2")})
