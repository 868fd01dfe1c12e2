"""The page's files that stand beside this one."""

from __future__ import annotations

from pathlib import Path

_FILES = Path(__file__).parent
PAGE = (_FILES / "page.html").read_text(encoding="utf-8")
"""Its places, `$name`, are filled by `reports.live.html`."""
STYLE = (_FILES / "live.css").read_text(encoding="utf-8")
SCRIPT = (_FILES / "live.js").read_text(encoding="utf-8")
