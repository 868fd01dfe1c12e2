"""The last words of a process that cannot speak any more.

Where Ray's head dies, Ray's own C++ ends the study's process on the spot, with words about its inner parts alone; no
code of ours runs then. So a shell waits beside it, and says what that means to whoever runs the study.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def last_words(sentence: str) -> Iterator[None]:
    """Have the sentence said on stderr where this process ends within, in whatever way but by an exception."""
    waits = ["sh", "-c", 'read -r _ || printf "\\n%s\\n" "$0" >&2', sentence]  # till a line comes, or the pipe's end
    with subprocess.Popen(waits, stdin=subprocess.PIPE, start_new_session=True) as shell:
        try:
            yield
        finally:
            shell.communicate(b"\n")
