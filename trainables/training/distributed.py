"""The workers of one trial. With any number of workers, the objective gets the global batch.

Each worker encodes its share of a batch's sentences, gathers the embeddings of all workers with gradient, and computes
the loss of its share of the anchors. The sum of the losses is the loss of a single worker, so gradients are summed, not
averaged (`trainables.training.gradients`).

If a worker missed an exchange, the other workers would wait for ever. Therefore all workers meet before each exchange
of a step, and once after the last one. A worker that ran out of memory reports this at the next meeting
(`trainables.training.chunks`).
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
    """Another worker of this trial ran out of memory, so all workers abandon the step."""


@dataclass
class PendingExchanges:
    """Number of exchanges that the backward pass of this step still has to do."""

    gathers: int = 0


@dataclass(frozen=True)
class Workers:
    """This worker's rank among the trial's workers, and their exchanges. For one worker, exchanges do nothing."""

    rank: int = 0
    count: int = 1
    gpus: float = 1.0
    """Number of GPUs, or share of a GPU, that each worker holds if the trial trains on GPUs."""
    pending: PendingExchanges = field(default_factory=PendingExchanges, compare=False, repr=False)
    """Pending exchanges of `gather`'s backward pass. All workers must do all exchanges in the same order."""
    most_per_machine: int = field(default=1, compare=False)
    """Largest number of the trial's workers on one machine. They share the machine's memory."""
    cpu_group: dist.ProcessGroup | None = field(default=None, compare=False, repr=False)
    """Process group for exchanges between processes without their GPUs; None: the default group does these."""

    @classmethod
    def from_process_group(cls) -> Workers:
        """Return this worker of the default process group. Call it only once: with GPUs it makes another group."""
        cpu_group = None if dist.get_backend() == "gloo" else dist.new_group(backend="gloo")
        machines: list[Any] = [None] * dist.get_world_size()
        dist.all_gather_object(machines, socket.gethostname(), group=cpu_group)
        return cls(
            dist.get_rank(), len(machines), most_per_machine=max(Counter(machines).values()), cpu_group=cpu_group
        )

    def synchronise(self, *, full: bool = False) -> None:
        """Wait for all workers, but not for a GPU. `full`: this worker ran out of memory; the other workers then raise
        `FullElsewhereError`."""
        if self.count == 1:
            return
        full_somewhere = torch.tensor(int(full))
        dist.all_reduce(full_somewhere, group=self.cpu_group)
        if full_somewhere and not full:
            raise FullElsewhereError("another worker of this trial ran out of memory")

    def share(self, lengths: Sequence[int]) -> list[list[int]]:
        """Return the indices of each worker's sentences, dealt out longest first to balance the numbers of tokens."""
        order = sorted(range(len(lengths)), key=lambda i: (-lengths[i], i))
        return [order[rank :: self.count] for rank in range(self.count)]

    def gather(self, local: Tensor, shares: Sequence[Sequence[int]]) -> Tensor:  # (own, dim) -> (all, dim)
        """Return the embeddings of all workers in the order of the batch. Gradients flow back to the worker that
        computed the embedding."""
        sizes = [len(share) for share in shares]
        stacked = local if self.count == 1 else _Gather.apply(local, sizes, self)
        order = torch.tensor([i for share in shares for i in share]).argsort()
        return stacked[to_device(order, local.device)]

    def total(self, value: Tensor) -> Tensor:
        """Return the sum of a tensor over the workers, without gradient."""
        value = value.detach().clone()
        if self.count > 1:
            dist.all_reduce(value)
        return value

    def from_first(self, value: Any) -> Any:
        """Return the first worker's value on every worker. The exchange does not use GPUs."""
        if self.count == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, group=self.cpu_group)
        return box[0]

    def gather_arrays(self, own: np.ndarray) -> list[np.ndarray] | None:
        """Return the arrays of all workers on the first worker, None on the others. GPU memory is not used."""
        if self.count == 1:
            return [own]
        arrays: list[Any] | None = [None] * self.count if self.rank == 0 else None
        dist.gather_object(own, arrays, dst=0, group=self.cpu_group)
        return arrays


class _Gather(torch.autograd.Function):
    """All-gather of parts of different sizes. Its gradient is the gradient of the sum of all workers' losses."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, sizes: list[int], workers: Workers) -> Tensor:
        ctx.sizes, ctx.workers = sizes, workers
        workers.pending.gathers += 1
        padded = local.new_zeros(max(sizes), local.shape[1])
        padded[: len(local)] = local
        parts = [torch.empty_like(padded) for _ in sizes]
        workers.synchronise()
        dist.all_gather(parts, padded)
        return torch.cat([part[:size] for part, size in zip(parts, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        total = gradients[0].contiguous()
        workers: Workers = ctx.workers
        workers.synchronise()
        dist.all_reduce(total)
        workers.pending.gathers -= 1
        start = sum(ctx.sizes[: workers.rank])
        return total[start : start + ctx.sizes[workers.rank]], None, None
