"""Numbers that the device has not computed yet."""

from __future__ import annotations

import torch
from torch import Tensor


class PendingNumbers:
    """The numbers of a tensor, on their way from the device to this process.

    Making one does not wait for the device; `read` waits until it has come so far. A training that reads a step's
    numbers only once the next step is queued keeps its device busy.
    """

    def __init__(self, numbers: Tensor) -> None:
        """`numbers`: of any shape; what is written into it afterwards is not seen."""
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
        """All numbers, in one list."""
        if self._arrived is not None:
            self._arrived.synchronize()
        return self._numbers.flatten().tolist()
