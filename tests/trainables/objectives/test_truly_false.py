"""What filters caught and what they masked wrongly, where it is known which texts follow from which: against loops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.naive_groups import Terms
from tests.objective_batches import again, build, fitting, gradients, labelled, options, random_rows, with_bank
from trainables.objectives import OBJECTIVES
from trainables.objectives.contrastive import Contrastive
from trainables.objectives.objective import EmbeddedBatch

GROUPS = [name for name, each in OBJECTIVES.items() if issubclass(each, Contrastive) and "groups" in each.layouts]
LOOPS = ("mnrl", "simcse", "supmpn", "supcon")
"""Objectives that compare an anchor with the positives of other groups and the hard negatives of all."""
FILTERS = [
    {"false_negatives": "keep"},
    {"false_negatives": "mask"},
    {"false_negatives": "guide"},
    {"false_negatives": "guide", "filter_margin": -0.3},
    {"false_negatives": "self", "filter_margin": 0.0},
]
NAMES = ("judged_anchors", "false_negatives", "caught_false_negatives", "wrongly_masked_negatives")


def config_of(name: str, **changes: Any) -> Any:
    return options(name, **{"temperature": 0.3, **changes})


def batch_for(name: str, seed: int) -> EmbeddedBatch:
    return known(fitting(name, seed))


def known(batch: EmbeddedBatch) -> EmbeddedBatch:
    """With texts that follow from each other at random, by their fingerprints; each follows from itself."""
    words, place = batch.text.unique(return_inverse=True)
    follows = torch.rand(len(words), len(words), generator=torch.Generator().manual_seed(3)) < 0.3
    return replace(batch, entailed=(follows | torch.eye(len(words), dtype=torch.bool))[place][:, place])


def counted(batch: EmbeddedBatch, config: Any) -> list[int]:
    """`NAMES`, one candidate after another."""
    terms, entailed = Terms(batch, config), batch.entailed
    assert entailed is not None
    anchors = false = caught = wrong = 0
    for group in terms.groups:
        if not group.positives:
            continue
        anchors += 1
        for other in terms.groups:
            hard = other.negatives if OBJECTIVES[config.name].most_negatives != 0 else []
            for item in (other.positives if other is not group else []) + hard:
                follows, masked = bool(entailed[group.anchor, item]), not terms.counts(group, item)
                false += follows
                caught += masked and follows
                wrong += masked and not follows
    return [anchors, false, caught, wrong]


@pytest.mark.parametrize("changes", FILTERS, ids=lambda changes: "-".join(map(str, changes.values())))
@pytest.mark.parametrize("name", LOOPS)
def test_against_loops(name: str, changes: dict[str, Any]) -> None:
    config, all_counts = config_of(name, **changes), []
    for seed in range(4):
        batch = batch_for(name, seed)
        counts = build(config)(batch).counts
        all_counts.append([int(counts[each]) for each in NAMES])
        assert all_counts[-1] == counted(batch, config)
        if changes["false_negatives"] != "guide":  # which knows no bank
            banked = build(config)(with_bank(batch)).counts
            assert [int(banked[each]) for each in NAMES] == all_counts[-1], "the entries of a bank are not judged"
    anchors, false, caught, wrong = map(sum, zip(*all_counts, strict=True))
    assert anchors > 0
    assert false > caught
    assert (caught > 0) == (wrong > 0) == (changes["false_negatives"] != "keep")


@pytest.mark.parametrize("changes", FILTERS[1:], ids=lambda changes: "-".join(map(str, changes.values())))
@pytest.mark.parametrize("name", GROUPS)
def test_all_that_was_masked_is_judged(name: str, changes: dict[str, Any]) -> None:
    for seed in range(2):
        batch = batch_for(name, seed)
        kept, counts = (
            build(config_of(name, **each))(again(batch)).counts for each in ({"false_negatives": "keep"}, changes)
        )
        masked = counts["caught_false_negatives"] + counts["wrongly_masked_negatives"]
        assert masked == kept["negatives"] - counts["negatives"]
        assert counts["judged_anchors"] == counts["anchors"]
        assert counts["false_negatives"] == kept["false_negatives"]


def test_what_is_drawn_in_its_place_was_not_masked() -> None:
    """Of N- drawn negatives those that a mask took are counted, not those that were drawn for them."""
    for seed in range(5):
        batch = known(labelled(random_rows(seed), seed))
        drawn = config_of("scl", positives=2, negatives=4, weight=1.0)
        counts = build(drawn)(again(batch)).counts
        kept = build(replace(drawn, false_negatives="keep"))(again(batch)).counts
        assert counts["false_negatives"] == kept["false_negatives"]
        masked = counts["caught_false_negatives"] + counts["wrongly_masked_negatives"]
        assert masked >= kept["negatives"] - counts["negatives"]


@pytest.mark.parametrize("changes", FILTERS[1:3], ids=lambda changes: changes["false_negatives"])
@pytest.mark.parametrize("name", GROUPS)
def test_the_loss_knows_nothing_of_it(name: str, changes: dict[str, Any]) -> None:
    objective = build(config_of(name, positives=2, negatives=2, weight=1.0, **changes))
    batch = known(labelled(random_rows(5), 5)) if name == "scl" else batch_for(name, 5)
    losses: list[tuple[Tensor, list[Tensor], Tensor]] = []
    for each in (again(batch), replace(again(batch), entailed=None)):
        loss = objective(each)
        losses.append((loss.value, gradients(loss.value, each, objective), each.generator.get_state()))
        assert ("false_negatives" in loss.counts) == (each.entailed is not None)
    (value, gradients_of, draws), (plain, plain_gradients, plain_draws) = losses
    assert torch.equal(value, plain)
    assert all(map(torch.equal, gradients_of, plain_gradients))
    assert torch.equal(draws, plain_draws)


@pytest.mark.parametrize("name", GROUPS)
def test_workers_count_the_whole_batch(name: str) -> None:
    batch, objective = batch_for(name, 2), build(config_of(name, false_negatives="guide"))
    whole = objective(again(batch)).counts
    assert all(objective(replace(again(batch), rank=rank, workers=2)).counts == whole for rank in range(2))
