"""docs/keys.md, made of what the components say of their keys: `python -m tests.keys_page` writes it."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from study.cli.listing import written
from trainables.evaluation_config import all_keys
from trainables.files import write_whole
from trainables.keys import Key

PAGE = Path(__file__).resolve().parents[1] / "docs" / "keys.md"
HEAD = """\
# Every key

    python study/run.py --keys                                 # with values, names, and what a search tries
    python study/run.py --space scl_tau --set lr=1e-4 --dry-run

Each key has its default value here; most spaces set others. Some keys belong to one component, such as an objective:
`--keys` names it. A recipe's hash counts keys that are not at their defaults; keys of `evaluation` are no part of a
recipe. `python -m tests.keys_page` writes this page.
"""


def page() -> str:
    """The whole page, a heading for each part of a recipe. Names of components are left to `--keys`, so that a new one
    changes nothing here."""
    lines = [HEAD]
    for section, items in groupby(all_keys().values(), key=lambda item: item.name.partition(".")[0]):
        lines += [f"## {section}", "", *map(_described, items), ""]
    return "\n".join(lines).rstrip() + "\n"


def _described(item: Key) -> str:
    alias = f" or `{item.alias}`" if item.alias else ""
    return f"- `{item.name}={'' if item.default == () else written(item.default)}`{alias}: {item.meaning}"


if __name__ == "__main__":
    write_whole(PAGE, page())
