"""Names on the model and data hub, with the revision that they may pin.

    on_hub("sentence-transformers/nli@1f2a3b")     # ("sentence-transformers/nli", "1f2a3b")

Without a revision the hub's newest state is meant, which may be another one tomorrow. The revision is part of the name,
and so of a recipe's hash.
"""

from __future__ import annotations

import re

from trainables.errors import UserError
from trainables.files import expanded

_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
_REVISION = re.compile(r"\w[\w.-]*(/[\w.-]+)*")
"""A commit, a tag or a branch."""


def on_hub(text: str) -> tuple[str, str | None]:
    """The hub id and its revision, None where none is pinned; of a file or folder that is there the whole text.
    `UserError` for a revision that cannot be one."""
    problem = malformed(text)
    if problem:
        raise UserError("; ".join(problem))
    name, at, revision = text.partition("@")
    return (name, revision) if at and not expanded(text).exists() else (text, None)


def malformed(text: str) -> tuple[str, str] | None:
    """What is wrong with the revision that a text pins, and what would work; None where there is nothing."""
    name, at, revision = text.partition("@")
    if not at or expanded(text).exists() or (is_id(name) and _REVISION.fullmatch(revision)):
        return None
    return f"{text!r} pins no revision of the hub", "write owner/name@REVISION: a commit, a tag or a branch"


def is_id(text: str) -> bool:
    """Whether that can be `owner/name`, and is not written like a path."""
    return bool(text and text[0] not in "./~" and _ID.fullmatch(text))
