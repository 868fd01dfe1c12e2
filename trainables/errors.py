"""The one exception for a person's mistake; every command prints it as a single sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence

LONGEST = 1000
"""Characters of a sentence at most."""
SHORT = 400
"""Characters of an error of others within a sentence at most."""
SHOWN = 200
"""Characters of a wrong value that a sentence repeats at most."""


class UserError(Exception):
    """Says in one sentence what is wrong, where, and what would work."""


def checked_arguments(arguments: Sequence[str] | None) -> list[str]:
    """A command's arguments, those of this process where none are given.

    `UserError` for one that is no text: bytes that are not UTF-8, or a NUL, which no file can be named by.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    for word in words:
        if any(sign == "\0" or "\ud800" <= sign <= "\udfff" for sign in word):
            raise UserError(f"the argument {shown(word)} is no text: it holds bytes that are not UTF-8, or a NUL")
    return words


def answer_user_errors(main: Callable[[], int | None]) -> int:
    """Run a command: a `UserError`, or a file that cannot be used, becomes one line on stderr and exit code 2."""
    try:
        code = main() or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of the output has left, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains once more at its end
        return 1
    except UserError as error:
        print(f"error: {sentence(str(error))}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.filename is None:  # of no file that a person named
            raise
        print(f"error: {sentence(os.fsdecode(error.filename))} cannot be used: {error.strerror}", file=sys.stderr)
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


def sentence(text: str, most: int = LONGEST) -> str:
    """The text as one line of a terminal: what a file or a command line brought in ends no line, gives the terminal no
    commands, and does not fill the screen."""
    line = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in " ".join(text.split()))
    half = most // 2
    return line if len(line) <= most else f"{line[:half]} [...] {line[-half:]}"


def shown(value: object) -> str:
    """A wrong value for a sentence that repeats it: as Python writes it, cut where it is long."""
    try:
        text = repr(value)
    except RecursionError:
        return "what is nested too deep to be shown"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def choices(names: Iterable[object]) -> str:
    """`a, b or c`, for the end of a sentence that names what would have worked; quoted if a name has a comma."""
    listed = [str(name) for name in names]
    if not listed:
        return "none"
    if any("," in name for name in listed):
        listed = [repr(name) for name in listed]
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"
