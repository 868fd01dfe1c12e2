"""The memory that a trial takes beyond the memory of its process before, comparable between trials of one process.

peak = Peak()        # the trial begins
...
peak.in_mebibytes()  # the peak until now, in MiB
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import torch

from trainables.process_cache import PROCESS_CACHE

STATUS, PEAK_RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Peak:
    """The peak memory since the object was made: torch's allocations on a GPU, else resident memory of the process.

    Memory that stays for later trials is subtracted: the process's cache and pages of files. They may be the same
    pages, so only the larger is subtracted.
    """

    def __init__(self) -> None:
        release_free_memory()  # else a later trial reuses freed memory of an earlier one and seems to take less
        self._measurable = reset_peak()
        self._before = _Memory.now()
        self._cache = PROCESS_CACHE.bytes

    def in_mebibytes(self) -> float | None:
        """Return the peak until now, in MiB. None if the system cannot measure it: on a CPU only Linux can reset an
        earlier peak, and not in every container."""
        now = _Memory.now()
        if not self._measurable or now is None or self._before is None:
            return None
        stays = (
            0
            if torch.cuda.is_available()
            else max(0, now.files - self._before.files, PROCESS_CACHE.bytes - self._cache)
        )
        return max(0, now.peak - self._before.held - stays) / 2**20


def release_free_memory() -> None:
    """Make the C library return freed memory to the system; only glibc can. Otherwise it keeps half a gigabyte of a
    trial's memory, and the next trial uses some of it."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def reset_peak() -> bool:
    """Reset the peak memory that torch or the system has measured. Returns False if it cannot be reset."""
    if torch.cuda.is_available():
        torch.ones(1, 1, device="cuda").mm(torch.ones(1, 1, device="cuda"))  # cuBLAS allocates its workspace once
        torch.cuda.reset_peak_memory_stats()
        return True
    try:
        PEAK_RESET.write_text("5")
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class _Memory:
    """Memory of this process, in bytes."""

    held: int
    peak: int
    files: int
    """The part of `held` that is pages of files; 0 on a GPU."""

    @classmethod
    def now(cls) -> _Memory | None:
        if torch.cuda.is_available():
            return cls(torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), 0)
        if not STATUS.exists():
            return None
        lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
        sizes = [lines[name] for name in ("VmRSS", "VmHWM", "RssFile") if name in lines]
        if len(sizes) < 3:  # the system of some containers leaves lines out
            return None
        held, peak, files = (int(line.split()[0]) * 1024 for line in sizes)
        return cls(held, peak, files)
