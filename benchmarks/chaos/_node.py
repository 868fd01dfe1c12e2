"""`ray start` on a busy machine: Ray waits 30 seconds for its own processes, which no setting changes; this longer."""

from __future__ import annotations

import sys
import time
from typing import Any

from ray._private import services
from ray.scripts.scripts import main

SECONDS = 90.0


def patiently(*arguments: Any, get: Any = services.get_node) -> Any:
    """What `get_node` answers, once it knows the node."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return get(*arguments)
        except RuntimeError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


if __name__ == "__main__":
    services.get_node = patiently
    sys.exit(main())
