"""Broken inputs made of whole ones, and what every reader owes for each: read right, or refused in one sentence.

    for pairs in read_broken(file, "jsonl", lambda: load_nli(str(file))):
        ...                                   # what was read must be right

The whole files of data, and how they are read, stand in `tests/whole_files.py`. The same reader, number and whole file
give the same broken one. `FUZZ_INPUTS` is how many each test makes: a few in `make test`, hundreds in `make fuzz`.
"""

from __future__ import annotations

import contextlib
import copy
import faulthandler
import gzip
import json
import os
import re
import resource
import shutil
import signal
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from trainables.errors import UserError

T = TypeVar("T")
Mutation = Callable[[bytes, Random], bytes]
"""From the content of a whole file to that of a broken one. It may also leave it whole."""
Place = Callable[[Path], None]
"""Puts something else where a file stands."""

INPUTS = int(os.environ.get("FUZZ_INPUTS", "12"))
"""How many inputs each test makes."""
SECONDS, MEGABYTES = 20.0, 512
"""What reading one input may take; a busy machine is no failure."""
LONGEST_SENTENCE = 700
"""Characters of a refusal, without the names of files in it."""

DEEP = 100_000
"""Levels of JSON: more than Python's reader can follow."""


class TookTooLong(BaseException):
    """A reader that hangs. No `Exception`, so that no reader takes it for a broken file."""


def inputs(reader: str, count: int = INPUTS) -> Iterator[tuple[int, Random]]:
    """The number of each input, and its source of chance."""
    for number in range(count):
        yield number, Random(f"{reader}/{number}")


def pick(choices: Mapping[str, T], number: int, reader: str) -> tuple[str, T]:
    """The mutation of that number: each comes in turn, and readers begin at different ones."""
    names = list(choices)
    name = names[(number + zlib.crc32(reader.encode())) % len(names)]
    return name, choices[name]


def read_or_refuse(read: Callable[[], T], files: Sequence[Path | str], megabytes: int = MEGABYTES) -> T | UserError:
    """What `read` gives, or its refusal, which must be one sentence that names one of the files.

    Fails on any other exception, on a reader that takes too long or too much memory, and on a refusal that cannot be
    printed or that repeats a whole broken file.
    """
    try:
        with limited(megabytes=megabytes):
            return read()
    except UserError as error:
        sentence = str(error)
        assert sentence.isprintable(), f"no line to print: {sentence!r}"
        assert any(str(file) in sentence for file in files), f"names no file: {sentence}"
        left = len(sentence) - sum(len(str(file)) * sentence.count(str(file)) for file in files)
        assert left <= LONGEST_SENTENCE, f"{len(sentence):,} characters: {sentence[:300]} ..."
        return error


def broken(files: Path | Sequence[Path], reader: str, ways: Mapping[str, Mutation] | None = None) -> Iterator[str]:
    """The file, or one of several, broken in one way after the other: its name, and the way's. It is whole again before
    the next."""
    for number, rng in inputs(reader):
        file = files if isinstance(files, Path) else rng.choice(files)
        whole = file.read_bytes()
        name, mutate = pick(ways or ways_of(file.suffix), number, reader)
        file.write_bytes(mutate(whole, rng))
        yield f"{file.name}, {name}"
        file.write_bytes(whole)


def read_broken(
    files: Path | Sequence[Path],
    reader: str,
    read: Callable[[], T],
    refused: str = "",
    *,
    ways: Mapping[str, Mutation] | None = None,
    named: Sequence[Path | str] = (),
) -> Iterator[T]:
    """What `read` makes of the broken file, each time that it refuses nothing. `refused`: what a refusal may say that
    names no line; without it any will do. `named`: what it may name beside the files."""
    own = [files] if isinstance(files, Path) else files
    for how in broken(files, reader, ways):
        outcome = read_or_refuse(read, [*own, *named])
        if not isinstance(outcome, UserError):
            yield outcome
        elif refused:
            assert re.search(f"{A_LINE}|{refused}", str(outcome)), f"{how}: {outcome}"


A_LINE = r":\d+: |, (line|row|after row|after line) \d+:? "
"""A refusal that names one."""


