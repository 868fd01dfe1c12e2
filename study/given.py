"""What a command gives: its plugins and space file as text, and the keys of its options."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from study.cli.options import Request
from study.rows import absolute
from study.trial import SourceFile
from trainables.errors import UserError
from trainables.evaluation_config import all_keys, parse_assignment
from trainables.files import expanded
from trainables.plugins import load_plugin, read_source
from trainables.recipe import Value

OPTIONS = ("corpus.nli", "corpus.columns", "corpus.labels", "corpus.documents", "evaluation.senteval")
"""Keys that have an option of their own, which is called as they end: `--nli`."""


def plugin(path: Path) -> SourceFile:
    """Runs it; it may add what the space names."""
    path = expanded(path).absolute()
    if path.suffix != ".py":  # nothing else in the study's results is code
        raise UserError(f"--plugin {path} is no Python file by its name; call it {path.stem}.py")
    return SourceFile("plugin", str(path), load_plugin(path))


def space_file(name: str) -> SourceFile | None:
    """As `load_space` reads the name: `my_space.py`, `my_space.py:NAME`, or any other path."""
    path, marker, _ = name.partition(".py:")
    if not (marker or name.endswith(".py") or "/" in name):
        return None
    file = Path(path + ".py" if marker else name).absolute()
    return SourceFile("space", str(file), read_source(file, "space"))


def overrides(request: Request, fixed: Mapping[str, Value]) -> dict[str, Value]:
    """What changes the base of every recipe: `fixed` is what `--set` gives. Paths are absolute."""
    options = {key: getattr(request, key.partition(".")[2]) for key in OPTIONS}
    given = (parse_assignment(f"{key}={text}") for key, text in options.items() if text is not None)
    found = {**dict(given), **fixed}
    places = {item.name for item in all_keys().values() if item.place}
    return {key: absolute(value) if key in places and isinstance(value, str) else value for key, value in found.items()}
