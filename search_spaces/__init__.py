"""Which trials a study may run: a folder for each paper, and spaces that belong to none.

`spaces()` lists every space of this folder; `load_space` also takes a person's own file outside the repository.

A paper's folder has `figures.csv`, the printed figures; `averages.py`, how it averages scores (listed by the module
`search_spaces.averages`); and `spaces.py` with a tuple `SPACES`, made of its rows, tables and claims. A space of no
paper is a module with such a tuple.
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
    "space_in",
    "spaces",
]


def spaces() -> dict[str, Space]:
    """Every registered space by name, in the order of the names of the modules' first spaces."""
    found: dict[str, Space] = {}
    for module, its_spaces in _modules(*__path__):
        for space in its_spaces:
            if space.name in found:
                raise UserError(f"two spaces are called {space.name!r}; the second is in {module}")
            found[space.name] = space
    return found


@functools.cache
def _modules(*folders: str) -> Sequence[tuple[str, tuple[Space, ...]]]:
    """The `SPACES` of every module of these folders, and of the module `spaces` of every folder in them."""
    names = [f"{__name__}.{info.name}{'.spaces' if info.ispkg else ''}" for info in pkgutil.iter_modules(folders)]
    found = {name: getattr(importlib.import_module(name), "SPACES", ()) for name in names}
    return sorted(((name, its) for name, its in found.items() if its), key=lambda item: item[1][0].name)


def load_space(name_or_path: str | Path) -> Space:
    """The space of that registered name, or of a Python file: `./my_space.py`.

    The file defines `SPACE = Space(...)`, or a tuple `SPACES`; of several, `./my_space.py:NAME` picks one.
    Raises `UserError` for an unknown name, a missing file, and a file that does not run (with its line).
    """
    text = str(name_or_path)
    path, _, wanted = text.partition(".py:")
    if wanted:
        return space_in(read_source(Path(path + ".py"), "space"), Path(path + ".py"), wanted)
    if text.endswith(".py") or "/" in text:
        return space_in(read_source(Path(text), "space"), Path(text))
    return registered(text)


def registered(name: str) -> Space:
    """The space of that name; `UserError` for an unknown one."""
    known = spaces()
    if name not in known:
        raise UserError(
            f"there is no space {name!r}; {did_you_mean(name, known)}the spaces are {choices(known)}, or a file of "
            "your own: ./my_space.py"
        )
    return known[name]


def space_in(source: str, path: Path, wanted: str | None = None) -> Space:
    """The space that Python source defines, of several the wanted one; `path` is what the source is called."""
    return _pick(_spaces_of(source, path), path, wanted)


def _spaces_of(source: str, path: Path) -> tuple[Space, ...]:
    """Runs it and returns its `SPACES`, or its `SPACE` alone."""
    module = run_source(source, str(path), "space")
    found = getattr(module, "SPACES", None) or getattr(module, "SPACE", None)
    found = (found,) if isinstance(found, Space) else found
    if not isinstance(found, tuple | list) or not found or not all(isinstance(space, Space) for space in found):
        raise UserError(f"{path} defines no space; write SPACE = Space(name=..., ...) at its top level")
    return tuple(found)


def _pick(found: tuple[Space, ...], path: Path, wanted: str | None) -> Space:
    names = [space.name for space in found]
    if len(set(names)) < len(names):
        raise UserError(f"{path} defines two spaces of one name: {', '.join(names)}")
    if wanted is None:
        if len(found) > 1:
            raise UserError(f"{path} defines several spaces; pick one as {path}:NAME with {choices(names)}")
        return found[0]
    if wanted not in names:
        raise UserError(f"{path} defines no space {wanted!r}, only {choices(names)}")
    return found[names.index(wanted)]
