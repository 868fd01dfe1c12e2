"""The GPU, or the share of a GPU, that a worker holds."""

from __future__ import annotations

import os
from pathlib import Path

import torch

from trainables.errors import UserError

DRIVER = Path("/proc/driver/nvidia/version")


def take_share(gpus: float) -> None:
    """Bound this process's memory by its share of a GPU. `UserError` where PyTorch cannot use the GPU that the trial
    holds: it would train on the CPU."""
    if not gpus:
        return
    # Batches differ in length; memory in fixed pieces is left unused between them. Read when CUDA starts.
    os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
    if not torch.cuda.is_available():
        raise UserError(
            f"the trial holds a GPU that PyTorch cannot use: torch {torch.__version__} is built for "
            f"{'CUDA ' + torch.version.cuda if torch.version.cuda else 'no GPU'}, and the machine has {_driver()}; "
            "install a driver and a PyTorch that fit, or train on CPUs with --gpus-per-worker 0"
        )
    if gpus < 1:
        torch.cuda.set_per_process_memory_fraction(gpus)


def _driver() -> str:
    try:
        return f"the driver {DRIVER.read_text().splitlines()[0].split(':', 1)[-1].strip()!r}"
    except (OSError, IndexError):
        return "no driver of NVIDIA"
