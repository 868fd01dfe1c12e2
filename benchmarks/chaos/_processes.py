"""Processes of this machine, and what those of a cluster here are started with."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import psutil

T = TypeVar("T")

ROOT = Path(__file__).resolve().parents[2]

SHARED_CORES = {
    "RAY_worker_maximum_startup_concurrency": "2",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_worker_register_timeout_seconds": "300",
}
"""Ray's settings where all nodes of a cluster share this machine's cores, and processes start slowly."""


def tree(process: int) -> list[int]:
    """The process, and all that it and these have started."""
    return [process, *_read(lambda: [child.pid for child in psutil.Process(process).children(recursive=True)], [])]


def command_line(process: int) -> str:
    """Empty where it has ended."""
    return _read(lambda: " ".join(psutil.Process(process).cmdline()), "")


def python_path() -> str:
    """With this checkout."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))


def _read(look: Callable[[], T], ended: T) -> T:
    try:
        return look()
    except psutil.Error:
        return ended
