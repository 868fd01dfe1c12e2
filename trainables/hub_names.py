"""Names on the model and data hub, with an optional revision.

    on_hub("sentence-transformers/nli@1f2a3b")     # ("sentence-transformers/nli", "1f2a3b")

Without a revision, the hub's newest state is used, which may change. The revision is part of the name, and so of a
recipe's hash.
"""

from __future__ import annotations

import re

from trainables.errors import UserError
from trainables.files import expanded

_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_REVISION = re.compile(r"\w[\w.-]*(/[\w.-]+)*")
"""A commit, a tag or a branch."""


def on_hub(text: str) -> tuple[str, str | None]:
    """Return hub id and revision (None: not pinned). For an existing file or folder, return the whole text and None.
    Raises `UserError` for an invalid revision."""
    problem = malformed(text)
    if problem:
        raise UserError("; ".join(problem))
    name, at, revision = text.partition("@")
    return (name, revision) if at and not expanded(text).exists() else (text, None)


def malformed(text: str) -> tuple[str, str] | None:
    """Return the problem with a text's revision and what would work; None if there is no problem."""
    name, at, revision = text.partition("@")
    if not at or expanded(text).exists() or (is_id(name) and _REVISION.fullmatch(revision)):
        return None
    return f"{text!r} pins no revision of the hub", "write owner/name@REVISION: a commit, a tag or a branch"


def is_id(text: str) -> bool:
    """Return whether a text has the form `owner/name` or `name`, and not that of a path."""
    return bool(text and text[0] not in "./~" and _ID.fullmatch(text))
