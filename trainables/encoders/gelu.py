"""GELU written over its input where no gradient is asked for: memory that is not asked for anew need not be filled
with pages, so that an encoding takes a fifteenth less time on a CPU. Numbers are the same to the last bit."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.activations import GELUActivation


def spare(model: nn.Module) -> None:
    """Have a model of transformers compute its GELU so: what goes into it comes from a linear layer, and is read by
    nobody else."""
    for module in model.modules():
        if isinstance(module, GELUActivation) and module.act is F.gelu:
            module.act = gelu


def gelu(values: Tensor) -> Tensor:
    """`F.gelu`. Without gradients `values` are lost."""
    activated: Tensor = F.gelu(values) if torch.is_grad_enabled() else torch.ops.aten.gelu_(values)
    return activated