@contextlib.contextmanager
def limited(seconds: float = SECONDS, megabytes: int = MEGABYTES) -> Iterator[None]:
    """Inside, more time ends in `TookTooLong` and more memory in `MemoryError`."""

    def late(*_: object) -> None:
        raise TookTooLong(f"more than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, late)
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    # What no signal wakes, a lock of a library, ends the whole run, and says where it stood.
    faulthandler.dump_traceback_later(3 * seconds, exit=True, file=sys.__stderr__)
    resource.setrlimit(resource.RLIMIT_DATA, (_data_bytes() + (megabytes << 20), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _data_bytes() -> int:
    """What this process has taken so far, as the limit counts it. Linux only, as the limit is."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmData")) << 10


# ---- bytes of any file ----


def _flip(content: bytes, rng: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice((1, 3, 30))):
        if changed:
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _overwrite(content: bytes, rng: Random) -> bytes:
    start = rng.randrange(len(content) + 1)
    new = rng.choice((bytes(8), b"\xff" * 8, b"\xff\xff\xff\x7f", rng.randbytes(16)))
    return content[:start] + new + content[start + len(new) :]


def _remove(content: bytes, rng: Random) -> bytes:
    start, end = sorted(rng.randrange(len(content) + 1) for _ in range(2))
    return content[:start] + content[end:]


def _insert(content: bytes, rng: Random, new: bytes) -> bytes:
    start = rng.randrange(len(content) + 1)
    return content[:start] + new + content[start:]


BYTES: dict[str, Mutation] = {
    "random bytes": lambda content, rng: rng.randbytes(rng.choice((1, 7, 100, 5000))),
    "cut": lambda content, rng: content[: rng.randrange(len(content) + 1)],
    "without its head": lambda content, rng: content[rng.randrange(len(content) + 1) :],
    "flipped bits": _flip,
    "overwritten": _overwrite,
    "part removed": _remove,
    "repeated": lambda content, rng: content * rng.choice((2, 3)),
    "NUL": lambda content, rng: _insert(content, rng, bytes(rng.choice((1, 4, 1000)))),
    "all NUL": lambda content, rng: bytes(len(content)),
    "empty": lambda content, rng: b"",
}
"""For any file."""


# ---- lines of text ----


def _on_a_line(change: Callable[[bytes, Random], bytes]) -> Mutation:
    """Changes one line, its end aside."""

    def mutate(content: bytes, rng: Random) -> bytes:
        lines = content.split(b"\n")
        index = rng.randrange(max(1, len(lines) - 1))
        lines[index] = change(lines[index], rng)
        return b"\n".join(lines)

    return mutate


def _on_lines(change: Callable[[list[bytes], Random], None]) -> Mutation:
    """Changes the list of lines, where there are two at least."""

    def mutate(content: bytes, rng: Random) -> bytes:
        lines = content.split(b"\n")
        if len(lines) > 1:
            change(lines, rng)
        return b"\n".join(lines)

    return mutate


def _other_encoding(encoding: str) -> Mutation:
    """With letters that encodings write differently."""

    def mutate(content: bytes, rng: Random) -> bytes:
        text = content.decode(errors="replace")
        start = rng.randrange(len(text) + 1)
        return f"{text[:start]}caf\u00e9 na\u00efve{text[start:]}".encode(encoding, errors="replace")

    return mutate


_ODD_NUMBERS = (
    b"NaN",
    b"nan",
    b"Infinity",
    b"inf",
    b"-inf",
    b"1e999",
    b"-1",
    b"9" * 5000,
    b"0x10",
    b"1_0",
    b"\xd9\xa3",
)


def _odd_number(line: bytes, rng: Random) -> bytes:
    """Something else where a number stands, or else a word."""
    parts = _split_keeping(line, rng)
    numbers = [i for i, part in enumerate(parts) if part.strip().replace(b".", b"").isdigit()]
    indices = numbers or [i for i, part in enumerate(parts) if part.strip()]
    if indices:
        parts[rng.choice(indices)] = rng.choice(_ODD_NUMBERS)
    return b"".join(parts)


def _fields_swapped(line: bytes, rng: Random) -> bytes:
    parts = _split_keeping(line, rng)
    indices = [i for i, part in enumerate(parts) if part.strip()]
    if len(indices) > 1:
        first, other = rng.sample(indices, 2)
        parts[first], parts[other] = parts[other], parts[first]
    return b"".join(parts)


def _field_removed(line: bytes, rng: Random) -> bytes:
    parts = _split_keeping(line, rng)
    del parts[rng.randrange(len(parts))]
    return b"".join(parts)


def _split_keeping(line: bytes, rng: Random) -> list[bytes]:
    """Fields, and what separates them between them."""
    separators = [separator for separator in (b"\t", b",", b" ", b'"') if separator in line] or [b" "]
    return re.split(b"(%b)" % rng.choice(separators), line)


def _contradicted(lines: list[bytes], rng: Random) -> None:
    """One line once more, with another line's last field."""
    first, other = rng.choice(lines), rng.choice(lines)
    lines.insert(rng.randrange(len(lines)), first.rpartition(b"\t")[0] + b"\t" + other.rpartition(b"\t")[2])


def _moved(lines: list[bytes], rng: Random) -> None:
    lines.insert(rng.randrange(len(lines)), lines.pop(rng.randrange(len(lines))))


_LINE_ENDS = ("\r", "\u2028", "\x85", "\x0b", "\x0c", "\x1c", "\x1e", "\u2029")
"""What Python takes for the end of a line in some places and not in others."""

_ODD_ESCAPES = (b"\\ud800", b"\\udfff", b"\\u0000")
"""Of JSON: halves of a character, and NUL."""

TEXT: dict[str, Mutation] = {
    "latin-1": _other_encoding("latin-1"),
    "UTF-16": _other_encoding("utf-16"),
    "UTF-16 without mark": _other_encoding("utf-16-le"),
    "UTF-8 with mark": _other_encoding("utf-8-sig"),
    "not UTF-8": lambda content, rng: _insert(content, rng, rng.choice((b"\xff", b"\xc3\x28", b"\xed\xa0\x80"))),
    "odd line end": lambda content, rng: _insert(content, rng, rng.choice(_LINE_ENDS).encode()),
    "line end": lambda content, rng: _insert(content, rng, b"\n"),
    "Windows": lambda content, rng: content.replace(b"\n", b"\r\n"),
    "old Mac": lambda content, rng: content.replace(b"\n", b"\r"),
    "one line": lambda content, rng: content.replace(b"\n", b" "),
    "white space": lambda content, rng: rng.choice((b" ", b"\n", b"\t\n", b"\xef\xbb\xbf", b"\n" * 1000)),
    "control": lambda content, rng: _insert(content, rng, bytes([rng.choice((*range(1, 9), 27, 127))])),
    "odd number": _on_a_line(_odd_number),
    "fields swapped": _on_a_line(_fields_swapped),
    "field removed": _on_a_line(_field_removed),
    "separator": _on_a_line(lambda line, rng: _insert(line, rng, rng.choice((b"\t", b",", b";", b'"', b"'", b"\\")))),
    "long line": _on_a_line(lambda line, rng: _insert(line, rng, rng.choice((b"x", b"long ", b"9")) * 100_000)),
    "blank line": _on_a_line(lambda line, rng: rng.choice((b"", b" ", b"\t\t"))),
    "line of random bytes": _on_a_line(lambda line, rng: rng.randbytes(30)),
    "odd escape": _on_a_line(lambda line, rng: _insert(line, rng, rng.choice(_ODD_ESCAPES))),
    "deep": _on_a_line(lambda line, rng: rng.choice((b"[", b'{"a":')) * DEEP),
    "line twice": _on_lines(lambda lines, rng: lines.insert(0, rng.choice(lines))),
    "line removed": _on_lines(lambda lines, rng: lines.__delitem__(rng.randrange(len(lines)))),
    "line moved": _on_lines(_moved),
    "contradicted": _on_lines(_contradicted),
    "first line only": _on_lines(lambda lines, rng: lines.__delitem__(slice(1, None))),
}
"""For files with lines of text."""


# ---- JSON ----

ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    1.5,
    10**400,
    float("nan"),
    float("inf"),
    "",
    " ",
    "nan",
    "1",
    "\x00",
    "\ud800",
    "one\ntwo",
    "\u202e\x1b[31m",
    "../../elsewhere",
    "<script>alert(1)</script>",
    "x" * 100_000,
    [],
    {},
    [None],
    [[[[[[]]]]]],
    {"": {"": {}}},
)
"""What may stand where something else belongs."""


def mutate_json(value: Any, rng: Random) -> Any:
    """A copy of a JSON value in which one thing is another one, gone, there twice, or has another name."""
    changed = copy.deepcopy({"": value})
    holders: list[tuple[Any, Any]] = [(changed, "")]
    for holder, key in holders:  # grows as it goes
        inner = holder[key]
        if isinstance(inner, dict | list):
            holders += [(inner, key) for key in (inner if isinstance(inner, dict) else range(len(inner)))]
    holder, key = rng.choice(holders[1:] or holders)
    what = rng.choice(("odd", "odd", "odd", "gone", "twice", "swapped", "renamed"))
    if what == "gone" and holder is not changed:
        del holder[key]
    elif what == "twice" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))
    elif what == "swapped":
        other, name = rng.choice(holders)
        holder[key] = copy.deepcopy(other[name])
    elif what == "renamed" and isinstance(holder, dict) and holder is not changed:
        holder[rng.choice(("", "x", "\ud800", f" {key}"))] = holder.pop(key)
    else:
        holder[key] = copy.deepcopy(rng.choice(ODD_VALUES))
    return changed[""]


