"""The trained model: encoder, projection head and objective; and the loss of a global batch."""

from __future__ import annotations

import dataclasses
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from trainables.corpora.batch import Batch
from trainables.encoders.contract import TrainableEncoder, as_token_encoder
from trainables.encoders.embedding_store import EmbeddingStore
from trainables.encoders.projection import Projection
from trainables.objectives.learned_temperature import LearnedTemperature
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective, TextPairs
from trainables.objectives.temperature import Temperature
from trainables.to_device import to_device
from trainables.training.distributed import Workers
from trainables.training.query_document import tokenize
from trainables.training.token_memory import TokenMemory

if TYPE_CHECKING:
    from trainables.corpora.scene_meanings import Meanings
    from trainables.encoders.mlm_head import MLMHead

BATCH_FIELDS = ("text", "premise", "hypothesis", "label", "group", "score", "guide", "entailed")
"""Fields of a tokenized batch that are copied to the embedded batch, on the encoder's device."""
TEMPERATURE = "temperature"
"""Name of a learned temperature among the counts of a step."""


@dataclass(frozen=True, kw_only=True)
class TokenizedBatch(TextPairs):
    """A global batch with token ids, ready for the encoder."""

    tokens: list[list[int]]  # one list for each item
    guide: Tensor | None = None  # (items, guide dim)
    entailed: Tensor | None = None  # (items, items), see `EmbeddedBatch`
    mining_seconds: float = 0.0
    """Seconds for which the batch waited while its negatives were mined again."""
    _shares: dict[int, list[list[int]]] = field(default_factory=dict, repr=False)  # by the number of workers

    @classmethod
    def of(
        cls,
        batch: Batch,
        encoder: TrainableEncoder | TokenMemory,
        guide: EmbeddingStore | None = None,
        meanings: Meanings | None = None,
    ) -> TokenizedBatch:
        """Tokenize a batch. `guide`: the frozen encoder that embeds all items, on every worker. `meanings`: the
        meanings of the texts, if a grammar made them."""
        entailed = None
        if batch.tokens is None:
            batch, tokens = tokenize(batch, encoder)
            texts = [sentence.encode() for sentence in batch.sentences]
            entailed = meanings.entailed(batch.sentences, batch.premise.tolist()) if meanings else None
        else:
            tokens, texts = batch.tokens, [np.array(ids).tobytes() for ids in batch.tokens]
        return cls(
            tokens=tokens,
            text=torch.tensor([_fingerprint(text) for text in texts]),
            premise=torch.from_numpy(batch.premise),
            hypothesis=torch.from_numpy(batch.hypothesis),
            label=torch.from_numpy(batch.label).long(),
            group=torch.from_numpy(batch.group),
            score=None if batch.score is None else torch.from_numpy(batch.score),
            guide=None if guide is None else torch.from_numpy(guide.encode(batch.sentences)),
            entailed=None if entailed is None else torch.from_numpy(entailed),
        )

    def shares(self, workers: Workers) -> list[list[int]]:
        """Return the indices of the items that each worker embeds."""
        if workers.count not in self._shares:
            self._shares[workers.count] = workers.share([len(ids) for ids in self.tokens])
        return self._shares[workers.count]

    def worker_tokens(self, workers: Workers) -> list[list[int]]:
        """Return the tokens of this worker's items."""
        return [self.tokens[i] for i in self.shares(workers)[workers.rank]]

    @property
    def anchors(self) -> list[list[int]]:
        """The tokens of the unique premises."""
        return [self.tokens[i] for i in self.premise.unique().tolist()]

    def mlm_inputs(
        self, workers: Workers, generator: torch.Generator
    ) -> tuple[list[list[int]], torch.Generator, list[int]]:
        """Return arguments for the MLM head: the anchors' tokens, the generator of masks, this worker's anchors."""
        tokens = self.anchors
        return tokens, generator, workers.share([len(ids) for ids in tokens])[workers.rank]


