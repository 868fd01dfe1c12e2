"""The page's files that stand beside this one."""

from __future__ import annotations

from pathlib import Path

_HERE = Path(__file__).parent
PAGE = (_HERE / "page.html").read_text(encoding="utf-8")
"""Its places, `$name`, are filled by `reports.live.html`."""
STYLE = (_HERE / "live.css").read_text(encoding="utf-8")
SCRIPT = (_HERE / "live.js").read_text(encoding="utf-8")
