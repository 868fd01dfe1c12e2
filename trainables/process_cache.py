"""What a process keeps from trial to trial: what was read from files, and is the same for the next trial.

    pairs = PROCESS_CACHE.get(("pairs", source, stamp(path)), lambda: read(path)).copy()

Every value is kept by all that decides it, files by their path, size and time of change. A trial may do to its data
what it likes: what is kept is never handed out itself, but copied (or cannot be changed). Nothing that depends on a
trial's parameters or draws may be kept.
"""

from __future__ import annotations

import dataclasses
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

BOUND = 2 * 2**30
"""Bytes: room for BERT-large (1.3 GiB), the pairs of SNLI and MultiNLI (0.3 GiB) and SentEval's sentences together,
and little beside what a trial of that size takes itself. A laptop's trials keep a few MiB."""


class ProcessCache:
    """Values by key, bounded by their bytes: those that were not asked for the longest leave first."""

    def __init__(self, bound: int = BOUND) -> None:
        self.bound = bound
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.RLock()  # batches are tokenized in a thread of their own

    @property
    def bytes(self) -> int:
        """Of all that is kept."""
        return sum(size for _, size in self._values.values())

    def get(self, key: Hashable, make: Callable[[], T], fit: Callable[[T], bool] = lambda value: True) -> T:
        """The value of the key. It is made where it is not there, and kept if it is `fit` for that and not larger than
        the bound. What `make` raises is not kept."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                value: T = self._values[key][0]
                return value
            value = make()
            if fit(value) and (size := size_of(value)) <= self.bound:
                self._values[key] = value, size
                while self.bytes > self.bound:
                    self._values.popitem(last=False)
            return value

    def clear(self) -> None:
        """Forget everything."""
        self._values.clear()


PROCESS_CACHE = ProcessCache()
"""The one of this process."""


def stamp(place: Path) -> tuple[tuple[str, int, int], ...]:
    """Path, size and time of change of a file, or of all files of a folder: they change when the content does."""
    files = sorted(file for file in place.rglob("*") if file.is_file()) if place.is_dir() else [place]
    states = [(file.resolve(), file.stat()) for file in files]
    return tuple((str(file), state.st_size, state.st_mtime_ns) for file, state in states)


def size_of(value: object) -> int:
    """Bytes of a value with all that it holds: containers, dataclasses, arrays, and a torch module's tensors."""
    counted: set[int] = set()
    total, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        if id(part) in counted:
            continue
        counted.add(id(part))
        if hasattr(part, "nbytes"):  # an array or a tensor, whose own size may leave its data out
            total += int(part.nbytes)
            continue
        total += sys.getsizeof(part)
        if isinstance(part, Mapping):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set | frozenset):
            waiting += part
        elif hasattr(part, "state_dict"):
            waiting += part.state_dict().values()
        elif dataclasses.is_dataclass(part):
            waiting += [getattr(part, field.name) for field in dataclasses.fields(part)]
    return total
