"""The plugins of docs/plugins, which CONTRIBUTING.md links: whole files, by name; and the files of its diffs."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLUGINS: dict[str, str] = {
    path.name: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "plugins").glob("*.py"))
}


def diffs() -> list[str]:
    """Those of CONTRIBUTING.md."""
    return re.findall(r"```diff\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.DOTALL)


def added_lines() -> dict[str, str]:
    """What they add to each file, by its path."""
    lines: dict[str, list[str]] = {}
    added: list[str] = []
    for block in diffs():
        for line in block.splitlines():
            if header := re.match(r"(?:---|\+\+\+) [ab]/(.*)", line):
                added = lines.setdefault(header[1], [])
            elif line.startswith("+"):
                added.append(line[1:])
    return {path: "\n".join(added) for path, added in lines.items()}
