"""Python files from outside the repository: plugins, which add entries to the registries, and space files.

    python study/run.py --plugin my_objective.py --set objective.name=mine

A plugin is a file that calls `add` on registries (docs: CONTRIBUTING.md). It is run once in each process that needs it:
the one that plans a study, each worker, and each report.

Two studies in one process may both name a task `heldout`: entries of a space file are replaced by entries of the same
names from another file, and restored when the first file is loaded again.
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

from trainables.errors import MAX_REASON_LENGTH, SOURCE_PATH, UserError, describe_error, reason, sentence
from trainables.files import check_plain
from trainables.registry import Named, Registry


@dataclass(frozen=True)
class _LoadedFile:
    """A file that was run, and the entries that it added."""

    module: types.ModuleType
    added: tuple[tuple[Registry[Any], Named], ...]

    @property
    def is_space(self) -> bool:
        return hasattr(self.module, "SPACE") or hasattr(self.module, "SPACES")

    def register(self) -> None:
        """Register the file's entries, and remove other space files' entries of the same names from all registries."""
        names = {entry.name for _, entry in self.added}
        for other in _loaded_files.values():
            if other is not self:
                other.withdraw(names)
        for registry, entry in self.added:
            if not registry.holds(entry):
                registry.add(entry)
            if self.is_space:
                registry.allow_replacement(entry.name)

    def withdraw(self, names: Set[str]) -> None:
        """Remove the file's entries of these names, if it is a space file."""
        for registry, entry in self.added if self.is_space else ():
            if entry.name in names and registry.holds(entry):
                registry.remove(entry.name)


_loaded_files: dict[str, _LoadedFile] = {}
"""The files that this process has run, by source. Running a file twice would add its entries twice."""


def load_plugin(path: Path) -> str:
    """Run a plugin, once in this process, and return its source, which `run_source` can run in other processes."""
    source = read_source(path, "plugin")
    run_source(source, str(path), "plugin")
    return source


def read_source(path: Path, what: str) -> str:
    """Return the text of a Python file. Raises `UserError` if it cannot be read. `what`: the kind of file."""
    try:
        if not path.exists():
            raise UserError(f"the {what} file {path} does not exist")
        check_plain(path)
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"the {what} file {path} cannot be read: {reason(error)}") from None


def run_source(source: str, path: str, what: str) -> types.ModuleType:
    """Run Python source as a module, once in this process. Raises `UserError` with the line for any error, also for
    `sys.exit()`, which must not end the study."""
    if source not in _loaded_files:
        before = len(Registry.added)
        module = _run(source, path, what)
        _loaded_files[source] = _LoadedFile(module, tuple(Registry.added[before:]))
    _loaded_files[source].register()
    return _loaded_files[source].module


def has_run(source: str) -> bool:
    """Return whether this process has run the source."""
    return source in _loaded_files


def withdraw_spaces() -> None:
    """Remove the entries of all space files. They are restored when a file is loaded again."""
    for file in _loaded_files.values():
        file.withdraw({entry.name for _, entry in file.added})


def _run(source: str, path: str, what: str) -> types.ModuleType:
    digest = hashlib.sha256(source.encode()).hexdigest()[:8]  # so that two files of one name are two modules
    module = types.ModuleType(f"{what}_{Path(path).stem}_{digest}")
    module.__file__ = path
    setattr(module, SOURCE_PATH, path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look up the module
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        line = error.lineno or source.partition("\0")[0].count("\n") + 1  # Python gives no line for a NUL
        raise UserError(f"{path}, line {line}: {sentence(error.msg, MAX_REASON_LENGTH)}") from None
    except Exception as error:  # nested too deep, or too large
        raise UserError(f"{path}: {describe_error(error)}") from None
    try:
        exec(code, module.__dict__)
    except BaseException as error:
        if type(error) is KeyboardInterrupt:  # ctrl-C
            raise
        frames = traceback.extract_tb(error.__traceback__)
        line = next((frame.lineno for frame in reversed(frames) if frame.filename == path), None) or 1
        raise UserError(f"{path}, line {line}: {describe_error(error)}") from None
    return module
