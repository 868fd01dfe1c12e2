"""PyTorch, imported at its first use. So a loss can be one file, and reading its keys stays quick."""

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
