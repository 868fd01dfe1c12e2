"""Tests that every objective must pass. To run them for your own entry:

class TestMine(ObjectiveContract):
    @pytest.fixture
    def entry(self) -> type[Objective]:
        return OBJECTIVES["mine"]
"""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor, nn

from trainables.corpora.layouts import LAYOUTS
from trainables.keys import keys_of
from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.objectives import OBJECTIVES, fits
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective
from trainables.recipe import Recipe, keys

GROUPS, DIM, BANK = 6, 8, 4


class ObjectiveContract:
    """Tests of an entry of `OBJECTIVES`, which the fixture `entry` must return."""

    @pytest.fixture
    def entry(self) -> type[Objective]:
        raise NotImplementedError("give a fixture `entry`")

    def test_a_layout_fits_it_and_a_recipe_has_its_keys(self, entry: type[Objective]) -> None:
        assert OBJECTIVES[entry.name] is entry
        layouts = [layout.name for layout in LAYOUTS.values() if fits(entry, layout)]
        recipe = Recipe().override({"objective.name": entry.name, "corpus.layout": layouts[0]})
        assert recipe.part(Objective) == entry()
        always = {item.name for item in keys_of(entry).values() if item.when is None}
        assert always <= recipe.flat().keys() <= keys().keys()

    def test_what_released_sets_are_values_of_keys(self, entry: type[Objective]) -> None:
        Recipe().preferring(entry.released)

    def test_its_loss_is_one_finite_number_with_gradient(self, entry: type[Objective]) -> None:
        if entry.mlm_only:
            return
        objective, batch = Built(entry()), batch_for(entry)
        loss = objective(batch)
        assert loss.value.shape == ()
        assert bool(torch.isfinite(loss.value))
        loss.value.backward()
        gradients = [tensor.grad for tensor in (batch.embeddings, batch.projected) if tensor.grad is not None]
        assert gradients, "no gradient reaches the embeddings"
        assert all(bool(torch.isfinite(gradient).all()) for gradient in gradients)

    @pytest.mark.parametrize("workers", [2, 3])
    def test_the_parts_of_several_workers_add_up_to_the_loss_of_one(self, entry: type[Objective], workers: int) -> None:
        if entry.mlm_only:
            return
        objective = Built(entry())
        whole: Loss = objective(batch_for(entry))
        parts = [objective(batch_for(entry, rank, workers)) for rank in range(workers)]
        torch.testing.assert_close(torch.stack([part.value for part in parts]).sum(), whole.value)
        assert all(part.counts == whole.counts for part in parts), "counts are of the whole batch"

    def test_a_memory_bank_is_filled_and_used(self, entry: type[Objective]) -> None:
        if "bank" not in keys_of(entry):
            return
        with_memory = entry(**{"bank": BANK})
        assert with_memory.memory_bank() == (BANK, 0)
        objective, batch = Built(with_memory), batch_for(entry)
        entries = objective(batch).contrasted
        assert entries is not None
        vectors, texts = entries
        assert vectors.shape == (len(texts), DIM)
        assert not vectors.requires_grad
        bank = torch.randn(BANK, DIM, generator=torch.Generator().manual_seed(2))
        with_bank = dataclasses.replace(batch_for(entry), bank=bank, bank_text=torch.arange(BANK) + 1000)
        assert objective(with_bank).value > objective(batch_for(entry)).value, "further negatives raise the loss"

    @pytest.mark.parametrize("by", ["guide", "self"])
    def test_a_filter_takes_negatives_and_never_a_positive(self, entry: type[Objective], by: str) -> None:
        if "filter_margin" not in keys_of(entry):
            return
        plain = Built(entry())(batch_for(entry)).counts
        for margin, left in ((-1e6, 0), (1e6, plain["negatives"])):
            objective = entry(**{"false_negatives": by, "filter_margin": margin})
            assert objective.filters
            loss = Built(objective)(batch_for(entry))
            assert loss.counts["positives"] == plain["positives"]
            assert loss.counts["negatives"] == left
            assert loss.counts["filtered_negatives"] + left == plain["negatives"]
            assert bool(torch.isfinite(loss.value))


class Built(nn.Module):
    """An objective with its own trained module, for embeddings of size `dim`, initialised from one seed."""

    def __init__(self, objective: Objective, dim: int = DIM) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.objective, self.own = objective, objective.module(dim)

    def forward(self, batch: EmbeddedBatch) -> Loss:
        return self.objective.loss(batch, self.own)


def batch_for(entry: type[Objective], rank: int = 0, workers: int = 1) -> EmbeddedBatch:
    """Return groups of an anchor, a positive and, if the objective takes any, a hard negative; all texts differ."""
    labels = [ENTAILMENT] if entry.most_negatives == 0 else [ENTAILMENT, CONTRADICTION]
    rows = len(labels) * GROUPS
    group = torch.arange(GROUPS).repeat_interleave(len(labels))
    return EmbeddedBatch(
        embeddings=_vectors(GROUPS + rows, seed=3),
        projected=_vectors(GROUPS + rows, seed=4),
        text=torch.arange(GROUPS + rows),
        guide=_vectors(GROUPS + rows, seed=7).detach(),
        premise=group,
        hypothesis=torch.arange(GROUPS, GROUPS + rows),
        label=torch.tensor(labels).repeat(GROUPS),
        group=group,
        score=torch.rand(rows, generator=torch.Generator().manual_seed(6)),
        generator=torch.Generator().manual_seed(5),
        rank=rank,
        workers=workers,
    )


def _vectors(count: int, seed: int) -> Tensor:  # (count, DIM)
    return torch.randn(count, DIM, generator=torch.Generator().manual_seed(seed)).requires_grad_()