def _json_file(content: bytes, rng: Random) -> bytes:
    return json.dumps(mutate_json(json.loads(content), rng)).encode()


def _json_line(line: bytes, rng: Random) -> bytes:
    return _json_file(line, rng) if line else line


JSON: dict[str, Mutation] = {**{f"JSON value {i}": _json_file for i in range(6)}}
"""For a file that is one JSON value; several times, for there are many values to change."""
JSON_LINES: dict[str, Mutation] = {**{f"JSON line {i}": _on_a_line(_json_line) for i in range(6)}}
"""For a file of JSON lines."""
_OF_JSON = {".json": JSON, ".jsonl": JSON_LINES, ".journal": JSON_LINES}
_BINARY = {".arrow", ".npy", ".npz", ".parquet", ".pkl", ".safetensors"}


def ways_of(suffix: str) -> Mapping[str, Mutation]:
    """How a file of that form may be broken; of a packed one also what is in it."""
    if suffix.endswith(".gz"):
        inner = ways_of(suffix.removesuffix(".gz"))
        return {f"within: {name}": _within(mutate) for name, mutate in inner.items()} | BYTES
    return BYTES if suffix in _BINARY else _OF_JSON.get(suffix, {}) | TEXT | BYTES


def _within(mutate: Mutation) -> Mutation:
    return lambda content, rng: gzip.compress(mutate(gzip.decompress(content), rng), 1)


