"""The sum of all workers' gradients, exchanged while the backward pass is still running."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from types import TracebackType

import torch
import torch.distributed as dist
from torch import Tensor, nn

from trainables.training.distributed import Workers

BUCKET_BYTES = 25 * 2**20
"""Gradients are sent in buckets of about this size. Small buckets cost more sends; large ones are sent later."""
TABLE_ROWS = 8192
"""A matrix with at least this many rows counts as an embedding table, of which a step uses few rows."""


class GradientSum:
    """Runs backward passes after which the `grad` of every trained parameter is the sum over all workers.

        with GradientSum(model.parameters(), workers) as gradients:
            gradients.backward(loss)

    If a step has several backward passes, call torch's `backward` for each of them, then `gradients.exchange()`.

    Gradients are sent in buckets, last layers first, while earlier layers are still computed. All workers send the same
    buckets in the same order, after the exchange of the embeddings' gradients (`Workers.gather`). A worker without
    gradients sends zeros. For an embedding table only rows with a gradient on some worker are sent (`_WordTable`).
    """

    def __init__(self, parameters: Iterable[nn.Parameter], workers: Workers) -> None:
        """`parameters`: in the same order on all workers; frozen parameters are skipped."""
        self.workers = workers
        self._trained = [parameter for parameter in parameters if parameter.requires_grad]
        self._sending = False
        self._buckets: list[_Bucket] = []
        self._bucket_of: dict[nn.Parameter, _Bucket] = {}
        self._hooks = [p.register_post_accumulate_grad_hook(self._ready) for p in self._trained if workers.count > 1]

    def __enter__(self) -> GradientSum:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Remove the hooks, since the parameters may be trained again."""
        for hook in self._hooks:
            hook.remove()

    def backward(self, loss: Tensor) -> None:
        """Run the backward pass and set `grad` to the summed gradients. On a GPU this is queued, not finished."""
        if self.workers.count == 1:
            loss.backward()
            return
        self.workers.synchronise()
        self._begin(lambda: _leaves(loss))
        self._sending = True
        loss.backward()
        self._finish()
        self.workers.synchronise()

    def exchange(self) -> None:
        """Replace the accumulated gradients of this worker by the sum over all workers."""
        if self.workers.count == 1:
            return
        self.workers.synchronise()
        self._begin(lambda: {parameter for parameter in self._trained if parameter.grad is not None})
        self._finish()

    def abandon(self) -> None:
        """End a step that failed on this worker. Send the buckets that other workers are sending, as they would wait
        for ever otherwise. The sent values are not used."""
        if self._sending and not self.workers.pending.gathers:
            self._finish()
        self._sending = False
        self.workers.pending.gathers = 0

    def _begin(self, used: Callable[[], Set[Tensor]]) -> None:
        """Start a new exchange. `used` returns the parameters that the loss depends on; it is slow and called once."""
        if not self._buckets:
            self._pack(used())
        for bucket in self._buckets:
            bucket.begin()

    def _finish(self) -> None:
        for bucket in self._buckets:
            bucket.send()
        for bucket in self._buckets:
            bucket.wait()
        self._sending = False
        self.workers.pending.gathers = 0

    def _pack(self, used: Set[Tensor]) -> None:
        """Make the buckets in the order in which gradients are ready: from the last layer to the first. Parameters that
        the first worker's loss does not depend on get no gradient, so they come last."""
        trained = self._trained[::-1]
        reached = self.workers.from_first([parameter in used for parameter in trained])
        order = [p for p, yes in zip(trained, reached, strict=True) if yes]
        order += [p for p, yes in zip(trained, reached, strict=True) if not yes]
        self._buckets = [_WordTable(part) if _is_table(part[0]) else _Bucket(part) for part in _packed(order)]
        self._bucket_of = {parameter: bucket for bucket in self._buckets for parameter in bucket.parameters}

    def _ready(self, parameter: Tensor) -> None:
        """Count a computed gradient and send all buckets that are ready. The backward pass calls it."""
        if not self._sending:
            return
        assert isinstance(parameter, nn.Parameter)
        self._bucket_of[parameter].missing -= 1
        if self.workers.pending.gathers:
            return
        for bucket in self._buckets:
            if bucket.missing:
                return
            bucket.send()


class _Bucket:
    """Gradients that are sent together."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.parameters = parameters
        self.missing = len(parameters)
        """Number of gradients that are not computed yet."""
        self._sent: dist.Work | None = None

    def begin(self) -> None:
        self.missing, self._sent = len(self.parameters), None

    def send(self) -> None:
        """Send the bucket unless it was sent. Missing gradients are 0. The gradients become views of the bucket."""
        if self._sent is not None:
            return
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self.parameters])
        parts = flat.split([p.numel() for p in self.parameters])
        for parameter, part in zip(self.parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)
        self._sent = dist.all_reduce(flat, async_op=True)

    def wait(self) -> None:
        """Wait for the sum over all workers. On a GPU, only later work of the GPU waits, not this process."""
        assert self._sent is not None
        self._sent.wait()


class _WordTable(_Bucket):
    """An embedding table. The workers first exchange, as a byte per row, which rows have a gradient other than 0. Then
    they send the rows that have such a gradient on some worker. If these are more than half of the rows, all rows are
    sent; this is so with a head for masked language modelling that is tied to the table."""

    def send(self) -> None:
        """Send the rows with a gradient unless they were sent. Waits until all workers know which rows these are."""
        if self._sent is not None:
            return
        (table,) = self.parameters
        if table.grad is None:
            table.grad = torch.zeros_like(table)
        touched = table.grad.any(dim=1)
        dist.all_reduce(touched, op=dist.ReduceOp.MAX)
        self._rows = touched.nonzero().squeeze(1)
        self._values = table.grad if 2 * len(self._rows) > len(touched) else table.grad[self._rows]
        self._sent = dist.all_reduce(self._values, async_op=True)

    def wait(self) -> None:
        super().wait()
        (table,) = self.parameters
        assert table.grad is not None
        if self._values is not table.grad:
            table.grad.index_copy_(0, self._rows, self._values)


def _is_table(parameter: Tensor) -> bool:
    """Return whether this is an embedding table on the CPU. A table on a GPU is sent whole, because a worker would have
    to wait until the GPU has counted the rows."""
    return parameter.dim() == 2 and len(parameter) >= TABLE_ROWS and parameter.device.type == "cpu"


def _packed(parameters: Sequence[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Group neighbours of equal dtype and device until they reach `BUCKET_BYTES`. Each table is a group of its own."""
    packed: list[list[nn.Parameter]] = []
    room = 0
    for parameter in parameters:
        table = _is_table(parameter)
        alike = packed and (packed[-1][0].dtype, packed[-1][0].device) == (parameter.dtype, parameter.device)
        if table or not alike or room <= 0:
            packed.append([])
            room = BUCKET_BYTES
        packed[-1].append(parameter)
        room = 0 if table else room - parameter.numel() * parameter.element_size()
    return packed


def _leaves(loss: Tensor) -> set[Tensor]:
    """Return the parameters that a loss depends on."""
    leaves: set[Tensor] = set()
    visited, ahead = set(), [loss.grad_fn]
    while ahead:
        node = ahead.pop()
        if node is None or node in visited:
            continue
        visited.add(node)
        if hasattr(node, "variable"):  # the node that accumulates a leaf's gradient
            leaves.add(node.variable)
        ahead.extend(following for following, _ in node.next_functions)
    return leaves
