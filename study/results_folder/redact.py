"""Secrets of the environment are kept out of what a study writes: reasons of failures, and its command line."""

from __future__ import annotations

import os
import re
from pathlib import Path

_NAME = re.compile(r"(^|_)(TOKEN|KEY|APIKEY|SECRET|PASSWORD|PASSWD|PASS|PWD|CREDENTIALS?|AUTH)(_|$)", re.IGNORECASE)
"""What the name of a variable with a secret has in it."""
_SHORTEST = 8
"""Shorter values are words like any other, `token` for one."""
_LOGIN = re.compile(r"(?<=://)[^/\s@'\"]+(?=@)")
"""Who logs in, in a URL: `https://NAME:PASSWORD@HOST`."""


def redacted(text: str) -> str:
    """The text with `[NAME]` in place of the value of every variable of this process whose name says that it is secret,
    and `...` for a login in a URL. Values that are paths of files stay: they are no secrets themselves."""
    for name, value in sorted(os.environ.items(), key=lambda item: -len(item[1])):
        if len(value) >= _SHORTEST and value in text and _NAME.search(name) and not _is_path(value):
            text = text.replace(value, f"[{name}]")
    return _LOGIN.sub("...", text)


def _is_path(value: str) -> bool:
    try:
        return Path(value).exists()
    except (OSError, ValueError):
        return False
