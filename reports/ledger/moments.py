"""Times in the files of a results folder: UTC in ISO format."""

from __future__ import annotations

import datetime
from typing import Annotated


def now() -> str:
    """The time as these files write it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def seconds_since(moment: str) -> float:
    """How long ago a time of these files was; `ValueError` where it is none."""
    return (datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(moment)).total_seconds()


def _no_moment(text: str) -> str | None:
    try:
        seconds_since(text)
    except (ValueError, TypeError):  # without a time zone it cannot be compared
        return "must be a time, such as 2026-01-01T00:00:00+00:00"
    return None


Moment = Annotated[str, _no_moment]
"""Such a time."""
