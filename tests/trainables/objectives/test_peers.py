"""Losses that sentence-transformers has too: equal in value and gradient on random batches, in fp32 to 1e-5."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.util import pairwise_cos_sim
from torch import Tensor

from tests.objective_batches import embedded, in_precision, options
from trainables.objectives.directions import DIRECTIONS
from trainables.objectives.objective import EmbeddedBatch
from trainables.testing.objectives import Built

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
PAIRS, CLASSES, OF_A_CLASS = 12, 4, 3
Peer = Callable[[EmbeddedBatch], Tensor]


def scored_batch(seed: int) -> EmbeddedBatch:
    batch = embedded(list(range(2 * PAIRS)), [(n, n, PAIRS + n, 1) for n in range(PAIRS)], seed)
    scores = torch.randint(6, (PAIRS,), generator=torch.Generator().manual_seed(seed)) / 5  # with ties
    return replace(batch, score=scores)


def class_batch(seed: int) -> EmbeddedBatch:
    rows = [(c, OF_A_CLASS * c, OF_A_CLASS * c + k, 0) for c in range(CLASSES) for k in range(1, OF_A_CLASS)]
    return embedded(list(range(CLASSES * OF_A_CLASS)), rows, seed)


def over_pairs(loss: Any) -> Peer:
    x = lambda batch: [batch.projected[:PAIRS], batch.projected[PAIRS:]]  # noqa: E731
    if isinstance(loss, losses.CosineSimilarityLoss):
        return lambda batch: loss.loss_fct(torch.cosine_similarity(*x(batch)), batch.score)
    return lambda batch: loss.compute_loss_from_embeddings(x(batch), batch.score)


def guided(margin: float, strategy: str) -> Peer:
    """GISTEmbedLoss of anchors and positives alone, over embeddings that are there."""

    def peer(batch: EmbeddedBatch) -> Tensor:
        loss = losses.GISTEmbedLoss.__new__(losses.GISTEmbedLoss)
        torch.nn.Module.__init__(loss)
        loss.model, loss.guide = _There(batch.projected), _There(batch.guide)
        loss.temperature, loss.margin, loss.margin_strategy = 0.05, margin, strategy
        loss.similarity_fct, loss.cross_entropy_loss = torch.nn.CosineSimilarity(dim=-1), torch.nn.CrossEntropyLoss()
        loss.must_retokenize = loss.gather_across_devices = loss.contrast_anchors = loss.contrast_positives = False
        sides: list[Any] = [{"items": slice(0, PAIRS)}, {"items": slice(PAIRS, 2 * PAIRS)}]
        found: Tensor = loss(sides, None)
        return found

    return peer


class _There(torch.nn.Module):
    def __init__(self, embeddings: Any) -> None:
        super().__init__()
        self.embeddings = embeddings

    def get_embedding_dimension(self) -> int:
        return int(self.embeddings.shape[1])

    def forward(self, features: dict[str, Any]) -> dict[str, Tensor]:
        return {"sentence_embedding": self.embeddings[features["items"]]}


def pair_batch(seed: int) -> EmbeddedBatch:
    """Each pair a group; a guide that finds some candidates nearer than the positive."""
    return embedded(list(range(2 * PAIRS)), [(n, n, PAIRS + n, 0) for n in range(PAIRS)], seed)


def triple_batch(seed: int) -> EmbeddedBatch:
    """Each pair with two hard negatives."""
    rows = [(n, n, PAIRS * k + n, 0 if k == 1 else 2) for k in (1, 2, 3) for n in range(PAIRS)]
    return embedded(list(range(4 * PAIRS)), rows, seed)


def ranked(**asked: Any) -> Peer:
    """MultipleNegativesRankingLoss with these options."""
    loss = losses.MultipleNegativesRankingLoss(None, scale=20.0, **asked)
    return lambda batch: loss.compute_loss_from_embeddings(list(batch.projected.split(PAIRS)), None)


def cut(loss: Callable[[Any], Any], label: bool = False) -> Peer:
    """MatryoshkaLoss over embeddings that are there: the whole ones, and two widths with weights."""

    def peer(batch: EmbeddedBatch) -> Tensor:
        model = _There(batch.projected)
        whole = model.get_embedding_dimension()
        made = losses.MatryoshkaLoss(model, loss(model), [whole, *map(int, WIDTHS)], [1.0, *map(float, WEIGHTS)])
        sides = [{"items": slice(n, n + PAIRS)} for n in range(0, len(batch.text), PAIRS)]
        found: Tensor = made(sides, batch.score if label else None)
        return found

    return peer


def taught(batch: EmbeddedBatch, columns: int) -> tuple[list[Tensor], Tensor]:
    """Embeddings by column, an anchor and what it is compared with, and the teacher's cosines (pairs, columns - 1)."""
    assert batch.guide is not None
    anchor, *others = batch.guide.split(PAIRS)
    if columns:
        ours, theirs = batch.projected.split(PAIRS), [torch.cosine_similarity(anchor, other) for other in others]
        return list(ours), torch.stack(theirs, dim=1)
    anchors, others = batch.projected[:PAIRS], batch.projected[PAIRS:]
    wanted = torch.cosine_similarity(anchor.unsqueeze(1), batch.guide[PAIRS:], dim=2)
    return [anchors, *(other.expand(PAIRS, -1) for other in others)], wanted


