"""The workers of one trial. Every objective sees the global batch, whatever their number.

Each worker encodes its share of a batch's sentences, gathers the embeddings of all workers with gradient, and computes
the loss of its share of the anchors. The losses add up to that of one worker alone, so gradients are summed, not
averaged (`trainables.training.gradients`).

An exchange that one worker never comes to would hold up the others for ever. Therefore all of them meet before each
exchange of a step, and once after its last: one that ran out of memory says so at the next meeting, wherever the others
are by then (`trainables.training.chunks`).
"""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

from trainables.to_device import to_device


class FullElsewhereError(torch.OutOfMemoryError):
    """Another worker of this trial ran out of memory, so that all of them leave this step."""


@dataclass
class Awaited:
    """Exchanges that the backward pass of this step still owes."""

    gathers: int = 0


@dataclass(frozen=True)
class Workers:
    """This worker's place among the trial's workers. Alone, every exchange is a no-op."""

    rank: int = 0
    count: int = 1
    gpus: float = 1.0
    """How many GPUs, or what share of one, each of them holds where it trains on GPUs."""
    awaited: Awaited = field(default_factory=Awaited, compare=False, repr=False)
    """The backward pass of `gather` is an exchange, too, and all workers must have all exchanges in one order."""
    beside: int = field(default=1, compare=False)
    """How many of them share a machine's memory: those of the machine that has most of them."""
    hosts: dist.ProcessGroup | None = field(default=None, compare=False, repr=False)
    """In which the processes themselves meet, without their GPUs; None: the default group can do it."""

    @classmethod
    def joined(cls) -> Workers:
        """The place in the initialised default process group. Once in a process: with GPUs it makes a group more."""
        hosts = None if dist.get_backend() == "gloo" else dist.new_group(backend="gloo")
        machines: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(machines, socket.gethostname(), group=hosts)
        return cls(dist.get_rank(), len(machines), beside=max(Counter(machines).values()), hosts=hosts)

    def meet(self, *, full: bool = False) -> None:
        """Wait for all workers. `full`: this one has run out of memory; on the others `FullElsewhereError` is raised
        then. No GPU is waited for."""
        if self.count == 1:
            return
        full_somewhere = torch.tensor(int(full))
        dist.all_reduce(full_somewhere, group=self.hosts)
        if full_somewhere and not full:
            raise FullElsewhereError("another worker of this trial ran out of memory")

    def share(self, lengths: Sequence[int]) -> list[list[int]]:
        """Which sentences each worker encodes: dealt out longest first, so that all have alike many tokens."""
        order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
        return [order[rank :: self.count] for rank in range(self.count)]

    def gather(self, local: Tensor, shares: Sequence[Sequence[int]]) -> Tensor:  # (own, dim) -> (all, dim)
        """Everyone's embeddings in the order of the batch; gradients flow back to the worker that made them."""
        sizes = [len(share) for share in shares]
        stacked = local if self.count == 1 else _Gather.apply(local, sizes, self)
        order = torch.tensor([i for share in shares for i in share]).argsort()
        return stacked[to_device(order, local.device)]

    def total(self, value: Tensor) -> Tensor:
        """The sum of a tensor over the workers, without gradient."""
        value = value.detach().clone()
        if self.count > 1:
            dist.all_reduce(value)
        return value

    def from_first(self, value: Any) -> Any:
        """The first worker's value, on every worker. It does not go through their GPUs."""
        if self.count == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self.hosts)
        return box[0]

    def gather_arrays(self, own: np.ndarray) -> list[np.ndarray] | None:
        """Everyone's array, on the first worker; None on the others. Their GPUs need no memory for it."""
        if self.count == 1:
            return [own]
        arrays: list[Any] | None = [None] * self.count if self.rank == 0 else None
        dist.gather_object(own, arrays, dst=0, group=self.hosts)
        return arrays


class _Gather(torch.autograd.Function):
    """All-gather of parts of different sizes, with the gradient that the sum of all workers' losses has."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, sizes: list[int], workers: Workers) -> Tensor:
        ctx.sizes, ctx.workers = sizes, workers
        workers.awaited.gathers += 1
        padded = local.new_zeros(max(sizes), local.shape[1])
        padded[: len(local)] = local
        parts = [torch.empty_like(padded) for _ in sizes]
        workers.meet()
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        total = gradients[0].contiguous()
        workers: Workers = ctx.workers
        workers.meet()
        dist.all_reduce(total)
        workers.awaited.gathers -= 1
        start = sum(ctx.sizes[: workers.rank])
        return total[start : start + ctx.sizes[workers.rank]], None, None