# ---- what stands where a file should ----


def _link(file: Path, target: Path) -> None:
    file.unlink()
    file.symlink_to(target)


def _linked_away(file: Path) -> None:
    """The same file, but outside its folder."""
    outside = file.parent.parent / f"outside-{file.name}"
    shutil.copy(file, outside)
    _link(file, outside)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


PLACES: dict[str, Place] = {
    "linked away": _linked_away,
    "link to itself": lambda file: _link(file, file),
    "link to its folder": lambda file: _link(file, file.parent),
    "link to nothing": lambda file: _link(file, file.parent / "nothing"),
    "link to a device": lambda file: _link(file, Path("/dev/zero")),
    "folder": _folder,
    "pipe": _pipe,
    "gone": Path.unlink,
}
"""What may stand where a file is expected. All but the first must be refused."""


def in_place(file: Path, read: Callable[[], object], named: Sequence[Path | str] = ()) -> list[str]:
    """Which of `PLACES`, where the file stands, a reader does not refuse; the file is whole again at the end. A refusal
    names the file or its folder, or what is `named` instead."""
    taken, whole = [], file.read_bytes()
    for name, put in PLACES.items():
        put(file)
        try:
            outcome = read_or_refuse(read, named or [file, file.parent])
            taken += [name] if not isinstance(outcome, UserError | None) else []
        finally:
            if file.is_dir() and not file.is_symlink():
                file.rmdir()
            else:
                file.unlink(missing_ok=True)
            file.write_bytes(whole)
    return taken