class StudyModel(nn.Module):
    """Encoder, projection head and objective. Only the encoder is kept after training."""

    def __init__(
        self,
        encoder: TrainableEncoder,
        head: Projection,
        objective: Objective,
        *,
        mlm: float = 0.0,
        mean_over_workers: bool = False,
        count_padding: bool = False,
        guide: EmbeddingStore | None = None,
        meanings: Meanings | None = None,
    ) -> None:
        """`guide`: embeddings of the encoder that `objective.guide` or `objective.teacher` names. `meanings`: meanings
        of the training texts, for the count of false negatives. `mlm`: the weight of masked language modelling.
        `mean_over_workers` and `count_padding`: from `objective.workers` and `pooling.padding`."""
        super().__init__()
        self.encoder = encoder
        self.head = head.build(encoder.dim)
        self.objective = objective
        self.own = objective.module(encoder.dim)
        self.temperature = objective.learned() if isinstance(objective, Temperature) else None
        size, warmup = objective.memory_bank()
        self.bank = MemoryBank(size, head.size(encoder.dim), warmup) if size else None
        self.mlm_weight = mlm
        self.count_padding = count_padding
        self.mean_over_workers = mean_over_workers
        self.guide = guide
        self.meanings = meanings
        self.to(encoder.device)

    def tokenized(self, batch: Batch, memory: TokenMemory | None = None) -> TokenizedBatch:
        """Return a batch of the sampler, ready for `loss`. `memory`: tokenizes instead of the encoder."""
        return TokenizedBatch.of(batch, memory or self.encoder, self.guide, self.meanings)

    def loss(self, batch: TokenizedBatch, workers: Workers, generator: torch.Generator) -> Loss:
        """Return this worker's part of the loss of a global batch."""
        loss = None
        if not self.objective.mlm_only:
            own = batch.worker_tokens(workers)
            # A worker without sentences still takes part in the exchange, also in the backward pass.
            nothing = torch.zeros(0, self.encoder.dim, device=self.encoder.device, requires_grad=True)
            loss = self.contrast(self.encoder.embed(own) if own else nothing, batch, workers, generator)
        if not self.mlm_weight:
            assert loss is not None, "without embeddings and without MLM there is no loss; `check_objective` refuses it"
            return loss
        summed, count = self.mlm_head.loss(*batch.mlm_inputs(workers, generator))
        value = self.mlm_weight * summed / max(count, 1)
        return Loss(value if loss is None else loss.value + value, loss.counts if loss else {})

    @property
    def mlm_head(self) -> MLMHead:
        """The head for masked language modelling; only with `mlm_weight` above 0."""
        head = as_token_encoder(self.encoder).mlm_head
        assert head is not None, "the encoder was loaded without a head for masked language modelling"
        return cast("MLMHead", head)

    def contrast(self, local: Tensor, batch: TokenizedBatch, workers: Workers, generator: torch.Generator) -> Loss:
        """Return this worker's part of the objective's loss. `local`: (own, dim), embeddings of this worker's items."""
        device = self.encoder.device
        embeddings = workers.gather(local, batch.shares(workers))  # (items, dim)
        if self.count_padding:
            embeddings = embeddings * to_device(_padding_share(batch).to(embeddings.dtype), device)
        temperature = None if self.temperature is None else self.temperature()
        bank, bank_text = self.bank.entries() if self.bank else (None, None)
        placed: dict[str, Any] = {
            name: to_device(numbers, device) for name in BATCH_FIELDS if (numbers := getattr(batch, name)) is not None
        }
        loss = self.objective.loss(
            EmbeddedBatch(
                embeddings=embeddings,
                projected=self.head(embeddings),
                **placed,
                on_cpu=batch,
                generator=generator,
                temperature=temperature,
                bank=bank,
                bank_text=bank_text,
                rank=workers.rank,
                workers=workers.count,
            ),
            self.own,
        )
        if self.mean_over_workers:
            loss = dataclasses.replace(loss, value=loss.value / workers.count)
        if temperature is not None:
            loss = dataclasses.replace(loss, counts={**loss.counts, TEMPERATURE: temperature.detach()})
        if self.bank is not None:
            assert loss.contrasted is not None, "an objective with a memory gives `Loss.contrasted`"
            vectors, texts = loss.contrasted
            self.bank.add(vectors, texts, generator)
        return loss


