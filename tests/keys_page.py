"""docs/keys.md, made of what the components say of their keys: `python -m tests.keys_page` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from trainables.evaluation_config import all_keys
from trainables.files import write_whole
from trainables.keys import Key, Range
from trainables.recipe import choosers

PAGE = Path(__file__).resolve().parents[1] / "docs" / "keys.md"
HEAD = """\
# Every key

What `--set KEY=VALUE`, a space's rows and its domains can name. The page is made of the components themselves, by
`python -m tests.keys_page`; `python study/run.py --keys --plugin FILE` prints the same with the keys of a plugin. A
space sets its own defaults. The keys of a recipe decide its hash where they are not at their defaults; those of
`evaluation` say how it is scored, and are no part of it. A component's key is there where the component is chosen, and
refused elsewhere.
"""


def page() -> str:
    """The whole page, a heading for each part of a recipe."""
    lines = [HEAD]
    for section, items in groupby(all_keys().values(), key=lambda item: item.name.partition(".")[0]):
        lines += [f"## {section}", "", *(line for item in items for line in _described(item)), ""]
    return "\n".join(lines).rstrip() + "\n"


def _described(item: Key) -> Iterator[str]:
    alias = f", or `{item.alias}`" if item.alias else ""
    yield f"- **`{item.name}`**{alias} = `{_value(item.default)}`: {item.kind}. {item.explained}"
    for chooser, names in choosers(item.name).items():
        yield f"  Of `{chooser}` {', '.join(f'`{name}`' for name in names)}."
    if isinstance(item.search, Range):
        scale = ", on a logarithmic scale" if item.search.log else ""
        yield f"  A search looks between {item.search.low:g} and {item.search.high:g}{scale}."
    elif item.search is not None:
        yield f"  A search looks among {', '.join(f'`{_value(value)}`' for value in item.search)}."


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value) or "(an empty list)"
    return "none" if value is None else str(value)


if __name__ == "__main__":
    write_whole(PAGE, page())
