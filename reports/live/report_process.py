"""What is reckoned from the whole ledger, by a process of its own: a study beside it is neither slowed nor ended.

It is made again only when the ledger changed, and one such process runs at a time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from reports.live.folder import Signature

ROOT = Path(__file__).resolve().parents[2]
LONGEST_SECONDS = 1800
NICE = 10
"""How far the process stands back behind the study's own."""


class CachedReport:
    """Something that is made of a results folder."""

    def __init__(self, make: Callable[[], str], one_at_a_time: threading.Lock) -> None:
        """`make` returns it, or raises an error with one sentence. The lock is shared by all that is made."""
        self._make, self._lock = make, one_at_a_time
        self._of: Signature | None = None
        self._content: str | None = None
        self._problem = ""
        self._coming = False

    def get(self, signature: Signature) -> str:
        """As it is for that state of the ledger; waits for it. `RuntimeError` where it cannot be made."""
        with self._lock:
            if self._of != signature:
                self._of, self._problem = signature, ""  # one that fails is tried again only when the ledger changed
                try:
                    self._content = self._make()
                except Exception as error:  # or the old content would pass for one of this state
                    self._problem = str(error) or type(error).__name__
            if self._problem or self._content is None:
                raise RuntimeError(self._problem)
            return self._content

    def latest(self, signature: Signature) -> tuple[str | None, str]:
        """What there is now, or None, and why the last attempt failed, if it did. A newer one is made meanwhile."""
        if self._of != signature and not self._coming:
            self._coming = True
            threading.Thread(target=self._renew, args=(signature,), daemon=True).start()
        return self._content, self._problem

    def _renew(self, signature: Signature) -> None:
        try:
            self.get(signature)
        except RuntimeError:
            pass  # told by `latest`
        finally:
            self._coming = False


def in_own_process(arguments: Sequence[str]) -> str:
    """What `python -m ARGUMENTS` prints; `RuntimeError` with its last line where it fails."""
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"}
    try:
        with subprocess.Popen(
            [sys.executable, "-m", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            if hasattr(os, "setpriority"):
                os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
            try:
                printed, errors = process.communicate(timeout=LONGEST_SECONDS)
            finally:
                process.kill()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(str(error)) from None
    if process.returncode:
        lines = errors.strip().splitlines() or ["no reason was given"]
        raise RuntimeError(lines[-1])
    return printed
