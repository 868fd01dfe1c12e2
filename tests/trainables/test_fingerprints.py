"""What a file holds, in a few digits."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainables.errors import UserError
from trainables.fingerprints import fingerprint


def test_a_file_that_cannot_be_read_is_named() -> None:
    unreadable = Path("/proc/self/mem")  # also for a user who may read all: its first bytes are in no memory
    if not unreadable.exists():
        pytest.skip("no file here that nobody can read")
    with pytest.raises(UserError, match="/mem cannot be read: Input/output error"):
        fingerprint(unreadable)
