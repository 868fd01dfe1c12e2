"""The hardware of a process. PyTorch is imported only when a function needs it."""

from __future__ import annotations

import platform
from pathlib import Path

from trainables.lazy_torch import torch
from trainables.record_parts import TrialMachine

CPUINFO = Path("/proc/cpuinfo")


def processor() -> str:
    """Return the name of this machine's processor."""
    return _first_processor().get("model name", platform.processor() or platform.machine())


def wide_amd() -> bool:
    """Return whether this is an AMD processor that multiplies 512 bits at once: of family 26 (Zen 5) or later."""
    first = _first_processor()
    wide = "avx512f" in first.get("flags", "").split()
    return wide and first.get("vendor_id") == "AuthenticAMD" and int(first.get("cpu family", 0)) >= 26


def _first_processor() -> dict[str, str]:
    """Return the entries of the first processor in `CPUINFO`; empty if the file cannot be read."""
    try:
        lines = CPUINFO.read_text().splitlines()
    except OSError:
        return {}
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in reversed(lines))}


def machine() -> TrialMachine:
    """Return the hardware on which this process trains."""
    gpu = torch.cuda.is_available()
    return {
        "processor": processor(),
        "device": torch.cuda.get_device_name() if gpu else None,
        "bf16": gpu and bool(native_bf16("cuda")),
    }


def native_bf16(device: torch.device | str) -> bool | None:
    """Return whether the device has instructions that multiply bf16; None if an older torch cannot determine it."""
    if torch.device(device).type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if not hasattr(torch.cpu, "get_capabilities"):
        return None
    capabilities = torch.cpu.get_capabilities()  # Intel and AMD: avx512_bf16 and amx_bf16; ARM: bf16
    return any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))
