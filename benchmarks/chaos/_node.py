"""`ray start` for a busy machine: waits longer than Ray's fixed 30 seconds for its processes."""

from __future__ import annotations

import sys
import time
from typing import Any

from ray._private import services
from ray.scripts.scripts import main

SECONDS = 90.0


def patiently(*arguments: Any, get: Any = services.get_node) -> Any:
    """Return the result of `get_node`, which is called again until Ray knows the node."""
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
