"""Which trials a study may run: a folder for each paper, and spaces of no paper.

`spaces()` lists every space of this folder; `load_space` also loads a user's own file outside the repository.

A paper's folder has `figures.csv`, the paper's published numbers; `averages.py`, how it averages scores (listed by the
module `search_spaces.averages`); and `spaces.py` with a tuple `SPACES`, made of its rows, tables and claims. A space of
no paper is a module with such a tuple.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Sequence
from pathlib import Path

from search_spaces.space import Claim, Column, Domain, Figure, PremiseCount, Row, Space, Table
from trainables.errors import UserError, choices, did_you_mean
from trainables.plugins import read_source, run_source

__all__ = [
    "Claim",
    "Column",
    "Domain",
    "Figure",
    "PremiseCount",
    "Row",
    "Space",
    "Table",
    "load_space",
    "registered",
    "space_and_file",
    "space_in",
    "spaces",
]


def spaces() -> dict[str, Space]:
    """Return every registered space by name, in the order of the names of the modules' first spaces."""
    named: dict[str, Space] = {}
    for module, own in _modules(*__path__):
        for space in own:
            if space.name in named:
                raise UserError(f"two spaces are called {space.name!r}; the second is in {module}")
            named[space.name] = space
    return named


@functools.cache
def _modules(*folders: str) -> Sequence[tuple[str, tuple[Space, ...]]]:
    """Return name and `SPACES` of every module of these folders, and of the module `spaces` of every subfolder."""
    names = [f"{__name__}.{info.name}{'.spaces' if info.ispkg else ''}" for info in pkgutil.iter_modules(folders)]
    modules = ((name, getattr(importlib.import_module(name), "SPACES", ())) for name in names)
    return sorted(((name, own) for name, own in modules if own), key=lambda item: item[1][0].name)


def load_space(name_or_path: str | Path) -> Space:
    """Return the space of that registered name, or of a Python file such as `./my_space.py`.

    The file defines `SPACE = Space(...)`, or a tuple `SPACES`; `./my_space.py:NAME` picks one of several. Raises
    `UserError` for an unknown name, a missing file, and a file that does not run (with its line).
    """
    return space_and_file(str(name_or_path))[0]


def space_and_file(text: str) -> tuple[Space, tuple[Path, str] | None]:
    """Return the space as `load_space` does, and its file with the file's text, or None for a registered space."""
    path, _, name = text.partition(".py:")
    if not (name or text.endswith(".py") or "/" in text):
        return registered(text), None
    file = Path(path + ".py" if name else text)
    source = read_source(file, "space")
    return space_in(source, file, name or None), (file, source)


def registered(name: str) -> Space:
    """Return the space of that name; `UserError` for an unknown name."""
    registry = spaces()
    if name not in registry:
        raise UserError(
            f"there is no space {name!r}; {did_you_mean(name, registry)}the spaces are {choices(registry)}, or a file "
            "of your own: ./my_space.py"
        )
    return registry[name]


def space_in(source: str, path: Path, name: str | None = None) -> Space:
    """Return the space in Python source: `SPACE`, or the space of that name in `SPACES`. `path` is used in messages."""
    module = run_source(source, str(path), "space")
    own = getattr(module, "SPACES", None) or getattr(module, "SPACE", None)
    own = (own,) if isinstance(own, Space) else own
    if not isinstance(own, tuple | list) or not own or not all(isinstance(space, Space) for space in own):
        raise UserError(f"{path} defines no space; write SPACE = Space(name=..., ...) at its top level")
    names = [space.name for space in own]
    if len(set(names)) < len(names):
        raise UserError(f"{path} defines two spaces of one name: {', '.join(names)}")
    if name is None and len(own) > 1:
        raise UserError(f"{path} defines several spaces; pick one as {path}:NAME with {choices(names)}")
    if name is not None and name not in names:
        raise UserError(f"{path} defines no space {name!r}, only {choices(names)}")
    return own[0 if name is None else names.index(name)]
