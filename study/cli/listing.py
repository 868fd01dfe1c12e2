"""The output of `--list` and `--keys`."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from reports.words.markdown import count
from search_spaces import spaces
from trainables.errors import choices
from trainables.evaluation_config import all_keys
from trainables.keys import Key, Range
from trainables.plugins import load_plugin
from trainables.recipe import choosers

WIDTH = 100


def list_spaces() -> int:
    """Print every space, with its numbers of rows and domains. Return the exit code."""
    for space in spaces().values():
        rows, domains = count(len(space.rows), "row"), count(len(space.domains), "domain")
        tables = ", ".join(table.number for table in space.tables) or "none"
        print(f"{space.name}: {space.title}")
        print(f"    {space.paper}; {rows}, {domains}; tables: {tables}")
    return 0


def list_keys(plugins: Sequence[Path] = ()) -> int:
    """Print every key of a recipe and of its evaluation: its default, type, other name and meaning. `plugins` run
    first, as they may add values of a key. Return the exit code."""
    for plugin in plugins:
        load_plugin(plugin)
    lines = ["Every key of a recipe, and of how it is scored, for --set KEY=VALUE. A space sets its own defaults."]
    for section, items in groupby(all_keys().values(), key=lambda item: item.name.partition(".")[0]):
        lines += ["", section, *map(describe, items)]
    print("\n".join(lines))
    return 0


def describe(item: Key) -> str:
    """Return a key in lines: `objective.temperature = 1.0`, then type, meaning, components and range of a search."""
    alias = f"; or {item.alias}" if item.alias else ""
    only = [f"{chooser} {choices(map(repr, names))}" for chooser, names in choosers(item.name).items()]
    below = [
        f"{item.values_in_words}{alias}",
        item.full_meaning,
        f"Only with {' or '.join(only)}." if only else "",
        _searched(item),
    ]
    wrapped = (line for text in below for line in textwrap.wrap(text, WIDTH - 6, break_on_hyphens=False))
    return "\n".join([f"  {item.name} = {written(item.default)}", *(f"      {line}" for line in wrapped)])


def written(value: object) -> str:
    """Return a value as a person types it after `--set KEY=`."""
    if isinstance(value, tuple):
        return ",".join(value) or "(an empty list)"
    return "none" if value is None else str(value)


def _searched(item: Key) -> str:
    if item.search is None:
        return ""
    if isinstance(item.search, Range):
        scale = ", on a logarithmic scale" if item.search.log else ""
        return f"A search looks between {item.search.low:g} and {item.search.high:g}{scale}."
    return f"A search looks among {', '.join(map(written, item.search))}."
