"""Reset of a process between two trials, so that a trial does not change the next one.

    between = ProcessReset()                  # before the first trial
    with between.trial():
        result = run_trial(recipe, seed)
    if between.growth().memory > 2**30: ...    # end this process and start a new one

Data that no trial can change may stay in the process: see `trainables.process_cache`.
"""

from __future__ import annotations

import contextlib
import gc
import os
import random
import resource
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.modules import module
from torch.optim import optimizer

from trainables.process_cache import PROCESS_CACHE
from trainables.trial.peak import release_free_memory


@dataclass(frozen=True)
class Growth:
    """Growth of a process since its first trial, which imports and reads data that later trials use too."""

    memory: int
    """Bytes of resident memory, without the cache of `trainables.process_cache`."""
    cuda: int
    """Bytes of tensors that are left on the GPU."""
    threads: int
    """Number of Python threads. They cannot be ended from outside."""


@dataclass(frozen=True)
class _Setting:
    """One setting of the whole process or thread: functions that read and write its value."""

    read: Callable[[], Any]
    write: Callable[[Any], object]


class ProcessReset:
    """Stores the state of the process before its first trial, and restores it after each trial."""

    def __init__(self) -> None:
        self._settings = [setting.read() for setting in SETTINGS]
        self._random = random.getstate(), np.random.get_state(), torch.get_rng_state()
        self._after_first: Growth | None = None

    @contextlib.contextmanager
    def trial(self) -> Iterator[None]:
        """Run one trial and restore the process in any case. If the trial raises, the local variables in the traceback
        are cleared, as they may hold all tensors of the trial while the error exists."""
        try:
            yield
        except BaseException as error:
            _forget_locals(error)
            raise
        finally:
            self.restore()

    def restore(self) -> None:
        """Restore settings, hooks and random streams, and free unused memory."""
        for setting, before in zip(SETTINGS, self._settings, strict=True):
            if setting.read() != before:
                setting.write(before)
        python, numpy, pytorch = self._random
        random.setstate(python)
        np.random.set_state(numpy)
        torch.set_rng_state(pytorch)
        torch.cuda.manual_seed_all(torch.initial_seed())  # as a GPU's stream starts; deferred if no GPU is in use
        while torch.autocast_decrement_nesting() >= 0:  # inside autocast, its copies of weights would be kept
            pass
        torch.autocast_increment_nesting()
        torch.clear_autocast_cache()
        gc.collect()
        release_free_memory()
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        if self._after_first is None:
            gc.freeze()  # half a million objects, mostly modules, stay: exclude them from later collections
            self._after_first = _state()

    def growth(self) -> Growth:
        """Return the growth of the process since its first trial. Call it after `restore`."""
        now, first = _state(), self._after_first
        if first is None:
            return Growth(0, 0, 0)
        return Growth(now.memory - first.memory, now.cuda - first.cuda, now.threads - first.threads)


def _state() -> Growth:
    cuda = torch.cuda.memory_allocated() if torch.cuda.is_initialized() else 0
    return Growth(_resident() - PROCESS_CACHE.bytes, cuda, threading.active_count())


