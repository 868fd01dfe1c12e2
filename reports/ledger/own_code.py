"""Decides which Python code in a results folder, `space.py` and `plugins/*.py`, may run: it may be a stranger's.

Code may run if its user has run the same text on this machine, for example in a study, or has trusted it by `python -m
reports RESULTS --trust`. Digests of trusted texts are kept in a folder of the user, outside any results folder.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import platformdirs

from reports.ledger.folders import PLUGINS
from trainables.errors import UserError, listed
from trainables.files import PROJECT, write_whole
from trainables.plugins import has_run, read_source

SPACE_FILE = "space.py"
"""Name of the copy of a person's own space file in the results folder."""


EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"
"""The project's own example folders. A copy of their code is trusted wherever it is."""


def read_code(results: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the texts of these files of a results folder, by name. Raise `UserError` for links and files elsewhere."""
    inside = os.path.realpath(results)
    for name in names:
        if Path(name).is_absolute() or os.path.realpath(results / name) != os.path.join(inside, name):
            raise UserError(
                f"{results / name} is code that lies outside the results folder, by its name or a link, so it does not "
                "run; put the file itself in its place"
            )
    return {name: read_source(results / name, "space" if name == SPACE_FILE else "plugin") for name in names}


def check_trusted(results: Path, texts: Mapping[str, str]) -> None:
    """Raise `UserError` unless the user has run or trusted each of these texts on this machine."""
    unknown = [name for name, text in texts.items() if not (has_run(text) or _note(text).is_file() or _is_ours(text))]
    if unknown:
        raise UserError(
            f"{results} holds code that you have not run on this machine, so none of it ran, and nothing was made of "
            f"the folder: {listed(unknown)}; it may be your own, of another machine; read it, and if it may run, give "
            "that folder or URL once to python -m reports with --trust"
        )


def trust_folder(results: Path) -> None:
    """Trust all code in this results folder from now on (see `trust`)."""
    plugins = sorted(f"{PLUGINS}/{path.name}" for path in (results / PLUGINS).glob("*.py"))
    trust(read_code(results, [*plugins, *([SPACE_FILE] if (results / SPACE_FILE).exists() else [])]).values())


def trust(texts: Iterable[str]) -> None:
    """Let code with these texts run in all results folders of this user. Raise `UserError` if it cannot be noted."""
    for text in texts:
        try:
            _note(text).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_whole(_note(text), "")
        except OSError as error:
            raise UserError(
                f"{_note(text).parent} cannot keep which code you trust: {error.strerror}; let XDG_STATE_HOME name a "
                "folder of yours"
            ) from None


def _is_ours(text: str) -> bool:
    """Return whether the text equals the space file of one of the project's examples."""
    return any(text == file.read_text(encoding="utf-8") for file in EXAMPLES.glob(f"*/{SPACE_FILE}"))


def _note(text: str) -> Path:
    """Return the path of the file that marks this text as trusted."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return platformdirs.user_state_path(PROJECT, appauthor=False) / "trusted" / digest
