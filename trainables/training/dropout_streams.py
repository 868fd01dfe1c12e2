"""The random streams that a forward pass draws from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RandomState:
    """Of the streams that the kernels on a device draw from. It lies on the CPU; the device is not waited for."""

    cpu: Tensor
    cuda: Tensor | None
    device: torch.device

    @classmethod
    def of(cls, device: torch.device) -> RandomState:
        """As it is now."""
        cuda = torch.cuda.get_rng_state(device) if device.type == "cuda" else None
        return cls(torch.get_rng_state(), cuda, device)

    def restore(self) -> None:
        """What is drawn from now on is what was drawn after this state was taken."""
        torch.set_rng_state(self.cpu)
        if self.cuda is not None:
            torch.cuda.set_rng_state(self.cuda, self.device)

    def drawn_since(self) -> bool:
        """Whether anything was drawn since this state was taken."""
        now = RandomState.of(self.device)
        same = self.cuda is None or now.cuda is None or torch.equal(self.cuda, now.cuda)
        return not (same and torch.equal(self.cpu, now.cpu))
