"""Removal of the environment's secrets from texts that a study writes: reasons of failures, and its command line."""

from __future__ import annotations

import os
import re
from pathlib import Path

_NAME = re.compile(r"(^|_)(TOKEN|KEY|APIKEY|SECRET|PASSWORD|PASSWD|PASS|PWD|CREDENTIALS?|AUTH)(_|$)", re.IGNORECASE)
"""Words in names of environment variables whose values are secret."""
_SHORTEST = 8
"""Values with fewer letters are not replaced, because they may be ordinary words, such as `token`."""
_LOGIN = re.compile(r"(?<=://)[^/\s@'\"]+(?=@)")
"""The login in a URL: `https://NAME:PASSWORD@HOST`."""


def redacted(text: str) -> str:
    """Return the text with `[NAME]` in place of the value of every environment variable with a secret name (`_NAME`),
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
