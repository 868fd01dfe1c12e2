"""What a process computes on. Imports nothing heavy until it is asked for a GPU."""

from __future__ import annotations

import platform
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")


def processor() -> str:
    """The name of this machine's processor."""
    name = platform.processor() or platform.machine()
    try:
        lines = CPUINFO.read_text().splitlines()
    except OSError:
        return name
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)


def machine() -> dict[str, str | bool | None]:
    """`processor`; `device`, the GPU that this process trains on, None without one; `bf16`: whether that GPU computes
    in bf16, as a precision of `auto` then does."""
    import torch

    from trainables.encoders.precision import native_bf16

    gpu = torch.cuda.is_available()
    return {
        "processor": processor(),
        "device": torch.cuda.get_device_name() if gpu else None,
        "bf16": gpu and native_bf16("cuda"),
    }
