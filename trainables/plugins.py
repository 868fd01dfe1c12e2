"""Python files from outside the repository: they add entries to the registries, or define a space.

    python study/run.py --plugin my_objective.py --set objective.name=mine

A plugin is a file that calls `add` on registries (docs: CONTRIBUTING.md). It is run once in each process that needs it:
the one that plans a study, each worker, and each report.
"""

from __future__ import annotations

import hashlib
import sys
import traceback
import types
from pathlib import Path

from trainables.errors import OUTSIDE, SHORT, UserError, reason, sentence, unforeseen
from trainables.files import check_plain
from trainables.moved import moved

_ran: dict[str, types.ModuleType] = {}
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
    if source in _ran:
        return _ran[source]
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
        raise UserError(f"{path}, line {line}: {moved(error) or unforeseen(error)}") from None
    _ran[source] = module
    return module


def forget(source: str) -> None:
    """Have this source run again when it is asked for next; what it added must have been removed."""
    _ran.pop(source, None)
