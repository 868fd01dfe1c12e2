"""Faults that strike a running study. Each fault is real: a signal, a mount, a link, bytes on the disk."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.chaos._machines import NODES, Machines, do, kill, processes, until
from benchmarks.chaos._struck_study import StruckStudy

SECONDS = 60.0
"""Longest wait, in seconds, for something that a fault needs, such as a first checkpoint."""
FROZEN = 60.0
ROOM_AFTER = 20.0
"""Seconds after which a full disk gets free space, or a folder becomes writable again."""


@dataclass
class Case:
    """A running study that a fault strikes, and everything that the fault may touch."""

    machines: Machines
    system: StruckStudy
    results: Path
    draw: random.Random
    start: Callable[[], subprocess.Popen[bytes]]
    study: subprocess.Popen[bytes]
    done: str = ""
    """Description of what the fault did."""
    lost: list[Path] = field(default_factory=list)
    """Records that the fault destroyed."""

    def drawn(self, title: str) -> int:
        """Wait for a process of that title, and return a random one."""
        until(lambda: processes(title), SECONDS)
        return self.draw.choice(processes(title))

    def end_study(self) -> None:
        """Kill the study, and wait until Ray has ended its worker groups."""
        kill([self.study.pid])
        self.study.wait()
        until(lambda: not processes(self.system.worker), SECONDS)


Repair = Callable[[], None] | None
"""Function that ends a lasting fault; None if there is nothing to end."""


@dataclass(frozen=True)
class Fault:
    """A kind of fault."""

    name: str
    strike: Callable[[Case], Repair]
    """Applies the fault."""
    lasts: Callable[[random.Random], float] = lambda draw: 0.0
    """Returns how many seconds the fault lasts."""
    workers: int = 1
    """Workers per trial of the study."""
    intervals: int = 1
    """Largest allowed loss of one trial, as a number of intervals between checkpoints."""


def _worker(case: Case) -> None:
    kill([case.drawn(case.system.worker)])
    case.done = "kill -9 of a worker"


def _trainable(case: Case) -> None:
    kill([case.drawn("ray::ResourceTrainable")])
    case.done = "kill -9 of the trainable"


def _raylet(case: Case) -> None:
    case.machines.kill_node(case.draw.randrange(2, NODES + 2))
    case.done = "kill -9 of everything on a node"


def _head(case: Case) -> None:
    case.machines.kill_all([case.study.pid])
    case.done = "kill -9 of everything on the head, Ray's state removed"


def _submitter(case: Case) -> None:
    kill([case.study.pid])
    case.done = "kill -9 of the command"


def _full_disk(case: Case) -> Repair:
    ballast = case.machines.disk / "ballast"
    with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (2**20, 2**12, 1):
            with contextlib.suppress(OSError):
                while file.write(bytes(size)):
                    pass
    case.done = "not a byte is left on the disk of the results"
    return lambda: ballast.unlink(missing_ok=True)


def _read_only(case: Case) -> Repair:
    disk = case.machines.disk
    do(f"mount --bind {disk} {disk}; mount -o remount,bind,ro", disk)
    case.done = "the disk of the results is read-only"
    return lambda: do("umount", disk)


def _network(case: Case) -> Repair:
    number = case.draw.randrange(2, NODES + 2)
    case.machines.link(number, "down")
    case.done = "a node's link is down"
    return lambda: case.machines.link(number, "up")


def _freeze(case: Case) -> Repair:
    what = case.draw.choice(["a worker group", "a raylet", "the coordinator"])
    if what == "a raylet":
        number = case.machines.raylet(case.draw.randrange(2, NODES + 2))
    else:
        number = case.drawn("ray::Coordinator" if what == "the coordinator" else case.system.worker)
    os.kill(number, signal.SIGSTOP)
    case.done = f"{what} is frozen, a minute at most"

    def thaw() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGCONT)

    return thaw


def _checkpoint(case: Case) -> None:
    until(lambda: case.system.checkpoints(case.results), SECONDS)
    case.end_study()
    state = case.system.checkpoints(case.results)[-1] / "state.bin"
    content = bytearray(state.read_bytes())
    if case.draw.random() < 0.5:
        index = case.draw.randrange(len(content))
        content[index] ^= 1 << case.draw.randrange(8)
        case.done = "a bit of the newest checkpoint is flipped"
    else:
        content = content[: case.draw.randrange(len(content))]
        case.done = "the newest checkpoint is cut short"
    state.write_bytes(content)


def _record(case: Case) -> None:
    until(lambda: case.system.records(case.results), SECONDS)
    case.end_study()
    record = case.draw.choice(case.system.records(case.results))
    content = record.read_bytes()
    record.write_bytes(content[: case.draw.randrange(len(content))])
    case.lost.append(record)
    case.done = "a record is cut short"


def _second(case: Case) -> None:
    second = case.start()
    try:
        code = second.wait(2 * SECONDS)
        case.done = "the same command a second time: " + ("refused" if code == 2 else f"it ended with {code}")
    except subprocess.TimeoutExpired:
        kill([second.pid])
        second.wait()
        case.done = "the same command a second time: it ran beside the first"


FAULTS: Sequence[Fault] = (
    Fault("a worker killed", _worker, workers=2),
    Fault("a worker group killed", _worker),
    Fault("a trainable killed", _trainable, workers=2),
    Fault("a raylet killed", _raylet),
    Fault("the head killed", _head),
    Fault("the command killed", _submitter),
    Fault("a full disk", _full_disk, lambda draw: ROOM_AFTER),
    Fault("a read-only folder", _read_only, lambda draw: ROOM_AFTER),
    Fault("the network cut", _network, lambda draw: draw.choice((4.0, 40.0))),
    Fault("a process frozen", _freeze, lambda draw: FROZEN),
    Fault("a checkpoint damaged", _checkpoint, intervals=2),
    Fault("a record cut short", _record),
    Fault("a second process", _second),
)


def fault_of(seed: int) -> Fault:
    """Return the fault of a seed. Every thirteen seeds contain every fault, in random order."""
    block, index = divmod(seed, len(FAULTS))
    return random.Random(block).sample(FAULTS, len(FAULTS))[index]
