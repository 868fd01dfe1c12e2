"""A step with and without the gradient cache, for the tests of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal
from unittest import mock

import torch
from torch import Tensor, nn

from tests.gloo_worker import Tiny, drawn_model
from trainables.encoders.passes import full_passes
from trainables.errors import UserError
from trainables.recipe import Recipe
from trainables.training import chunks
from trainables.training.chunks import Chunks
from trainables.training.distributed import Workers
from trainables.training.gradients import GradientSum
from trainables.training.model import StudyModel, TokenizedBatch

GROUPS = {"corpus.layout": "groups", "objective.name": "mnrl", "objective.temperature": 0.05}
BANK = {**GROUPS, "objective.bank": 9, "head.kind": "mlp"}
WHOLE = 10_000
"""Tokens: more than any batch here has."""


class Passing(Tiny):
    """With dropout, in passes of its own of at most `own` tokens."""

    def __init__(self, dropout: float = 0.3, own: int = WHOLE) -> None:
        super().__init__()
        self.dropout, self.own = dropout, own
        self.sizes: list[int] = []
        """Tokens of each pass so far."""

    def passes(self, lengths: Sequence[int], most: int | None = None) -> list[list[int]]:
        return full_passes(lengths, most or self.own)

    def embed(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        passes = self.passes([len(ids) for ids in tokens])
        embedded = []
        for part in passes:
            self.sizes.append(sum(len(tokens[i]) for i in part))
            embedded.append(nn.functional.dropout(super().embed([tokens[i] for i in part]), self.dropout))
        return torch.cat(embedded)[torch.tensor([i for part in passes for i in part]).argsort()]


def model_of(changes: dict[str, Any], encoder: nn.Module | None = None) -> StudyModel:
    return drawn_model(Recipe().preferring(changes), encoder or Passing())


def batch_of(count: int = 40, words: int = 40) -> TokenizedBatch:
    """Groups of a premise with three rows of all labels, in three of four; sentences of uneven length."""
    premise = torch.arange(0, count, 4).repeat_interleave(3)
    hypothesis = torch.tensor([i for i in range(count) if i % 4]).clamp(max=count - 1)[: len(premise)]
    return TokenizedBatch(
        tokens=[[(7 * n + 3 * k) % words for k in range(1 + (5 * n) % 13)] for n in range(count)],
        text=torch.arange(count),
        premise=premise[: len(hypothesis)],
        hypothesis=hypothesis,
        label=torch.tensor([0, 2, 1] * count)[: len(hypothesis)],
        group=premise[: len(hypothesis)],
        score=(3 * hypothesis % 7) / 6,
        guide=torch.randn(count, 128, generator=torch.Generator().manual_seed(4)),
    )


def steps(
    model: StudyModel,
    chunk: Literal["auto"] | int | None,
    workers: Workers | None = None,
    batches: Sequence[TokenizedBatch] = (),
) -> dict[str, Any]:
    """Loss, counts and gradients of each batch, the parameters left as they are; and what is in the bank then."""
    workers = workers or Workers()
    results = []
    with GradientSum(model.parameters(), workers) as gradients:
        passes = Chunks(model, chunk, 8, workers, gradients)
        for number, batch in enumerate(batches or [batch_of()]):
            torch.manual_seed(100 * workers.rank + number)
            loss = passes.step(batch, number)
            grads = {
                name: torch.zeros_like(p) if p.grad is None else p.grad.clone() for name, p in model.named_parameters()
            }
            results.append({"loss": workers.total(loss.value), "counts": dict(loss.counts), "gradients": grads})
    bank = {} if model.bank is None else dict(model.bank.state_dict())
    return {"steps": results, "bank": bank, "next": torch.rand(3), "chunk": passes.chunk}


WORKER_CASES: dict[str, dict[str, Any]] = {
    "scl": {"objective.name": "scl", "objective.negatives": 3, "head.kind": "mlp"},
    "bank": BANK,
    "batch_hard": {"corpus.layout": "groups", "objective.name": "batch_hard"},
}


def worker_batches() -> list[TokenizedBatch]:
    """Of which the second has one sentence, so that one of two workers has none."""
    zero = torch.zeros(1, dtype=torch.long)
    single = TokenizedBatch(tokens=[[3, 4, 5]], text=zero, premise=zero, hypothesis=zero, label=zero, group=zero)
    return [batch_of(24), single, batch_of(21)]


class FullOnOne(Passing):
    """With `room` for so many tokens a pass; a larger one runs out of memory, in its forward pass or in its backward
    pass, where the gradients of later layers may be on their way to other workers already."""

    def __init__(self, room: int, backward: bool) -> None:
        super().__init__()
        self.room, self.backward = room, backward

    def embed(self, tokens: Sequence[Sequence[int]]) -> Tensor:
        if not torch.is_grad_enabled() or sum(map(len, tokens)) <= self.room:
            return super().embed(tokens)
        embedded = super().embed(tokens)
        if not self.backward:
            raise torch.OutOfMemoryError("no room for embeddings")
        return _Lost.apply(embedded)


class _Lost(torch.autograd.Function):
    """Whose backward pass runs out of memory."""

    @staticmethod
    def forward(ctx: Any, embedded: Tensor) -> Tensor:
        return embedded.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        raise torch.OutOfMemoryError("no room for gradients")


class FullObjective:
    """An objective that runs out of memory the first time."""

    def __init__(self, objective: Any) -> None:
        self.objective, self.lost = objective, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.objective, name)

    def loss(self, batch: Any, own: Any) -> Any:
        if not self.lost:
            self.lost = True
            raise torch.OutOfMemoryError("no room for scores")
        return self.objective.loss(batch, own)


FULL = ("forward", "backward", "objective")
"""Where the second worker runs out of memory."""


def full_on_one(workers: Workers, where: str) -> dict[str, Any]:
    """Steps of which the second worker's do not fit: by the gradient cache, and by the plain step, which sends
    gradients while it still goes backward."""
    worst = workers.rank == 1 and where != "objective"
    model = model_of(BANK, FullOnOne(30, where == "backward") if worst else Passing())
    if workers.rank == 1 and where == "objective":
        model.objective = FullObjective(model.objective)
    with mock.patch.object(Chunks, "_look_ahead"):
        return steps(model, 68 if where == "forward" else "auto", workers, worker_batches())


def full_on_all(workers: Workers) -> str:
    """What a trial says where not even one sentence fits on the second worker."""
    model = model_of(GROUPS, FullOnOne(3, False) if workers.rank == 1 else Passing())
    try:
        steps(model, 60, workers, worker_batches())
    except UserError as error:
        return str(error)
    return "it fitted"


def on_workers(workers: Workers) -> dict[str, Any]:
    """The steps of one of several workers."""
    answers = {
        name: steps(model_of(changes, Passing(0.0)), 9, workers, worker_batches())
        for name, changes in WORKER_CASES.items()
    }
    answers["dropout plain"] = steps(model_of(BANK, Passing(own=30)), None, workers, worker_batches())
    answers["dropout cached"] = steps(model_of(BANK), 30, workers, worker_batches())
    for where in FULL:
        answers[f"full {where}"] = full_on_one(workers, where)
        plain = model_of(BANK, Passing(own=answers[f"full {where}"]["chunk"]))
        answers[f"full {where} plain"] = steps(plain, None, workers, worker_batches())
    answers["full on all"] = full_on_all(workers)
    for name, free in (("auto", 4 * 40), ("auto plenty", 2**50)):  # tokens for which half of each part has room
        model = model_of(GROUPS, Passing(own=30))
        with (
            mock.patch.object(chunks, "available_bytes", lambda device, free=free: free),
            mock.patch.object(chunks, "BYTES_PER_PARAMETER", 0),
            mock.patch.object(chunks, "held_bytes", lambda encoder, sample: sum(map(len, sample))),
        ):
            answers[name] = steps(model, "auto", workers, worker_batches())
    return answers
