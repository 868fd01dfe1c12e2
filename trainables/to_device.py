"""Copies of tensors to a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
    from torch import Tensor


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Return the tensor on the device. A copy from the CPU to a GPU does not wait for the GPU's earlier work."""
    if device.type == "cuda" and tensor.device.type == "cpu":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)
