"""The exception for a user's mistake, which every command prints as one sentence, and functions that quote text of
users, files and libraries in such a sentence."""

from __future__ import annotations

import difflib
import os
import re
import reprlib
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence

MAX_SENTENCE_LENGTH = 1000
"""Most characters of a message."""
MAX_REASON_LENGTH = 400
"""Most characters of a library's error message that our message quotes."""
MAX_VALUE_LENGTH = 200
"""Most characters of a wrong value that a message quotes."""

SOURCE_PATH = "__outside__"
"""Attribute of a module that was made from a plugin or a space file: the path of the file."""

_MAX_LISTED = 8
_ORDINARY = re.compile(r"[\w .'#-]{1,60}")
_quotes = reprlib.Repr()
_quotes.maxstring = _quotes.maxother = 100


class UserError(Exception):
    """A user's mistake. The message is one sentence: what is wrong, where, and what would work."""


class UnsuitedError(UserError):
    """Data or an encoder that do not fit a setting of the recipe. The message starts with the setting: `key=value`."""


def checked_arguments(arguments: Sequence[str] | None) -> list[str]:
    """Return the arguments of a command; None: the arguments of this process.

    Raises `UserError` for an argument with bytes that are not UTF-8, or with a NUL, which no file name can contain.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    for word in words:
        if "\0" in word or not is_text(word):
            raise UserError(f"the argument {shown(word)} is no text: it holds bytes that are not UTF-8, or a NUL")
    return words


def answer_user_errors(main: Callable[[], int | None]) -> int:
    """Run a command and return its exit code. A `UserError`, an unusable file, or a plugin that ends the process gives
    one line on stderr and exit code 2."""
    try:
        code = main() or 0
        if sys.stdout is not None:  # some services start commands with stdout closed
            sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader closed the output, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python reports the error again at exit
        return 1
    except UserError as error:
        print(f"error: {sentence(str(error))}", file=sys.stderr)
        return 2
    except OSError as error:
        if error.filename is None:  # not about a file
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
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        frames = [(frame.f_globals.get(SOURCE_PATH), line) for frame, line in traceback.walk_tb(error.__traceback__)]
        where = next((f"{path}, line {line}" for path, line in reversed(frames) if path), None)
        if where is None:  # such as argparse's exit after it printed the help
            raise
        print(f"error: {sentence(where)}: {describe_error(error)}", file=sys.stderr)
        return 2


def is_text(text: str) -> bool:
    """Return whether a text can be encoded. Command lines and JSON can contain half of a character (a lone surrogate),
    which no file can store."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def sentence(text: str, most: int = MAX_SENTENCE_LENGTH) -> str:
    """Return the text as one line for a terminal, without control characters, and cut to `most` characters."""
    line = _cut(" ".join(text.split()), most)
    return _cut("".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line), most)


def message_of(error: BaseException) -> str:
    """Return the message of an error; empty if `str` fails on it, as it may for an error class of a plugin."""
    try:
        return str(error).strip()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return ""


def reason(error: BaseException) -> str:
    """Return the first line of an error's message, to quote it in a message. It is cut, as it may quote a file."""
    return sentence((message_of(error) or type(error).__name__).splitlines()[0], MAX_REASON_LENGTH)


def describe_error(error: BaseException) -> str:
    """Return class and message of an error, as the message alone may be unclear; for a `UserError` only the message."""
    words = message_of(error)
    readable = isinstance(error, UserError) or not words
    return reason(error) if readable else sentence(f"{type(error).__name__}: {words}", MAX_REASON_LENGTH)


def shown(value: object) -> str:
    """Return the `repr` of a wrong value for a message. The middle of a long one is left out."""
    return _cut(_quotes.repr(value), MAX_VALUE_LENGTH)


def listed(names: Sequence[object]) -> str:
    """Return names from a file, such as columns, as text for a message: the first few and the number of the rest."""
    first = [str(name) if _ORDINARY.fullmatch(str(name)) else shown(name) for name in names[:_MAX_LISTED]]
    return ", ".join([*first, *([f"{len(names) - _MAX_LISTED:,} more"] if len(names) > _MAX_LISTED else [])]) or "none"


def did_you_mean(name: object, options: Iterable[str]) -> str:
    """Return `did you mean 'tpe'? ` if a known name is similar, else an empty text."""
    near = difflib.get_close_matches(str(name), list(options), n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? " if near else ""


def point_hint(text: object) -> str:
    """Return a hint to write a decimal point, for a number with a percent sign or a decimal comma, but not with commas
    of thousands or of a list. For other text the hint is empty."""
    comma_or_percent = re.fullmatch(r"\s*-?(0,\d+|\d+(,(\d{1,2}|\d{4,})|([.,]\d*)?\s*%))\s*", str(text))
    return "; write a point and no comma or %, as in 0.5" if comma_or_percent else ""


def choices(names: Iterable[object]) -> str:
    """Return the names as `a, b or c`, for a message about possible values. They are quoted if one has a comma."""
    options = [str(name) for name in names]
    if not options:
        return "none"
    if any("," in name for name in options):
        options = [repr(name) for name in options]
    return options[0] if len(options) == 1 else f"{', '.join(options[:-1])} or {options[-1]}"


def _cut(line: str, most: int) -> str:
    half = most // 2
    return line if len(line) <= most else f"{line[:half]} [...] {line[-half:]}"
