"""A study as a person starts it, `study/run.py` with its own options, but for what its workers do: `_chaos_work`."""

from __future__ import annotations

import functools
import sys

from study import run
from study.engine import launch

if __name__ == "__main__":
    launch.run_study = functools.partial(launch.run_study, perform="benchmarks._chaos_work:perform")
    sys.exit(run.command())
