"""The plugins of docs/plugins, which CONTRIBUTING.md links: whole files, by name."""

from __future__ import annotations

from pathlib import Path

PLUGINS: dict[str, str] = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).resolve().parents[1] / "docs" / "plugins").glob("*.py"))
}
