"""The code blocks of CONTRIBUTING.md, whole plugin files, by name."""

from __future__ import annotations

import re
from pathlib import Path

BLOCKS: dict[str, str] = dict(
    re.findall(
        r"^```python (\S+)\n(.*?)^```",
        (Path(__file__).resolve().parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8"),
        re.M | re.S,
    )
)
