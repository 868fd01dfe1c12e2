"""Numbers that the device has not computed yet."""

from __future__ import annotations

import torch
from torch import Tensor


class PendingNumbers:
    """The numbers of a tensor, during the copy from the device to this process.

    The constructor does not wait for the device; `read` does. A training that reads the numbers of a step only after
    the next step is queued keeps its device busy.
    """

    def __init__(self, numbers: Tensor) -> None:
        """`numbers`: of any shape. Later changes of the tensor have no effect."""
        numbers = numbers.detach()
        self._arrived: torch.cuda.Event | None = None
        if numbers.is_cuda:
            self._numbers = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
            self._numbers.copy_(numbers, non_blocking=True)
            self._arrived = torch.cuda.Event()
            self._arrived.record()
        else:
            self._numbers = numbers.cpu().clone()

    def read(self) -> list[float]:
        """Wait for the numbers and return them in one flat list."""
        if self._arrived is not None:
            self._arrived.synchronize()
        return self._numbers.flatten().tolist()