def _resident() -> int:
    """Return the resident bytes of this process; if the system does not report them, its peak."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _forget_locals(error: BaseException) -> None:
    """Clear the local variables in the tracebacks of an error, its causes and its contexts."""
    visited: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        raised = waiting.pop()
        if raised is not None and id(raised) not in visited:
            visited.add(id(raised))
            traceback.clear_frames(raised.__traceback__)
            waiting += [raised.__cause__, raised.__context__]


def _hooks() -> dict[tuple[types.ModuleType, str], Any]:
    """Return the global hooks of modules and optimisers, by owner and attribute."""
    return {
        (owner, name): dict(value) if isinstance(value, dict) else value
        for owner in (module, optimizer)
        for name, value in vars(owner).items()
        if name.startswith("_global_")
    }


def _set_hooks(hooks: dict[tuple[types.ModuleType, str], Any]) -> None:
    for (owner, name), value in hooks.items():
        if isinstance(value, dict):
            own = getattr(owner, name)
            own.clear()
            own.update(value)
        else:
            setattr(owner, name, value)


def _flag(owner: object, name: str) -> _Setting:
    return _Setting(lambda: getattr(owner, name), lambda value: setattr(owner, name, value))


def _autocast(device: str) -> tuple[_Setting, _Setting]:
    return (
        _Setting(lambda: torch.is_autocast_enabled(device), lambda value: torch.set_autocast_enabled(device, value)),
        _Setting(lambda: torch.get_autocast_dtype(device), lambda value: torch.set_autocast_dtype(device, value)),
    )


def _deterministic() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def _precision() -> tuple[_Setting, ...]:
    """Return the settings of float32 multiplication. torch has an old and, since 2.9, a new interface. It refuses to
    read the old one after the new one was used, so both are written and the new one is read."""
    backends: Any = torch.backends
    if not hasattr(backends, "fp32_precision"):
        old = _Setting(torch.get_float32_matmul_precision, torch.set_float32_matmul_precision)
        return old, _flag(backends.cudnn, "allow_tf32")
    cudnn, mkldnn, matmul = backends.cudnn, backends.mkldnn, backends.cuda.matmul
    owners = (backends, matmul, cudnn, cudnn.conv, cudnn.rnn, mkldnn, mkldnn.matmul, mkldnn.conv, mkldnn.rnn)

    def write(precisions: tuple[str, ...]) -> None:
        before = {id(owner): precision for owner, precision in zip(owners, precisions, strict=True)}
        torch.set_float32_matmul_precision("high" if before[id(matmul)] == "tf32" else "highest")
        cudnn.allow_tf32 = before[id(cudnn.conv)] == "tf32"
        for owner, precision in zip(owners, precisions, strict=True):
            owner.fp32_precision = precision

    return (_Setting(lambda: tuple(owner.fp32_precision for owner in owners), write),)


SETTINGS = (
    _Setting(torch.get_default_dtype, torch.set_default_dtype),
    _Setting(
        torch.get_default_device, lambda device: torch.set_default_device(None if device.type == "cpu" else device)
    ),
    _Setting(torch.get_num_threads, torch.set_num_threads),
    _Setting(torch.is_grad_enabled, torch.set_grad_enabled),
    *_autocast("cpu"),
    *_autocast("cuda"),
    _Setting(torch.is_autocast_cache_enabled, torch.set_autocast_cache_enabled),
    _Setting(_deterministic, lambda both: torch.use_deterministic_algorithms(both[0], warn_only=both[1])),
    _Setting(lambda: float(torch.tensor(1e-40, device="cpu") / 2) == 0, torch.set_flush_denormal),
    _Setting(
        lambda: (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()),
        lambda both: torch.set_anomaly_enabled(*both),
    ),
    *_precision(),
    *(_flag(torch.backends.cudnn, name) for name in ("enabled", "benchmark", "deterministic")),
    _flag(torch.backends.cuda.matmul, "allow_bf16_reduced_precision_reduction"),
    _Setting(torch.backends.cuda.flash_sdp_enabled, torch.backends.cuda.enable_flash_sdp),
    _Setting(torch.backends.cuda.mem_efficient_sdp_enabled, torch.backends.cuda.enable_mem_efficient_sdp),
    _Setting(torch.backends.cuda.math_sdp_enabled, torch.backends.cuda.enable_math_sdp),
    _Setting(torch.backends.cuda.cudnn_sdp_enabled, torch.backends.cuda.enable_cudnn_sdp),
    _Setting(_hooks, _set_hooks),
    _Setting(np.geterr, lambda errors: np.seterr(**errors)),
    _Setting(gc.isenabled, lambda enabled: gc.enable() if enabled else gc.disable()),
    _Setting(os.getcwd, os.chdir),
)
"""All global settings that a part of a trial, such as a plugin, could change and not restore."""
