"""`python -m study` is `python study/run.py`."""

from __future__ import annotations

import sys

from study.run import command

sys.exit(command())
