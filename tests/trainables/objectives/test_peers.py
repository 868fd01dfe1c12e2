"""Losses that sentence-transformers has too: equal in value and gradient on random batches, in fp32 to 1e-5."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import pytest
import torch
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.util import pairwise_cos_sim
from torch import Tensor

from tests.gloo_worker import model_of
from tests.objective_batches import embedded, in_precision, options
from tests.peers import Both, Case
from trainables.objectives.directions import DIRECTIONS
from trainables.objectives.objective import EmbeddedBatch
from trainables.testing.objectives import Built
from trainables.training.chunks import Chunks
from trainables.training.distributed import Workers
from trainables.training.gradients import GradientSum
from trainables.training.model import TokenizedBatch

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


def guided(margin: float, strategy: str, anchors: bool = False, positives: bool = False) -> Peer:
    """GISTEmbedLoss over embeddings that are there: of pairs, or of triples. Its defaults also contrast anchors with
    anchors and positives with positives."""

    def peer(batch: EmbeddedBatch) -> Tensor:
        loss = made_guided(losses.GISTEmbedLoss, batch, margin, strategy, anchors, positives)
        value: Tensor = loss([{"items": slice(n, n + PAIRS)} for n in range(0, len(batch.text), PAIRS)], None)
        return value

    return peer


def made_guided(kind: Any, batch: Any, margin: float, strategy: str, anchors: bool, positives: bool) -> Any:
    """Without the checks of its constructor, which wants models with tokenizers."""
    loss = kind.__new__(kind)
    torch.nn.Module.__init__(loss)
    loss.model, loss.guide = _Embeddings(getattr(batch, "projected", None)), _Embeddings(batch.guide)
    loss.temperature, loss.margin, loss.margin_strategy = 0.05, margin, strategy
    loss.similarity_fct, loss.cross_entropy_loss = torch.nn.CosineSimilarity(dim=-1), torch.nn.CrossEntropyLoss()
    loss.must_retokenize = loss.gather_across_devices = False
    loss.contrast_anchors, loss.contrast_positives = anchors, positives
    return loss


def with_further(peer: Peer, margin: float, strategy: str) -> Peer:
    """Of triples: with a positive beside the hard negatives of other anchors. Our `doc_to_doc` compares it with all
    documents of others, as sentence-transformers' MultipleNegativesRankingLoss does; GISTEmbedLoss with positives."""

    def further(batch: EmbeddedBatch) -> Tensor:
        (a, p, n), (_, ours, theirs) = batch.guide.split(PAIRS), batch.projected.split(PAIRS)  # type: ignore[union-attr]
        positive = torch.cosine_similarity(a, p).unsqueeze(1)
        limit = positive - (positive.abs() if strategy == "relative" else 1.0) * margin
        masked = (torch.cosine_similarity(p.unsqueeze(1), n, dim=2) > limit) | torch.eye(PAIRS, dtype=torch.bool)
        scores = torch.cosine_similarity(ours.unsqueeze(1), theirs, dim=2) / 0.05
        return scores.masked_fill(masked, -torch.inf)

    def loss_of(batch: EmbeddedBatch) -> Tensor:
        whole = torch.nn.functional.cross_entropy

        class Wider(torch.nn.Module):
            def forward(self, scores: Tensor, labels: Tensor) -> Tensor:
                return whole(torch.cat([scores, further(batch)], dim=1), labels)

        with mock.patch.object(torch.nn, "CrossEntropyLoss", Wider):
            return peer(batch)

    return loss_of


class _Embeddings(torch.nn.Module):
    def __init__(self, embeddings: Any) -> None:
        super().__init__()
        self.embeddings = embeddings

    def get_embedding_dimension(self) -> int:
        return int(self.embeddings.shape[1])

    def forward(self, features: dict[str, Any]) -> dict[str, Tensor]:
        return {"sentence_embedding": self.embeddings[features["items"]]}