def imitated(loss: Any, columns: int) -> Peer:
    return lambda batch: loss.compute_loss_from_embeddings(*taught(batch, columns))


def same_size(seed: int) -> EmbeddedBatch:
    """With a teacher whose embeddings have the size of ours."""
    batch = pair_batch(seed)
    assert batch.guide is not None
    return replace(batch, guide=batch.guide[:, :-1])


WIDTHS, WEIGHTS = ("4", "2"), ("0.5", "2.0")
CUT = {"temperature": 0.05, "dims": WIDTHS, "dims_weights": WEIGHTS}
HARDNESS = {"in_batch": "in_batch_negatives", "hard": "hard_negatives", "all": "all_negatives"}
LABELS = torch.arange(CLASSES).repeat_interleave(OF_A_CLASS)
GUIDED = {"temperature": 0.05, "false_negatives": "guide"}
CASES: Mapping[str, tuple[Callable[[int], EmbeddedBatch], dict[str, Any], Peer]] = {
    "cosent": (scored_batch, {"temperature": 0.05}, over_pairs(losses.CoSENTLoss(None, scale=20.0))),
    "angle": (scored_batch, {"temperature": 0.05}, over_pairs(losses.AnglELoss(None, scale=20.0))),
    "cosine": (scored_batch, {}, over_pairs(losses.CosineSimilarityLoss(None))),
    "mnrl, guide": (pair_batch, {**GUIDED, "filter_margin": None}, guided(0.0, "absolute")),
    "mnrl, guide and margin": (pair_batch, {**GUIDED, "filter_margin": -0.1}, guided(0.1, "absolute")),
    "mnrl, guide and share": (
        pair_batch,
        {**GUIDED, "filter_margin": -0.2, "filter_by": "relative"},
        guided(0.2, "relative"),
    ),
    **{
        f"mnrl, {len(batch(0).text) // PAIRS}, {', '.join(directions[1:])} {partition}, {hardness} {of}": (
            batch,
            {
                "temperature": 0.05,
                "directions": directions,
                "partition": partition,
                "hardness": hardness,
                "hardness_of": of,
            },
            ranked(
                directions=directions,
                partition_mode={"joint": "joint", "apart": "per_direction"}[partition],
                hardness_mode=HARDNESS[of] if hardness else None,
                hardness_strength=hardness,
            ),
        )
        for batch, directions, partition, hardness, of in (
            (pair_batch, DIRECTIONS, "joint", 0.0, "all"),
            (triple_batch, DIRECTIONS, "joint", 0.0, "all"),
            (pair_batch, DIRECTIONS[:2], "apart", 0.0, "all"),
            (triple_batch, DIRECTIONS[:2], "apart", 5.0, "hard"),
            (triple_batch, DIRECTIONS[:2], "joint", 9.0, "in_batch"),
            (triple_batch, DIRECTIONS[:3], "joint", 2.0, "all"),
            (triple_batch, (DIRECTIONS[0], DIRECTIONS[3]), "joint", 2.0, "all"),
            (triple_batch, DIRECTIONS[:1], "joint", 5.0, "hard"),
        )
    },
    "mnrl, widths": (triple_batch, CUT, cut(lambda model: losses.MultipleNegativesRankingLoss(model, scale=20.0))),
    "mnrl, widths and directions": (
        triple_batch,
        {**CUT, "directions": DIRECTIONS},
        cut(lambda model: losses.MultipleNegativesRankingLoss(model, scale=20.0, directions=DIRECTIONS)),
    ),
    "cosent, widths": (scored_batch, CUT, cut(lambda model: losses.CoSENTLoss(model, scale=20.0), label=True)),
    "angle, widths": (scored_batch, CUT, cut(lambda model: losses.AnglELoss(model, scale=20.0), label=True)),
    "cosine, widths": (scored_batch, CUT, cut(losses.CosineSimilarityLoss, label=True)),
    "distill, similarities": (
        triple_batch,
        {"temperature": 0.05},
        imitated(losses.DistillKLDivLoss(None, pairwise_cos_sim, temperature=0.05), columns=0),
    ),
    "distill, margins": (
        triple_batch,
        {"matches": "margins"},
        imitated(losses.MarginMSELoss(None, pairwise_cos_sim), columns=4),
    ),
    "distill, embeddings": (
        same_size,
        {"matches": "embeddings"},
        lambda batch: losses.MSELoss(_There(batch.projected))([{"items": slice(None)}], batch.guide),
    ),
    "batch_all": (
        class_batch,
        {"margin": 1.0},
        lambda batch: losses.BatchAllTripletLoss(None, margin=1.0).batch_all_triplet_loss(LABELS, batch.projected),
    ),
    "batch_hard": (
        class_batch,
        {"margin": 1.0},
        lambda batch: losses.BatchHardTripletLoss(None, margin=1.0).batch_hard_triplet_loss(LABELS, batch.projected),
    ),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_equals(name: str, seed: int):
    make, numbers, peer = CASES[name]
    batch = in_precision(make(seed), torch.float32)
    ours, theirs = Built(options(name.split(",")[0], **numbers))(batch).value, peer(batch)
    torch.testing.assert_close(ours, theirs, **CLOSE)
    mine, wanted = (torch.autograd.grad(value, batch.projected)[0] for value in (ours, theirs))
    assert bool((wanted != 0).any())
    torch.testing.assert_close(mine, wanted, **CLOSE)
