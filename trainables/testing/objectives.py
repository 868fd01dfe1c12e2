"""Tests that every objective must pass. To run them over an entry of your own:

class TestMine(ObjectiveContract):
    @pytest.fixture
    def entry(self) -> ObjectiveEntry:
        return OBJECTIVES["mine"]
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from torch import Tensor

from trainables.corpora.layouts import LAYOUTS
from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.objectives import OBJECTIVES, ObjectiveEntry, build_objective, fits, resolve_objective
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective
from trainables.recipe import ObjectiveConfig, Recipe
from trainables.registry import load

GROUPS, DIM, BANK = 6, 8, 4


class ObjectiveContract:
    """Of an entry of `OBJECTIVES`, which the fixture `entry` must give."""

    @pytest.fixture
    def entry(self) -> ObjectiveEntry:
        raise NotImplementedError("give a fixture `entry`")

    def test_a_layout_fits_it_and_it_can_be_built(self, entry: ObjectiveEntry) -> None:
        assert OBJECTIVES[entry.name] is entry
        objective = built(entry)
        assert isinstance(objective, Objective)
        assert objective.needs_embeddings != entry.mlm_only

    def test_what_released_sets_are_values_of_keys(self, entry: ObjectiveEntry) -> None:
        Recipe().override(entry.released)

    def test_its_loss_is_one_finite_number_with_gradient(self, entry: ObjectiveEntry) -> None:
        objective, batch = built(entry), batch_for(entry)
        loss = objective(batch)
        assert loss.value.shape == ()
        assert bool(torch.isfinite(loss.value))
        if objective.needs_embeddings:
            loss.value.backward()
            found = [tensor.grad for tensor in (batch.embeddings, batch.projected) if tensor.grad is not None]
            assert found, "no gradient reaches the embeddings"
            assert all(bool(torch.isfinite(gradient).all()) for gradient in found)

    def test_it_reads_no_other_keys_than_it_says(self, entry: ObjectiveEntry) -> None:
        if entry.keys is None:
            return
        assert keys_read(entry, batch_for(entry)) <= {*entry.keys}

    @pytest.mark.parametrize("workers", [2, 3])
    def test_the_parts_of_several_workers_add_up_to_the_loss_of_one(self, entry: ObjectiveEntry, workers: int) -> None:
        objective = built(entry)
        whole: Loss = objective(batch_for(entry))
        parts = [objective(batch_for(entry, rank, workers)) for rank in range(workers)]
        torch.testing.assert_close(torch.stack([part.value for part in parts]).sum(), whole.value)
        assert all(part.counts == whole.counts for part in parts), "counts are of the whole batch"

    def test_a_memory_bank_is_filled_and_used(self, entry: ObjectiveEntry) -> None:
        if not entry.bank:
            return
        objective, batch = built(entry, bank=BANK), batch_for(entry)
        kept = objective(batch).contrasted
        assert kept is not None
        vectors, texts = kept
        assert vectors.shape == (len(texts), DIM)
        assert not vectors.requires_grad
        bank = torch.randn(BANK, DIM, generator=torch.Generator().manual_seed(2))
        with_bank = dataclasses.replace(batch_for(entry), bank=bank, bank_text=torch.arange(BANK) + 1000)
        assert objective(with_bank).value > objective(batch_for(entry)).value, "further negatives raise the loss"


class Watched:
    """A section of a recipe that remembers which of its keys were read."""

    def __init__(self, section: str, config: Any) -> None:
        self._section, self._config, self.read = section, config, set[str]()

    def __getattr__(self, name: str) -> Any:
        self.read.add(f"{self._section}.{name}")
        return getattr(self._config, name)


def keys_read(entry: ObjectiveEntry, batch: EmbeddedBatch) -> set[str]:
    """Keys of the section `objective` that an objective reads, to be built and on a batch."""
    watched = Watched("objective", resolve_objective(ObjectiveConfig(name=entry.name)))
    objective = load(entry.build)(watched, batch.embeddings.shape[1]).to(batch.embeddings.dtype)
    if objective.needs_embeddings:
        objective(batch)
    return watched.read


def built(entry: ObjectiveEntry, bank: int = 0) -> Objective:
    """The objective on the first layout that fits; whatever it draws comes from one seed."""
    layout = next(layout.name for layout in LAYOUTS.values() if fits(entry, layout))
    torch.manual_seed(1)
    return build_objective(ObjectiveConfig(entry.name, mlm=float(entry.mlm_only), bank=bank), DIM, layout)


def batch_for(entry: ObjectiveEntry, rank: int = 0, workers: int = 1) -> EmbeddedBatch:
    """Groups of an anchor, a positive and, if the objective takes some, a hard negative; every text is another."""
    labels = [ENTAILMENT] if entry.negatives == 0 else [ENTAILMENT, CONTRADICTION]
    rows = len(labels) * GROUPS
    group = torch.arange(GROUPS).repeat_interleave(len(labels))
    return EmbeddedBatch(
        embeddings=_vectors(GROUPS + rows, seed=3),
        projected=_vectors(GROUPS + rows, seed=4),
        text=torch.arange(GROUPS + rows),
        premise=group,
        hypothesis=torch.arange(GROUPS, GROUPS + rows),
        label=torch.tensor(labels).repeat(GROUPS),
        group=group,
        generator=torch.Generator().manual_seed(5),
        rank=rank,
        workers=workers,
    )


def _vectors(count: int, seed: int) -> Tensor:  # (count, DIM)
    return torch.randn(count, DIM, generator=torch.Generator().manual_seed(seed)).requires_grad_()