def pair_batch(seed: int, negatives: int = 0) -> EmbeddedBatch:
    """Each pair a group, with so many hard negatives; a guide that finds some candidates nearer than the positive."""
    rows = [(n, n, PAIRS * k + n, 0 if k == 1 else 2) for k in range(1, 2 + negatives) for n in range(PAIRS)]
    return embedded(list(range((2 + negatives) * PAIRS)), rows, seed)


def triple_batch(seed: int) -> EmbeddedBatch:
    return pair_batch(seed, negatives=2)


def one_triple_batch(seed: int) -> EmbeddedBatch:
    return pair_batch(seed, negatives=1)


def ranked(**arguments: Any) -> Peer:
    """MultipleNegativesRankingLoss with these options."""
    loss = losses.MultipleNegativesRankingLoss(None, scale=20.0, **arguments)
    return lambda batch: loss.compute_loss_from_embeddings(list(batch.projected.split(PAIRS)), None)


def cut(loss: Callable[[Any], Any], label: bool = False) -> Peer:
    """MatryoshkaLoss over embeddings that are there: the whole ones, and two widths with weights."""

    def peer(batch: EmbeddedBatch) -> Tensor:
        model = _Embeddings(batch.projected)
        whole = model.get_embedding_dimension()
        made = losses.MatryoshkaLoss(model, loss(model), [whole, *map(int, WIDTHS)], [1.0, *map(float, WEIGHTS)])
        sides = [{"items": slice(n, n + PAIRS)} for n in range(0, len(batch.text), PAIRS)]
        value: Tensor = made(sides, batch.score if label else None)
        return value

    return peer


def taught(batch: EmbeddedBatch, columns: int) -> tuple[list[Tensor], Tensor]:
    """Embeddings by column, an anchor and what it is compared with, and the teacher's cosines (pairs, columns - 1)."""
    assert batch.guide is not None
    anchor, *others = batch.guide.split(PAIRS)
    if columns:
        ours, theirs = batch.projected.split(PAIRS), [torch.cosine_similarity(anchor, other) for other in others]
        return list(ours), torch.stack(theirs, dim=1)
    anchors, others = batch.projected[:PAIRS], batch.projected[PAIRS:]
    right = torch.cosine_similarity(anchor.unsqueeze(1), batch.guide[PAIRS:], dim=2)
    return [anchors, *(other.expand(PAIRS, -1) for other in others)], right


def imitated(loss: Any, columns: int) -> Peer:
    return lambda batch: loss.compute_loss_from_embeddings(*taught(batch, columns))


def taught_batch(seed: int) -> EmbeddedBatch:
    """Triples beside which the teacher's cosines stand; an amount more, which no difference shows."""
    batch = triple_batch(seed)
    assert batch.guide is not None
    near = torch.cosine_similarity(batch.guide[batch.premise], batch.guide[batch.hypothesis])
    return replace(batch, score=(near + 0.5).float())


def same_size(seed: int) -> EmbeddedBatch:
    """With a teacher whose embeddings have the size of ours."""
    batch = pair_batch(seed)
    assert batch.guide is not None
    return replace(batch, guide=batch.guide[:, :-1])


def near_teacher(batch: EmbeddedBatch) -> Tensor:
    loss: Tensor = losses.MSELoss(_Embeddings(batch.projected))([{"items": slice(None)}], batch.guide)
    return loss


def of_triples(batch: EmbeddedBatch) -> Tensor:
    return losses.TripletLoss(None, triplet_margin=1.0).compute_loss_from_embeddings(batch.projected.split(PAIRS), None)


