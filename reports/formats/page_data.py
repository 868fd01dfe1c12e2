"""What the page's script works on: the main table's recipes, their differences, and what each gets right."""

from __future__ import annotations

from typing import Any

from reports.formats import Document
from reports.formats.parsed import parse, plain, tables

MAIN = "rows"
"""The section whose first table is the main one."""


def page_data(document: Document) -> dict[str, Any]:
    """A JSON object: `recipe` the base, `rows` with `name` and `changes`, `varied` keys."""
    names = _main_rows(document)
    results = document.results
    base = dict(results.info.base)
    rows: list[dict[str, Any] | None] = []
    varied: dict[str, None] = {}
    for name in names:
        records = results.recipes.get(name[1]) if name else None
        if not name or not records:
            rows.append(None)
            continue
        changes = {key: value for key, value in records[0].recipe.items() if base.get(key, "") != value}
        varied |= dict.fromkeys(changes)
        rows.append({"name": name[0], "changes": changes, "right": {}})
    return {"recipe": base, "varied": sorted(varied), "rows": rows, "pairs": {}, "sentences": {}, "about_pairs": ""}


def _main_rows(document: Document) -> list[tuple[str, str] | None]:
    """Of each line of the main table its name and recipe hash; None for a line that names no recipe."""
    results = document.results
    known = {label: recipe_hash for recipe_hash, label in results.labels.items()}
    known |= {f"explored {recipe_hash}": recipe_hash for recipe_hash in results.explored}
    part = next((part for part in document.parts if part.name == MAIN), None)
    found = tables(parse(part.content)) if part else []
    if not found:
        return []
    lines: list[tuple[str, str] | None] = []
    for row in found[0].rows:
        said = plain(row[0]).strip()
        named = [name for name in known if said == name or said.startswith(f"{name} ") or said.endswith(f" {name}")]
        name = max(named, key=len, default="")
        lines.append((name, known[name]) if name else None)
    return lines
