"""Runs computations on the whole ledger in a separate process, which neither slows nor ends the study.

Results are computed again only after the ledger changed, by one process at a time.
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
MAX_SECONDS = 1800
NICE = 10
"""Added to the niceness of the process, so that its priority is below the study's."""


class CachedReport:
    """A text made of the whole ledger, such as the report. It is made again only after the ledger changed."""

    def __init__(self, make: Callable[[], str], one_at_a_time: threading.Lock) -> None:
        """`make` returns the text, or raises an error of one sentence. All texts share one lock, `one_at_a_time`."""
        self._make, self._lock = make, one_at_a_time
        self._signature: Signature | None = None
        self._content: str | None = None
        self._problem = ""
        self._renewing = False

    def get(self, signature: Signature) -> str:
        """Return the text for this state of the ledger, made if needed. Raise `RuntimeError` if that fails."""
        with self._lock:
            if self._signature != signature:
                # After a failure the text is made again only if the ledger changed.
                self._signature, self._problem = signature, ""
                try:
                    self._content = self._make()
                except Exception as error:  # the old content must not pass for this state's
                    self._problem = str(error) or type(error).__name__
            if self._problem or self._content is None:
                raise RuntimeError(self._problem)
            return self._content

    def latest(self, signature: Signature) -> tuple[str | None, str]:
        """Return the text last made, if any, and the last error. If the ledger changed, start to make a newer text."""
        if self._signature != signature and not self._renewing:
            self._renewing = True
            threading.Thread(target=self._renew, args=(signature,), daemon=True).start()
        return self._content, self._problem

    def _renew(self, signature: Signature) -> None:
        try:
            self.get(signature)
        except RuntimeError:
            pass  # `latest` returns the problem
        finally:
            self._renewing = False


def in_own_process(arguments: Sequence[str]) -> str:
    """Return the output of `python -m ARGUMENTS`. Raise `RuntimeError` with its last line of errors if it fails."""
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
                printed, errors = process.communicate(timeout=MAX_SECONDS)
            finally:
                process.kill()
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RuntimeError(str(error)) from None
    if process.returncode:
        lines = errors.strip().splitlines() or ["no reason was given"]
        raise RuntimeError(lines[-1])
    return printed