TAU = {"temperature": 0.05}
DIVERGENCE = losses.DistillKLDivLoss(None, pairwise_cos_sim, temperature=0.05)
MARGIN = losses.MarginMSELoss(None, pairwise_cos_sim)
ALL = losses.BatchAllTripletLoss(None, margin=1.0).batch_all_triplet_loss
HARD = losses.BatchHardTripletLoss(None, margin=1.0).batch_hard_triplet_loss
WIDTHS, WEIGHTS = ("4", "2"), ("0.5", "2.0")
CUT = {**TAU, "dims": WIDTHS, "dims_weights": WEIGHTS}
GIST = (DIRECTIONS[0], DIRECTIONS[2], DIRECTIONS[3])
"""What GISTEmbedLoss compares by default."""
HARDNESS = {"in_batch": "in_batch_negatives", "hard": "hard_negatives", "all": "all_negatives"}
LABELS = torch.arange(CLASSES).repeat_interleave(OF_A_CLASS)
GUIDED = {**TAU, "false_negatives": "guide"}
MARGINS = ((0.0, "absolute"), (0.1, "absolute"), (0.2, "relative"))


@dataclass(frozen=True)
class Comparison:
    """Options of an objective with the batches that they are tried on, and the peer's loss; `entry` is what is shown
    to be equal."""

    entry: str
    peer: str
    batch: Callable[[int], EmbeddedBatch]
    options: Mapping[str, Any]
    loss: Peer

    def find(self, objective: str, seed: int) -> Both:
        """Values, and their gradients with respect to the embeddings."""
        batch = in_precision(self.batch(seed), torch.float32)
        ours, theirs = Built(options(objective, **self.options))(batch).value, self.loss(batch)
        mine, right = (torch.autograd.grad(value, [batch.projected]) for value in (ours, theirs))
        return Both((ours.detach(), theirs.detach()), (mine, right))


