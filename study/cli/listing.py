"""What `--list` and `--keys` print."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from reports.markdown import count
from search_spaces import spaces
from trainables.evaluation_config import all_keys
from trainables.keys import Key
from trainables.plugins import load_plugin

WIDTH = 100


def list_spaces() -> int:
    """Every space, with its numbers of rows and domains."""
    for space in spaces().values():
        rows, domains = count(len(space.rows), "row"), count(len(space.domains), "domain")
        tables = ", ".join(table.number for table in space.tables) or "none"
        print(f"{space.name}: {space.title}")
        print(f"    {space.paper}; {rows}, {domains}; tables: {tables}")
    return 0


def list_keys(plugins: Sequence[Path] = ()) -> int:
    """Every key of a recipe and of its evaluation: its default, type, other name and meaning. `plugins` may add names
    that a key can have."""
    for plugin in plugins:
        load_plugin(plugin)
    lines = ["Every key of a recipe, and of how it is scored, for --set KEY=VALUE. A space sets its own defaults."]
    for section, items in groupby(all_keys().values(), key=lambda item: item.name.partition(".")[0]):
        lines += ["", section, *map(describe, items)]
    print("\n".join(lines))
    return 0


def describe(item: Key) -> str:
    """A key in a few lines: `objective.temperature = 1.0` and below it type, other name and meaning."""
    default = item.default
    if isinstance(default, tuple):
        default = ",".join(default) or "(an empty list)"
    alias = f"; or {item.alias}" if item.alias else ""
    kind = textwrap.wrap(f"{item.kind}{alias}", WIDTH - 6, break_on_hyphens=False)
    meaning = textwrap.wrap(item.explained, WIDTH - 6, break_on_hyphens=False)
    lines = [f"  {item.name} = {'none' if default is None else default}", *(f"      {line}" for line in kind + meaning)]
    return "\n".join(lines)
