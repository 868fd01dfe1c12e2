"""Ways for a process to end early. Here, for a new process that is given one imports all of its module."""

from __future__ import annotations

import os
import signal
from typing import Any


def be_killed(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def fail(*_: Any) -> None:
    raise SystemExit("no such luck")
