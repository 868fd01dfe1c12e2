"""Times in the files of a results folder: UTC in ISO format."""

from __future__ import annotations

import datetime
from typing import Annotated


def now() -> str:
    """Return the current time as UTC in ISO format."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def seconds_since(moment: str) -> float:
    """Return how many seconds ago this time, UTC in ISO format, was. Raise `ValueError` if the text is no such time."""
    return (datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(moment)).total_seconds()


def _no_moment(text: str) -> str | None:
    try:
        seconds_since(text)
    except (ValueError, TypeError):  # a time without a time zone cannot be compared
        return "must be a time, such as 2026-01-01T00:00:00+00:00"
    return None


Moment = Annotated[str, _no_moment]
"""A time as text: UTC in ISO format."""
