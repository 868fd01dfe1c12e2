"""What processes of this machine take, read from Linux's `/proc`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

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


def children() -> dict[int, list[int]]:
    """Of every process."""
    started: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        fields = _stat(int(path.name))
        if fields:
            started.setdefault(int(fields[1]), []).append(int(path.name))
    return started


def trees(roots: Sequence[int], started: Mapping[int, Sequence[int]]) -> Iterator[int]:
    """Processes, and what they started (`children`)."""
    for root in roots:
        yield root
        yield from trees(started.get(root, ()), started)


def command_line(process: int) -> str:
    """Empty where it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def kind_of(process: int) -> str:
    """Which of `KINDS` it is, or `OTHER`."""
    command = command_line(process)
    return next((kind for word, kind in KINDS.items() if word in command), OTHER)


def open_files(process: int) -> int:
    """How many files, sockets and pipes it has open; 0 where it has ended."""
    try:
        return len(os.listdir(f"/proc/{process}/fd"))
    except OSError:
        return 0


def memory(process: int) -> float:
    """Its proportional set size in MB, in which what several processes share is counted once; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def free_gb() -> float:
    """Memory of this machine that processes may still take."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable")) / 2**20


def _stat(process: int) -> list[str]:
    """The fields after the process's name: state, parent and so on; none where it has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
