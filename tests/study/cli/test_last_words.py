"""A process that is ended from without has a sentence said; one that ends by itself has none."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("end", "text"),
    [
        ("os.kill(os.getpid(), 9)", "\nkept: 'all' of $HOME\n"),
        ("os._exit(1)", "\nkept: 'all' of $HOME\n"),  # as Ray's own code ends it
        ("raise SystemExit", ""),
        ("pass", ""),
    ],
)
def test_a_sentence_is_said_for_who_cannot_speak(end: str, text: str) -> None:
    source = (
        "import os\nfrom study.cli.terminal import say_if_killed\n"
        f"with say_if_killed(\"kept: 'all' of $HOME\"):\n    {end}\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=120)
    assert done.stderr == text
