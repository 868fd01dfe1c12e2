"""The gradients of a step, computed at once or with a gradient cache, so that a batch of any size fits in memory.

The gradient cache (Gao 2021, "Scaling deep contrastive learning batch size under memory limited setup"): the batch is
embedded pass by pass without a graph. The loss of the whole batch gives the gradient of each embedding. Then each pass
is computed again with the same random numbers, and its backward pass runs at once with the gradients of its embeddings.
The result equals that of the plain step, which holds all passes until the loss is known. The cost is a second forward
pass.

A step that runs out of memory is discarded and repeated from the same batch and random state, in passes of half the
size, down to one sentence. All workers of a trial repeat it together.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Hashable, Sequence
from typing import Literal

import torch

from trainables.errors import UserError
from trainables.objectives.objective import Loss
from trainables.to_device import to_device
from trainables.training.checkpoint import Chunk
from trainables.training.distributed import FullElsewhereError, Workers
from trainables.training.dropout_streams import RandomState
from trainables.training.gradients import GradientSum
from trainables.training.memory import available_bytes, held_bytes
from trainables.training.model import StudyModel, TokenizedBatch

MEASURED_TOKENS = 4096
"""Approximate number of tokens on which an encoder's memory is measured."""
USABLE_SHARE = 0.5
"""The plain step is used if it is expected to need at most this share of the free memory."""
TOKEN_SLACK = 1.1
"""A batch with at most this many times the tokens of a batch that fits is assumed to fit."""

BYTES_PER_PARAMETER = 12
"""Bytes per trained number that are not allocated before the first step: gradient and AdamW's state."""

OUT_OF_MEMORY_KINDS: set[Hashable] = set()
"""Trials that ran out of memory in this process, by encoder class, parameter shapes, precision and batch size. The next
trial of this kind starts with the encoder's own passes, which draw the same random numbers as the plain step. Smaller
passes draw other numbers, so it takes them only after a step of its own ran out of memory."""


