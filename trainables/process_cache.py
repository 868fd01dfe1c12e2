"""A cache of the process, for data from files that are the same in all trials.

    pairs = PROCESS_CACHE.get(("pairs", source, file_states(path)), lambda: read(path)).copy()

The key of a value contains everything that decides it; files count by path, size and time of change. A trial may
change its data, so callers copy cached values, unless these are immutable. Values that depend on a trial's parameters
or random draws must not be cached.
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
"""Most bytes of all values: enough for BERT-large (1.3 GiB), the pairs of SNLI and MultiNLI (0.3 GiB) and SentEval's
sentences together, and little compared with the memory of a trial of that size. Trials on a laptop keep a few MiB."""


class ProcessCache:
    """Values by key, with a limit of bytes. The least recently used values are removed first."""

    def __init__(self, bound: int = BOUND) -> None:
        self.bound = bound
        self._values: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._lock = threading.RLock()  # batches are tokenized in another thread

    @property
    def bytes(self) -> int:
        """Bytes of all cached values."""
        return sum(size for _, size in self._values.values())

    def get(self, key: Hashable, make: Callable[[], T], fit: Callable[[T], bool] = lambda value: True) -> T:
        """Return the value of a key. A missing value is made, and cached if `fit` accepts it and it is not larger than
        the limit. Exceptions of `make` are not cached."""
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
        """Remove all values."""
        self._values.clear()


PROCESS_CACHE = ProcessCache()


def file_states(path: Path) -> tuple[tuple[str, int, int], ...]:
    """Return path, size and time of change of a file, or of all files in a folder. They change with the content."""
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    states = [(file.resolve(), file.stat()) for file in files]
    return tuple((str(file), state.st_size, state.st_mtime_ns) for file, state in states)


def size_of(value: object) -> int:
    """Return the bytes of a value with its content: containers, dataclasses, arrays, and a torch module's tensors."""
    counted: set[int] = set()
    total, waiting = 0, [value]
    while waiting:
        part = waiting.pop()
        if id(part) in counted:
            continue
        counted.add(id(part))
        if hasattr(part, "nbytes"):  # an array or a tensor; `sys.getsizeof` may leave out its data
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
