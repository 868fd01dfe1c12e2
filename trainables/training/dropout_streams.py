"""The state of the random streams that a forward pass draws from, such as for dropout."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RandomState:
    """State of the random streams of a device's kernels. It is stored on the CPU, without a wait for the device."""

    cpu: Tensor
    cuda: Tensor | None
    device: torch.device

    @classmethod
    def of(cls, device: torch.device) -> RandomState:
        """Return the present state of the random streams of a device."""
        cuda = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
        return cls(torch.get_rng_state(), cuda, device)

    def restore(self) -> None:
        """Set the streams back to this state: the same numbers are drawn again."""
        torch.set_rng_state(self.cpu)
        if self.cuda is not None:
            torch.cuda.set_rng_state(self.cuda, self.device)

    def drawn_since(self) -> bool:
        """Return whether any number was drawn since this state was taken."""
        now = RandomState.of(self.device)
        same = self.cuda is None or now.cuda is None or torch.equal(self.cuda, now.cuda)
        return not (same and torch.equal(self.cpu, now.cpu))
