"""The sum of all workers' gradients, exchanged while the backward pass still goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from types import TracebackType

import torch
import torch.distributed as dist
from torch import Tensor, nn

from trainables.training.distributed import Workers

BUCKET_BYTES = 25 * 2**20
"""Gradients travel in parts of about this size: small ones cost a start each, large ones start late."""
TABLE_ROWS = 8192
"""A matrix of at least so many rows is taken for a table of words, of which a step looks up few."""


class GradientSum:
    """A backward pass after which every trained parameter's `grad` is the sum over all workers.

        with GradientSum(model.parameters(), workers) as gradients:
            gradients.backward(loss)

    Where a step has several backward passes: after `backward` of each part of the loss, `gradients.exchange()`.

    Gradients travel in buckets, last layers first, while earlier layers are still computed. All workers send the same
    buckets in the same order, after the exchange of the embeddings' gradients (`Workers.gather`); a worker without
    gradients sends zeros. Of a table of words only the rows travel that have a gradient on some worker (`_WordTable`).
    """

    def __init__(self, parameters: Iterable[nn.Parameter], workers: Workers) -> None:
        """`parameters`: those of all workers in the same order; frozen ones are left out."""
        self.workers = workers
        self._trained = [parameter for parameter in parameters if parameter.requires_grad]
        self._sending = False
        self._buckets: list[_Bucket] = []
        self._of: dict[nn.Parameter, _Bucket] = {}
        self._hooks = [p.register_post_accumulate_grad_hook(self._ready) for p in self._trained if workers.count > 1]

    def __enter__(self) -> GradientSum:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """The parameters live on, perhaps into another training: nothing of this one stays at them."""
        for hook in self._hooks:
            hook.remove()

    def backward(self, loss: Tensor) -> None:
        """Leave the summed gradients at the parameters; on a GPU, where they will be once it has come so far."""
        if self.workers.count == 1:
            loss.backward()
            return
        self.workers.meet()
        self._begin(lambda: _leaves(loss))
        self._sending = True
        loss.backward()
        self._finish()
        self.workers.meet()

    def exchange(self) -> None:
        """Make this worker's own gradients, which it has added up, the sum over all workers."""
        if self.workers.count == 1:
            return
        self.workers.meet()
        self._begin(lambda: {parameter for parameter in self._trained if parameter.grad is not None})
        self._finish()

    def abandon(self) -> None:
        """This worker's step has failed. Buckets that other workers send meanwhile are sent here, too, as their
        exchanges would wait for ever; what is in them is of no use."""
        if self._sending and not self.workers.awaited.gathers:
            self._finish()
        self._sending = False
        self.workers.awaited.gathers = 0

    def _begin(self, used: Callable[[], Set[Tensor]]) -> None:
        """A new exchange; `used`: parameters that the loss depends on, asked for once, as they take a while to find."""
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
        self.workers.awaited.gathers = 0

    def _pack(self, used: Set[Tensor]) -> None:
        """Buckets in the order in which gradients are ready: from the last layer to the first. Parameters that the
        first worker's loss does not depend on never get ready, so they come last."""
        trained = self._trained[::-1]
        reached = self.workers.from_first([parameter in used for parameter in trained])
        order = [p for p, yes in zip(trained, reached, strict=True) if yes]
        order += [p for p, yes in zip(trained, reached, strict=True) if not yes]
        self._buckets = [_WordTable(part) if _is_table(part[0]) else _Bucket(part) for part in _packed(order)]
        self._of = {parameter: bucket for bucket in self._buckets for parameter in bucket.parameters}

    def _ready(self, parameter: Tensor) -> None:
        """A gradient is there: called by the backward pass."""
        if not self._sending:
            return
        assert isinstance(parameter, nn.Parameter)
        self._of[parameter].missing -= 1
        if self.workers.awaited.gathers:
            return
        for bucket in self._buckets:
            if bucket.missing:
                return
            bucket.send()


class _Bucket:
    """Gradients that travel together."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.parameters = parameters
        self.missing = len(parameters)
        """So many gradients are not there yet."""
        self._sent: dist.Work | None = None

    def begin(self) -> None:
        """A new step."""
        self.missing, self._sent = len(self.parameters), None

    def send(self) -> None:
        """Send it, unless it was sent already; what is still missing is 0. Gradients are views of it from now on."""
        if self._sent is not None:
            return
        flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in self.parameters])
        parts = flat.split([p.numel() for p in self.parameters])
        for parameter, part in zip(self.parameters, parts, strict=True):
            parameter.grad = part.view_as(parameter)
        self._sent = dist.all_reduce(flat, async_op=True)

    def wait(self) -> None:
        """Until all workers' parts are added up; on a GPU this holds up its later work, not this process."""
        assert self._sent is not None
        self._sent.wait()


class _WordTable(_Bucket):
    """One table of words. First the workers tell each other which rows have a gradient that is not 0, a byte for each
    row; then those travel that have one on some worker. Where that is more than half of them, as with a head for
    masked language modelling that is tied to the table, all do."""

    def send(self) -> None:
        """Send what has a gradient, unless it was sent already. Waits for the workers to tell which rows these are."""
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
    """On a GPU it is not: its worker would have to wait until the GPU knows how many rows there are."""
    return parameter.dim() == 2 and len(parameter) >= TABLE_ROWS and parameter.device.type == "cpu"


def _packed(parameters: Sequence[nn.Parameter]) -> list[list[nn.Parameter]]:
    """Neighbours of one kind of number and one device, together until they reach `BUCKET_BYTES`; each table apart."""
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
    """The parameters that a loss depends on."""
    leaves: set[Tensor] = set()
    visited, ahead = set(), [loss.grad_fn]
    while ahead:
        node = ahead.pop()
        if node is None or node in visited:
            continue
        visited.add(node)
        if hasattr(node, "variable"):  # where a gradient arrives at a leaf
            leaves.add(node.variable)
        ahead.extend(following for following, _ in node.next_functions)
    return leaves
