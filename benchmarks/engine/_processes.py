"""What processes of this machine take."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import psutil

T = TypeVar("T")

KINDS = {
    "gcs_server": "Ray's control service (GCS)",
    "Agent": "raylet's agents",
    "monitor.py": "autoscaler's monitor",
    "dashboard.py": "Ray's usage service",
    "ray::Coordinator": "coordinator",
    "ray::TaskTrainable": "trainable with its workers",
    "ray::ResourceTrainable": "trainable with its workers",  # as Tune calls it while it works
    "ray::RayTrainWorker": "worker of a group of several",
    "ray::TrainController": "Ray Train's controller",
    "benchmarks.engine._study": "study's process",
    "raylet": "raylet",
}
"""What a process of a study is, by a word of its command line."""
OTHER = "other"


def tree(process: int) -> list[int]:
    """The process, and all that it and these have started."""
    return [process, *_read(lambda: [child.pid for child in psutil.Process(process).children(recursive=True)], [])]


def command_line(process: int) -> str:
    """Empty where it has ended."""
    return _read(lambda: " ".join(psutil.Process(process).cmdline()), "")


def kind_of(process: int) -> str:
    """Which of `KINDS` it is, or `OTHER`."""
    command = command_line(process)
    return next((kind for word, kind in KINDS.items() if word in command), OTHER)


def open_files(process: int) -> int:
    """How many files, sockets and pipes it has open; 0 where it has ended."""
    return _read(lambda: psutil.Process(process).num_fds(), 0)


def memory(process: int) -> float:
    """Its proportional set size in MiB, in which what several processes share is counted once; 0 where it has ended."""
    return _read(lambda: psutil.Process(process).memory_full_info().pss / 2**20, 0.0)


def free_gb() -> float:
    """Memory of this machine that processes may still take."""
    return float(psutil.virtual_memory().available) / 2**30


def _read(look: Callable[[], T], ended: T) -> T:
    try:
        return look()
    except psutil.Error:
        return ended
