"""Which trials a study may run: every module of this folder that has a `SPACES` tuple adds its spaces.

`spaces()` lists them; `load_space` also takes a person's own file outside the repository.
"""

from __future__ import annotations

import difflib
import importlib
import pkgutil
import sys
import traceback
import types
from pathlib import Path

from search_spaces.space import Claim, Column, Domain, Figure, PremiseCount, Row, Space, Table
from trainables.errors import UserError, choices

__all__ = ["Claim", "Column", "Domain", "Figure", "PremiseCount", "Row", "Space", "Table", "load_space", "spaces"]


def spaces() -> dict[str, Space]:
    """Every registered space by name, in the order of the modules' names."""
    found: dict[str, Space] = {}
    for info in pkgutil.iter_modules(__path__):
        for space in getattr(importlib.import_module(f"{__name__}.{info.name}"), "SPACES", ()):
            if space.name in found:
                raise UserError(f"two spaces are called {space.name!r}; the second is in {__name__}/{info.name}.py")
            found[space.name] = space
    return found


def load_space(name_or_path: str | Path) -> Space:
    """The space of that registered name, or of a Python file: `./my_space.py`.

    The file defines `SPACE = Space(...)`, or a tuple `SPACES`; of several, `./my_space.py:NAME` picks one.
    Raises `UserError` for an unknown name, a missing file, and a file that does not run (with its line).
    """
    text = str(name_or_path)
    path, _, wanted = text.partition(".py:")
    if wanted:
        return _pick(_spaces_of(Path(path + ".py")), Path(path + ".py"), wanted)
    if text.endswith(".py") or "/" in text:
        return _pick(_spaces_of(Path(text)), Path(text), None)
    known = spaces()
    if text not in known:
        near = difflib.get_close_matches(text, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UserError(
            f"there is no space {text!r}; {hint}the spaces are {choices(known)}, or a file of your own: ./my_space.py"
        )
    return known[text]


def _spaces_of(path: Path) -> tuple[Space, ...]:
    """Runs the file and returns its `SPACES`, or its `SPACE` alone."""
    try:
        source = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UserError(f"the space file {path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"the space file {path} cannot be read: {error}") from None
    module = types.ModuleType(f"space_file_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    except SyntaxError as error:
        raise UserError(f"{path}, line {error.lineno}: {error.msg}") from None
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == str(path)), 1)
        kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
        raise UserError(f"{path}, line {line}: {kind}{error}") from None
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
