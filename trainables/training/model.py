"""What is trained: an encoder, a projection head and an objective; and one global batch through them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from trainables.corpora.batch import Batch
from trainables.encoders.heads import build_head
from trainables.encoders.transformer import TransformerEncoder
from trainables.objectives import build_objective
from trainables.objectives.batch import EmbeddedBatch, Loss
from trainables.recipe import Recipe
from trainables.training.team import Team


@dataclass(frozen=True)
class TokenizedBatch:
    """A global batch, ready for the encoder."""

    tokens: list[list[int]]  # one list for each item: a unique sentence, or a further view of one
    text: Tensor  # (items,) int64, equal exactly where the texts are
    premise: Tensor  # (pairs,) index into tokens
    hypothesis: Tensor  # (pairs,)
    label: Tensor  # (pairs,)
    group: Tensor  # (pairs,)

    @classmethod
    def of(cls, batch: Batch, encoder: TransformerEncoder) -> TokenizedBatch:
        if batch.tokens is None:
            tokens, texts = encoder.tokenize(batch.sentences), [sentence.encode() for sentence in batch.sentences]
        else:
            tokens, texts = batch.tokens, [np.array(ids).tobytes() for ids in batch.tokens]
        return cls(
            tokens,
            torch.tensor([_fingerprint(text) for text in texts]),
            torch.from_numpy(batch.premise),
            torch.from_numpy(batch.hypothesis),
            torch.from_numpy(batch.label).long(),
            torch.from_numpy(batch.group),
        )


class StudyModel(nn.Module):
    """Encoder, head and objective of a recipe. Only the encoder outlives training."""

    def __init__(self, recipe: Recipe, encoder: TransformerEncoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = build_head(recipe.head, encoder.dim)
        self.objective = build_objective(recipe.objective, encoder.dim)
        released = recipe.objective.fidelity == "released"
        self.shrinks = released and recipe.pooling.mode == "mean_without_cls"
        self.to(encoder.device)

    def loss(self, batch: TokenizedBatch, team: Team, generator: torch.Generator) -> Loss:
        """This worker's part of the global batch's loss."""
        shares = team.share([len(ids) for ids in batch.tokens])
        own = [batch.tokens[i] for i in shares[team.rank]]
        device = self.encoder.device
        # A worker without a sentence still takes part in the exchange, backwards too.
        nothing = torch.zeros(0, self.encoder.dim, device=device, requires_grad=True)
        local = self.encoder.embed(own) if own else nothing
        embeddings = team.gather(local, shares)  # (sentences, dim)
        if self.shrinks:
            embeddings = embeddings * _padding_share(batch).to(device, embeddings.dtype)
        return self.objective(
            EmbeddedBatch(
                embeddings=embeddings,
                projected=self.head(embeddings),
                text=batch.text.to(device),
                premise=batch.premise.to(device),
                hypothesis=batch.hypothesis.to(device),
                label=batch.label.to(device),
                group=batch.group.to(device),
                generator=generator,
                rank=team.rank,
                workers=team.workers,
            )
        )


def _fingerprint(text: bytes) -> int:
    """The same 63 bits for the same text, in every process and batch."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 1


def _padding_share(batch: TokenizedBatch) -> Tensor:  # (sentences, 1)
    """Liao's released code divides a sum over the real tokens by the padded length, so padding shrinks a mean.

    Premises and hypotheses of a batch are padded apart, each to its longest.
    """
    lengths = torch.tensor([len(ids) for ids in batch.tokens], dtype=torch.float64) - 1  # [CLS] is left out
    padded = torch.ones_like(lengths)
    for members in (batch.hypothesis, batch.premise):  # a sentence that is both counts as a premise
        padded[members] = lengths[members].max()
    return (lengths / padded.clamp(min=1)).unsqueeze(1)


def decay_groups(model: nn.Module, weight_decay: float) -> Sequence[dict[str, object]]:
    """Weight decay on matrices only, not on biases and LayerNorm."""
    matrices = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    vectors = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]