class MemoryBank(nn.Module):
    """A queue of the candidates of earlier batches. The oldest are replaced first (DeCLUTR, Figure S1).

    The candidates of a batch enter in random order, so that a short queue keeps a random choice of them. Every worker
    has the global batch, so the banks of all workers are equal. The bank is part of a checkpoint.
    """

    vectors: Tensor
    texts: Tensor
    added: Tensor
    batches: Tensor

    def __init__(self, size: int, width: int, warmup: int = 0) -> None:
        """`size` entries of `width` numbers; the bank is used after `warmup` batches."""
        super().__init__()
        self.warmup = warmup
        self.register_buffer("vectors", torch.zeros(size, width))
        self.register_buffer("texts", torch.zeros(size, dtype=torch.int64))
        self.register_buffer("added", torch.zeros((), dtype=torch.int64))
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64))
        self._counted: tuple[int, int] | None = (0, 0)  # `added`, `batches` without a device; None: unknown
        self.register_load_state_dict_post_hook(MemoryBank._forget)

    def entries(self) -> tuple[Tensor, Tensor] | tuple[None, None]:
        """Return vectors, (entries, width), and fingerprints, (entries,). Both are None in the warm-up or if empty."""
        added, batches = self._counts()
        filled = min(added, len(self.texts))
        if filled == 0 or batches < self.warmup:
            return None, None
        return self.vectors[:filled].clone(), self.texts[:filled].clone()

    def add(self, vectors: Tensor, texts: Tensor, generator: torch.Generator) -> None:
        """Add the candidates of a batch in place of the oldest entries."""
        added, batches = self._counts()
        size = len(self.texts)
        order = to_device(torch.randperm(len(texts), generator=generator)[:size], texts.device)
        vectors, texts = vectors[order], texts[order]
        indices = (self.added + torch.arange(len(texts), device=texts.device)) % size
        self.vectors[indices] = vectors.to(self.vectors.dtype)
        self.texts[indices] = texts
        self.added += len(texts)
        self.batches += 1
        self._counted = added + len(texts), batches + 1

    def _counts(self) -> tuple[int, int]:
        """Return the numbers of entries and batches added so far."""
        if self._counted is None:
            self._counted = int(self.added), int(self.batches)
        return self._counted

    def _forget(self, _: object) -> None:
        """Forget the counts after a saved state was loaded."""
        self._counted = None


def _fingerprint(text: bytes) -> int:
    """Return 63 bits that are the same for equal texts, in every process and batch."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 1


def _padding_share(batch: TokenizedBatch) -> Tensor:  # (sentences, 1)
    """Return each sentence's real length divided by its padded length. Liao's released code divides the sum over the
    real tokens by the padded length, so padding shrinks a mean. Premises and hypotheses of a batch are padded
    separately, each to the longest."""
    lengths = torch.tensor([len(ids) for ids in batch.tokens], dtype=torch.float64) - 1  # [CLS] is left out
    padded = torch.ones_like(lengths)
    for members in (batch.hypothesis, batch.premise):  # a sentence that is both counts as a premise
        padded[members] = lengths[members].max()
    return (lengths / padded.clamp(min=1)).unsqueeze(1)


def decay_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Return parameter groups with weight decay on matrices only, not on biases, LayerNorm or a learned temperature.
    The group of a learned temperature has its own rate (`rate`)."""
    learned = [module for module in model.modules() if isinstance(module, LearnedTemperature)]
    matrices = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    vectors = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    vectors = [p for p in vectors if all(p is not module.log for module in learned)]
    groups: list[dict[str, Any]] = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return groups + [{"params": [module.log], "weight_decay": 0.0, "rate": module.rate} for module in learned]
