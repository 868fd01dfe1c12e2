"""The one exception for a person's mistake; every command prints it as a single sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable


class UserError(Exception):
    """Says in one sentence what is wrong, where, and what would work."""


def answer_user_errors(main: Callable[[], int | None]) -> int:
    """Run a command: a `UserError` becomes one line on stderr and exit code 2."""
    try:
        code = main() or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of the output has left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains once more at its end
        return 1
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        print(
            f"error: the package {error.name!r} is not installed in this Python; run `make study` once, then "
            "`source .venv/bin/activate`, or `pip install -c constraints.txt -e .` into an environment of your own",
            file=sys.stderr,
        )
        return 2


def one_line(error: BaseException) -> str:
    """An error that nobody foresaw, for the end of a sentence: its kind and its text."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def choices(names: Iterable[object]) -> str:
    """`a, b or c`, for the end of a sentence that names what would have worked; quoted if a name has a comma."""
    listed = [str(name) for name in names]
    if not listed:
        return "none"
    if any("," in name for name in listed):
        listed = [repr(name) for name in listed]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"
