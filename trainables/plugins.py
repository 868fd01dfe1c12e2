"""Python files from outside the repository: they add entries to the registries, or define a space.

    python study/run.py --plugin my_objective.py --set objective.name=mine

A plugin is a file that calls `add` on registries (docs: CONTRIBUTING.md). It is run once in each process that needs it:
the one that plans a study, each worker, and each report.

Of two studies in one process each may call its own task `heldout`: what a space file added gives way to entries of
these names from another file, and comes back when the file is asked for again.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
import types
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainables.errors import OUTSIDE, SHORT, UserError, reason, sentence, unforeseen
from trainables.files import check_plain
from trainables.registry import Named, Registry


@dataclass(frozen=True)
class _Ran:
    """A file, and what it added."""

    module: types.ModuleType
    added: tuple[tuple[Registry[Any], Named], ...]

    @property
    def is_space(self) -> bool:
        return hasattr(self.module, "SPACE") or hasattr(self.module, "SPACES")

    def bring(self) -> None:
        """Have what it added there, and nothing of these names from another space file, whatever it is."""
        names = {entry.name for _, entry in self.added}
        for other in _ran.values():
            if other is not self:
                other.withdraw(names)
        for registry, entry in self.added:
            if not registry.holds(entry):
                registry.add(entry)
            if self.is_space:
                registry.lend(entry.name)

    def withdraw(self, names: Set[str]) -> None:
        """Take what it added under these names away, if it is a space."""
        for registry, entry in self.added if self.is_space else ():
            if entry.name in names and registry.holds(entry):
                registry.remove(entry.name)


_ran: dict[str, _Ran] = {}
"""By source: what this process has run already. Entries of a file that is run twice would be duplicates."""


def load_plugin(path: Path) -> str:
    """Run a plugin, once in this process; returns its source, which can be run elsewhere by `run_source`."""
    source = read_source(path, "plugin")
    run_source(source, str(path), "plugin")
    return source


def read_source(path: Path, what: str) -> str:
    """The text of a Python file; `UserError` where it cannot be read."""
    try:
        if not path.exists():
            raise UserError(f"the {what} file {path} does not exist")
        check_plain(path)
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"the {what} file {path} cannot be read: {reason(error)}") from None


def run_source(source: str, path: str, what: str) -> types.ModuleType:
    """Run Python source as a module, once in this process; `UserError` with its line where it fails, by whatever error:
    `sys.exit()` in it does not end the study."""
    if source not in _ran:
        before = len(Registry.added)
        module = _run(source, path, what)
        _ran[source] = _Ran(module, tuple(Registry.added[before:]))
    _ran[source].bring()
    return _ran[source].module


def has_run(source: str) -> bool:
    """Whether this process has run it."""
    return source in _ran


def withdraw_spaces() -> None:
    """Take away what space files added, until they are asked for again."""
    for ran in _ran.values():
        ran.withdraw({entry.name for _, entry in ran.added})


def _run(source: str, path: str, what: str) -> types.ModuleType:
    digest = hashlib.sha256(source.encode()).hexdigest()[:8]  # two files of one name stay two modules
    module = types.ModuleType(f"{what}_{Path(path).stem}_{digest}")
    module.__file__ = path
    setattr(module, OUTSIDE, path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look their module up
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = error.lineno or source.partition("\0")[0].count("\n") + 1  # Python names no line for a NUL
        raise UserError(f"{path}, line {line}: {sentence(error.msg, SHORT)}") from None
    except Exception as error:  # too deep, or too large
        raise UserError(f"{path}: {unforeseen(error)}") from None
    try:
        exec(code, module.__dict__)
    except BaseException as error:
        if type(error) is KeyboardInterrupt:  # ctrl-C
            raise
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == path), None) or 1
        raise UserError(f"{path}, line {line}: {unforeseen(error)}") from None
    return module
