"""The one exception for a person's mistake, which every command prints as a single sentence, and how such a sentence
quotes what a person, a file or a library brought in."""

from __future__ import annotations

import difflib
import os
import re
import reprlib
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence

LONGEST = 1000
"""Characters of a sentence at most."""
SHORT = 400
"""Characters of an error of others within a sentence at most."""
SHOWN = 200
"""Characters of a wrong value that a sentence repeats at most."""

OUTSIDE = "__outside__"
"""In a module that was made of a plugin or a space file: that file's path."""

_LISTED = 8
_ORDINARY = re.compile(r"[\w .'#-]{1,60}")
_quotes = reprlib.Repr()
_quotes.maxstring = _quotes.maxother = 100


class UserError(Exception):
    """Says in one sentence what is wrong, where, and what would work."""


class UnsuitedError(UserError):
    """These data, or this encoder, do not go with a recipe's setting, with which its sentence begins: `key=value`."""


def checked_arguments(arguments: Sequence[str] | None) -> list[str]:
    """A command's arguments, those of this process where none are given.

    `UserError` for one that is no text: bytes that are not UTF-8, or a NUL, which no file can be named by.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    for word in words:
        if "\0" in word or not is_text(word):
            raise UserError(f"the argument {shown(word)} is no text: it holds bytes that are not UTF-8, or a NUL")
    return words


def answer_user_errors(main: Callable[[], int | None]) -> int:
    """Run a command: a `UserError`, a file that cannot be used, or a plugin that would end the process becomes one line
    on stderr and exit code 2."""
    try:
        code = main() or 0
        if sys.stdout is not None:  # closed before the command began, as of some services
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
    except (Exception, KeyboardInterrupt):
        raise
    except BaseException as error:
        frames = [(frame.f_globals.get(OUTSIDE), line) for frame, line in traceback.walk_tb(error.__traceback__)]
        where = next((f"{path}, line {line}" for path, line in reversed(frames) if path), None)
        if where is None:  # as argparse ends where it has printed the help
            raise
        print(f"error: {sentence(where)}: {unforeseen(error)}", file=sys.stderr)
        return 2


def is_text(text: str) -> bool:
    """Whether a text can be written down. A command line, and JSON, can bring in half of a character, a lone
    surrogate, which no file holds."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def sentence(text: str, most: int = LONGEST) -> str:
    """The text as one line of a terminal: what a file or a command line brought in ends no line, gives the terminal no
    commands, and does not fill the screen."""
    line = _cut(" ".join(text.split()), most)
    return _cut("".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in line), most)


def words_of(error: BaseException) -> str:
    """All that an error says; nothing where it cannot even say that, as one of a plugin's may not."""
    try:
        return str(error).strip()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return ""


def reason(error: BaseException) -> str:
    """What an error of others says, for a place within a sentence: its first line, cut, as it may quote a file."""
    return sentence((words_of(error) or type(error).__name__).splitlines()[0], SHORT)


def unforeseen(error: BaseException) -> str:
    """As `reason`, of an error whose kind tells, too, as its text was not made for people."""
    words = words_of(error)
    readable = isinstance(error, UserError) or not words
    return reason(error) if readable else sentence(f"{type(error).__name__}: {words}", SHORT)


def shown(value: object) -> str:
    """A wrong value for a sentence that repeats it: as Python writes it, and its middle left out where it is long."""
    return _cut(_quotes.repr(value), SHOWN)


def listed(names: Sequence[object]) -> str:
    """Names from a file, as columns are, for a sentence: the first few, and how many more there are."""
    first = [str(name) if _ORDINARY.fullmatch(str(name)) else shown(name) for name in names[:_LISTED]]
    return ", ".join([*first, *([f"{len(names) - _LISTED:,} more"] if len(names) > _LISTED else [])]) or "none"


def did_you_mean(name: object, options: Iterable[str]) -> str:
    """`did you mean 'tpe'? ` where a known name is like this one, else nothing."""
    near = difflib.get_close_matches(str(name), list(options), n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}? " if near else ""


def point_hint(text: object) -> str:
    """`; write a point …` where a text has a comma for it, not for thousands or a list, or a sign of percent."""
    comma_or_percent = re.fullmatch(r"\s*-?(0,\d+|\d+(,(\d{1,2}|\d{4,})|([.,]\d*)?\s*%))\s*", str(text))
    return "; write a point and no comma or %, as in 0.5" if comma_or_percent else ""


def choices(names: Iterable[object]) -> str:
    """`a, b or c`, for the end of a sentence that names what would have worked; quoted if a name has a comma."""
    options = [str(name) for name in names]
    if not options:
        return "none"
    if any("," in name for name in options):
        options = [repr(name) for name in options]
    return options[0] if len(options) == 1 else f"{', '.join(options[:-1])} or {options[-1]}"


def _cut(line: str, most: int) -> str:
    half = most // 2
    return line if len(line) <= most else f"{line[:half]} [...] {line[-half:]}"
