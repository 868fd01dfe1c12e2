"""How much memory a trial takes above what its process had before it, the same in its first trial and its tenth.

peak = Peak()       # the trial begins
...
peak.taken()        # the most until now, in MiB
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from pathlib import Path

import torch

from trainables.process_cache import PROCESS_CACHE

STATUS, FORGET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


class Peak:
    """The most memory since it was made: on a GPU what torch allocates, else the resident memory of the process.

    Memory that stays for later trials is left out: the process's cache, and pages of files. These two may be the same
    pages, so the larger counts.
    """

    def __init__(self) -> None:
        give_back()  # else a later trial would fill what an earlier one has left, and seem to take less
        self._forgets = forget_peak()
        self._before = _Memory.now()
        self._cache = PROCESS_CACHE.bytes

    def taken(self) -> float | None:
        """The most until now, in MiB. None where the system cannot tell: on a CPU only Linux forgets an earlier peak,
        and not in every container."""
        now = _Memory.now()
        if not self._forgets or now is None or self._before is None:
            return None
        stays = (
            0
            if torch.cuda.is_available()
            else max(0, now.files - self._before.files, PROCESS_CACHE.bytes - self._cache)
        )
        return max(0, now.peak - self._before.held - stays) / 2**20


def give_back() -> None:
    """Have the C library return freed memory to the system. glibc alone can be asked; left to itself it keeps half a
    gigabyte of a trial's, of which the next trial uses
    some."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def forget_peak() -> bool:
    """The peak is that from now on, as torch and the system tell it. False where that cannot be had."""
    if torch.cuda.is_available():
        torch.ones(1, 1, device="cuda").mm(torch.ones(1, 1, device="cuda"))  # what cuBLAS allocates once for all
        torch.cuda.reset_peak_memory_stats()
        return True
    try:
        FORGET.write_text("5")
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class _Memory:
    """Of this process, in bytes."""

    held: int
    peak: int
    files: int
    """Of what it holds: pages of files. 0 on a GPU."""

    @classmethod
    def now(cls) -> _Memory | None:
        if torch.cuda.is_available():
            return cls(torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), 0)
        if not STATUS.exists():
            return None
        lines = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
        sizes = [lines[name] for name in ("VmRSS", "VmHWM", "RssFile") if name in lines]
        if len(sizes) < 3:  # some containers' systems leave lines out
            return None
        held, peak, files = (int(line.split()[0]) * 1024 for line in sizes)
        return cls(held, peak, files)