RANKING, GUIDE = "MultipleNegativesRankingLoss", "objective.false_negatives=guide"
WIDENED = "GISTEmbedLoss and, added by the test, positives beside others' hard negatives"
COMPARISONS: Mapping[str, Comparison] = {
    "mnrl": Comparison("objective.name=mnrl", RANKING, pair_batch, TAU, ranked()),
    "simcse": Comparison("objective.name=simcse", RANKING, one_triple_batch, TAU, ranked()),
    **{
        name: Comparison(f"objective.name={name}", type(loss).__name__, scored_batch, numbers, over_pairs(loss))
        for name, numbers, loss in (
            ("cosent", TAU, losses.CoSENTLoss(None, scale=20.0)),
            ("angle", TAU, losses.AnglELoss(None, scale=20.0)),
            ("cosine", {}, losses.CosineSimilarityLoss(None)),
        )
    },
    **{
        f"mnrl, guide, {batch.__name__}, {', '.join(directions[1:])} {margin} {strategy}": Comparison(
            GUIDE,
            name,
            batch,
            {**GUIDED, "filter_margin": -margin or None, "filter_by": strategy, "directions": directions},
            peer,
        )
        for margin, strategy in MARGINS
        for name, batch, directions, peer in (
            ("GISTEmbedLoss", pair_batch, DIRECTIONS[:1], guided(margin, strategy)),
            ("GISTEmbedLoss", pair_batch, GIST, guided(margin, strategy, anchors=True, positives=True)),
            ("GISTEmbedLoss", one_triple_batch, DIRECTIONS[:1], guided(margin, strategy)),
            ("GISTEmbedLoss", one_triple_batch, GIST[:2], guided(margin, strategy, anchors=True)),
            (
                WIDENED,
                one_triple_batch,
                GIST,
                with_further(guided(margin, strategy, anchors=True, positives=True), margin, strategy),
            ),
        )
    },
    **{
        f"mnrl, {len(batch(0).text) // PAIRS}, {', '.join(directions[1:])} {partition}, {hardness} {of}": Comparison(
            "objective.directions, .partition, .hardness",
            RANKING,
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
    **{
        f"{objective}, widths{' and directions' if more else ''}": Comparison(
            f"objective.dims, of {objective}",
            f"MatryoshkaLoss over {name}",
            batch,
            {**CUT, **more},
            cut(functools.partial(getattr(losses, name), **arguments), label=batch is scored_batch),
        )
        for objective, name, batch, more, arguments in (
            ("mnrl", RANKING, triple_batch, {}, {"scale": 20.0}),
            ("mnrl", RANKING, triple_batch, {"directions": DIRECTIONS}, {"scale": 20.0, "directions": DIRECTIONS}),
            ("cosent", "CoSENTLoss", scored_batch, {}, {"scale": 20.0}),
            ("angle", "AnglELoss", scored_batch, {}, {"scale": 20.0}),
            ("cosine", "CosineSimilarityLoss", scored_batch, {}, {}),
        )
    },
    **{
        f"distill, {matches}{'' if teacher else ' in the data'}": Comparison(
            f"objective.name=distill, .matches={matches}{'' if teacher else ', .teacher=none'}",
            name,
            batch,
            {"matches": matches, "teacher": teacher, **tau},
            peer,
        )
        for matches, teacher, name, batch, tau, peer in (
            ("similarities", "scenes-small", "DistillKLDivLoss", triple_batch, TAU, imitated(DIVERGENCE, columns=0)),
            ("margins", "scenes-small", "MarginMSELoss", triple_batch, {}, imitated(MARGIN, columns=4)),
            ("similarities", None, "DistillKLDivLoss", taught_batch, TAU, imitated(DIVERGENCE, columns=4)),
            ("margins", None, "MarginMSELoss", taught_batch, {}, imitated(MARGIN, columns=4)),
            ("embeddings", "scenes-small", "MSELoss", same_size, {}, near_teacher),
        )
    },
    **{
        name: Comparison(f"objective.name={name}", peer, batch, {"margin": 1.0}, loss)
        for name, peer, batch, loss in (
            ("triplet", "TripletLoss", one_triple_batch, of_triples),
            ("batch_all", "BatchAllTripletLoss", class_batch, lambda batch: ALL(LABELS, batch.projected)),
            ("batch_hard", "BatchHardTripletLoss", class_batch, lambda batch: HARD(LABELS, batch.projected)),
        )
    },
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_equals(name: str):
    for seed in range(2):
        COMPARISONS[name].find(name.split(",")[0], seed).check()


def cached(margin: float, strategy: str, seed: int) -> Both:
    """Both encode a batch in parts, and again for the gradients of the encoder's parameters."""
    arguments = {**GUIDED, "guide": "scenes-small", "filter_margin": -margin or None, "filter_by": strategy}
    recipe = {"objective.name": "mnrl", "corpus.layout": "groups", "objective.directions": GIST}
    model = model_of(recipe | {f"objective.{name}": value for name, value in arguments.items()})
    premise = torch.arange(PAIRS)
    batch = TokenizedBatch(
        tokens=[[(7 * n + k + seed) % 40 for k in range(2 + (5 * n) % 9)] for n in range(2 * PAIRS)],
        text=torch.arange(2 * PAIRS),
        premise=premise,
        hypothesis=premise + PAIRS,
        label=torch.zeros(PAIRS, dtype=torch.long),
        group=premise,
        guide=torch.randn(2 * PAIRS, 7, generator=torch.Generator().manual_seed(2 + seed)),
    )
    with GradientSum(model.parameters(), Workers()) as summed:
        chunks = Chunks(model, 20, PAIRS, Workers(), summed, None)
        assert len(model.encoder.passes([len(ids) for ids in batch.tokens], 20)) > 3
        ours = chunks.step(batch, seed=0).value
    mine = [parameter.grad.clone() for parameter in model.parameters()]  # type: ignore[union-attr]
    model.zero_grad()

    class Reading(torch.nn.Module):
        def __init__(self, embed: Callable[[list[int]], Tensor]) -> None:
            super().__init__()
            self.embed = embed

        def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
            return {"sentence_embedding": self.embed(features["input_ids"].tolist())}

    peer = made_guided(losses.CachedGISTEmbedLoss, batch, margin, strategy, anchors=True, positives=True)
    peer.model = Reading(lambda items: model.encoder.embed([batch.tokens[i] for i in items]))
    peer.guide = Reading(lambda items: batch.guide[items])  # type: ignore[index]
    peer.mini_batch_size, peer.mini_batch_num_tokens, peer.show_progress_bar = 5, None, False
    theirs = peer([{"input_ids": premise}, {"input_ids": premise + PAIRS}], None)
    theirs.backward()
    return Both((ours, theirs.detach()), (mine, [parameter.grad for parameter in model.parameters()]))  # type: ignore[misc]


@pytest.mark.parametrize(("margin", "strategy"), MARGINS)
def test_the_guided_gradient_cache_equals_the_cached_loss(margin: float, strategy: str):
    cached(margin, strategy, seed=0).check()


CASES = [
    *(
        Case(case.entry, case.peer, functools.partial(case.find, name.split(",")[0]))
        for name, case in COMPARISONS.items()
    ),
    *(Case(f"{GUIDE}, gradient cache", "CachedGISTEmbedLoss", functools.partial(cached, *case)) for case in MARGINS),
]
"""For `tests.peers_page`."""


def test_an_anchor_is_never_beside_itself_whatever_the_guide_says():
    """GISTEmbedLoss with margin -0.1 leaves it there once the guide gives its positive 0.9 or more: nothing is nearer
    than that by 0.1. So it does with the positive beside itself. Here both stay out, and the positive where it is."""
    batch = pair_batch(0)
    own = torch.eye(2 * PAIRS, dtype=torch.float64)
    near = 0.95 * own[:PAIRS] + (1 - 0.95**2) ** 0.5 * own[PAIRS:]  # of all other texts the guide says 0
    batch = replace(batch, guide=torch.cat([own[:PAIRS], near]))
    loss = Built(options("mnrl", **GUIDED, filter_margin=0.1, directions=GIST))(batch)
    assert loss.counts["positives"] == PAIRS
    assert loss.counts["negatives"] == 3 * PAIRS * (PAIRS - 1)  # the others' positives, anchors, and positives again
    assert loss.counts["filtered_negatives"] == 0
    plain = Built(options("mnrl", temperature=0.05, directions=GIST))(batch).value
    torch.testing.assert_close(loss.value, plain)
    theirs = guided(-0.1, "absolute", anchors=True, positives=True)(batch)
    x = torch.nn.functional.normalize(batch.projected, dim=1)
    positive = (x[:PAIRS] * x[PAIRS:]).sum(dim=1) / 0.05
    assert theirs - loss.value > 0.1  # exp(1 / tau), twice, in each of its denominators
    scores = torch.cat([x[:PAIRS] @ x[PAIRS:].T, x[:PAIRS] @ x[:PAIRS].T, x[PAIRS:] @ x[PAIRS:].T], dim=1) / 0.05
    torch.testing.assert_close(theirs, (scores.logsumexp(dim=1) - positive).mean())


@pytest.mark.parametrize("name", ["mnrl", "supmpn", "supcon"])
def test_positives_are_never_negatives_whatever_the_guide_says(name: str):
    """With a guide to whom all texts are one, or all but the positives."""
    positives = 1 if name == "mnrl" else 2
    rows = [(n, n, PAIRS * k + n, 0) for k in range(1, positives + 1) for n in range(PAIRS)]
    batch = embedded(list(range((positives + 1) * PAIRS)), rows, 1)
    assert batch.guide is not None
    alike = torch.ones_like(batch.guide)
    apart = alike.clone()
    apart[PAIRS:] *= -1  # an anchor's positives are the farthest there are
    plain = Built(options(name, temperature=0.05))(batch)
    for guide, margin in itertools.product((alike, apart), (-0.5, -0.1, 0.1)):
        filtered = Built(options(name, **GUIDED, filter_margin=margin))(replace(batch, guide=guide))
        assert filtered.counts["positives"] == plain.counts["positives"] == positives * PAIRS
        assert filtered.counts["negatives"] == (0 if margin < 0 else plain.counts["negatives"])
