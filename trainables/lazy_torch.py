"""PyTorch, loaded where it is first used: so that a loss is one file, and asking for its keys is quick."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch as torch
else:

    class _Later(types.ModuleType):
        def __getattr__(self, name: str) -> object:
            import torch

            return getattr(torch, name)

    torch = _Later("torch")