class Chunks:
    """Runs the forward and backward passes of a training, divided as `chunk` specifies."""

    def __init__(
        self,
        model: StudyModel,
        setting: Literal["auto"] | int | None,
        batch_size: int,
        workers: Workers,
        gradients: GradientSum,
        resumed_chunk: Chunk = None,
    ) -> None:
        """`setting`: `optimisation.chunk`; `resumed_chunk`: the last `chunk` of the training that is resumed."""
        self.model, self.workers, self.gradients = model, workers, gradients
        self.auto, self.shrinks = setting == "auto", setting is not None
        self._kind = (
            type(model.encoder),
            tuple(parameter.shape for parameter in model.parameters()),
            getattr(model.encoder, "training_precision", None),
            batch_size,
        )
        tight = workers.count == 1 and self._kind in OUT_OF_MEMORY_KINDS  # may differ between workers
        chosen: Chunk = ("passes" if tight else None) if setting == "auto" else setting
        self.chunk: Chunk = resumed_chunk or chosen
        self._fitting, self._longest = 0.0, 0  # tokens of a batch that fits, and of its longest sentence

    def step(self, batch: TokenizedBatch, seed: int) -> Loss:
        """Return the loss of a batch, and set the parameters' gradients, summed over all workers. `seed`: for draws
        that are equal on all workers. Raises `UserError` if one sentence at a time does not fit in memory."""
        if not self.shrinks:
            return self._attempt(batch, seed)
        if self.auto and (self.workers.count > 1 or self.model.encoder.device.type == "cpu"):
            self._look_ahead(batch)
        streams = RandomState.of(self.model.encoder.device)
        bank = None if self.model.bank is None else copy.deepcopy(self.model.bank.state_dict())
        while True:
            try:
                return self._attempt(batch, seed)
            except FullElsewhereError:
                own_failure = False
            except torch.OutOfMemoryError:
                own_failure = True
            # Memory of the failed step is free only here: until the `except` block ends, the error holds it.
            self.gradients.abandon()
            if own_failure:
                self.workers.synchronise(full=True)
            self.model.zero_grad(set_to_none=True)
            if self.model.bank is not None and bank is not None:
                self.model.bank.load_state_dict(bank)
            streams.restore()
            smaller = self._smaller(batch)
            if smaller is None:
                longest = max(len(ids) for ids in batch.tokens)
                raise UserError(
                    "the GPU's memory is full; lower optimisation.batch_size or encoder.max_length, or give the trial "
                    f"more workers: a step does not fit even one sentence at a time, the longest of {longest} tokens"
                )
            if self.workers.count == 1:
                OUT_OF_MEMORY_KINDS.add(self._kind)
            self._take(smaller, "a step ran out of memory and is done again")

    def _attempt(self, batch: TokenizedBatch, seed: int) -> Loss:
        self.model.zero_grad(set_to_none=True)
        generator = torch.Generator().manual_seed(seed)
        most = None if self.chunk == "passes" else self.chunk
        if self.chunk is not None and self._passes(self._largest_share(batch), most) > 1:
            return self._cached(batch, generator, most)
        loss = self.model.loss(batch, self.workers, generator)
        self.gradients.backward(loss.value)
        return loss

    def _cached(self, batch: TokenizedBatch, generator: torch.Generator, most: int | None) -> Loss:
        """Run a step with the gradient cache, in passes of at most `most` tokens (None: the encoder's own passes)."""
        model, encoder = self.model, self.model.encoder
        own = batch.worker_tokens(self.workers) if not model.objective.mlm_only else []
        passes = encoder.passes([len(ids) for ids in own], most) if own else []
        streams, embedded = [], [torch.zeros(0, encoder.dim, device=encoder.device)]
        with torch.no_grad():
            for rows in passes:
                streams.append(RandomState.of(encoder.device))
                embedded.append(encoder.embed([own[i] for i in rows]))
        local = torch.cat(embedded).requires_grad_()  # pass by pass
        loss = Loss(local.new_zeros(()))
        if not model.objective.mlm_only:
            order = torch.tensor([i for rows in passes for i in rows], dtype=torch.long).argsort()
            loss = model.contrast(local[to_device(order, local.device)], batch, self.workers, generator)
            loss.value.backward()
        value = loss.value.detach()
        if model.mlm_weight:
            parts, count = model.mlm_head.parts(*batch.mlm_inputs(self.workers, generator), most)
            for part in parts:
                guessing = model.mlm_weight * part() / max(count, 1)
                guessing.backward()
                value = value + guessing.detach()
        after = RandomState.of(encoder.device)
        gradients = torch.zeros_like(local) if local.grad is None else local.grad
        for rows, before, gradient in zip(
            passes, streams, gradients.split([len(rows) for rows in passes]), strict=True
        ):
            before.restore()
            # The gradient of this scalar by the embeddings is `gradient`.
            (encoder.embed([own[i] for i in rows]) * gradient).sum().backward()
        after.restore()
        self.gradients.exchange()
        return Loss(value, loss.counts)

    def _look_ahead(self, batch: TokenizedBatch) -> None:
        """Take a smaller `chunk` if the batch is larger than all batches before and is not expected to fit in memory.
        All workers decide the same."""
        share = self._largest_share(batch)
        lengths = [len(ids) for ids in share]
        if sum(lengths) <= self._fitting and max(lengths) <= self._longest:
            return
        fits = self.workers.from_first(self._expected(batch, share) if self.workers.rank == 0 else None)
        self._fitting = max(self._fitting, TOKEN_SLACK * sum(lengths))
        self._longest = max(self._longest, *lengths)
        if _size(fits) < _size(self.chunk):
            self._take(fits, "a batch is expected to take more than half of the free memory")

    def _expected(self, batch: TokenizedBatch, share: Sequence[Sequence[int]]) -> Chunk:
        """Return the `Chunk` that is expected to fit, from the memory of a pass over the longest sentences. Masked
        language modelling holds the anchors a second time."""
        encoder = self.model.encoder
        lengths = [len(ids) for ids in share]
        own = encoder.passes(lengths)
        sample = encoder.passes([lengths[i] for i in own[0]], MEASURED_TOKENS)[0]
        streams = RandomState.of(encoder.device)
        each = held_bytes(encoder, [share[own[0][i]] for i in sample]) / sum(lengths[own[0][i]] for i in sample)
        streams.restore()
        free = available_bytes(encoder.device)
        if free is None:
            return None
        if not self._fitting:
            free -= BYTES_PER_PARAMETER * sum(p.numel() for p in self.model.parameters() if p.requires_grad)
        room = USABLE_SHARE * free / self.workers.most_per_machine
        again = sum(map(len, batch.anchors)) if self.model.mlm_weight else 0
        if each * (sum(lengths) + again / self.workers.count) <= room:
            return None
        largest = max(sum(lengths[i] for i in rows) for rows in own)
        return "passes" if each * largest <= room else max(1, int(room / each))

    def _smaller(self, batch: TokenizedBatch) -> Chunk:
        """Return the next smaller `Chunk` after a step that did not fit; None if no pass can be smaller."""
        lengths = [len(ids) for ids in self._largest_share(batch)]
        own = self.model.encoder.passes(lengths)
        if self.chunk is None and len(own) > 1:
            return "passes"
        passes = self.model.encoder.passes(lengths, self.chunk) if isinstance(self.chunk, int) else own
        several = [rows for rows in passes if len(rows) > 1]  # a single sentence cannot be split
        return max(sum(lengths[i] for i in rows) for rows in several) // 2 if several else None

    def _take(self, chunk: Chunk, why: str) -> None:
        self.chunk = chunk
        size = "the encoder's own passes" if chunk == "passes" else f"passes of at most {chunk:,} tokens"
        if self.workers.rank == 0:
            print(f"{why}: from now on by a gradient cache, with {size}", file=sys.stderr, flush=True)

    def _largest_share(self, batch: TokenizedBatch) -> list[list[int]]:
        """Return the tokens of the first worker's items, which are the most. The result is the same on all workers."""
        return [batch.tokens[i] for i in batch.shares(self.workers)[0]]

    def _passes(self, tokens: Sequence[Sequence[int]], most: int | None) -> int:
        return len(self.model.encoder.passes([len(ids) for ids in tokens], most))


def _size(chunk: Chunk) -> float:
    """Return a size for comparisons, in tokens. The plain step is the largest, then the encoder's own passes."""
    return math.inf if chunk is None else sys.maxsize if chunk == "passes" else chunk
