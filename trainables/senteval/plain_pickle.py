"""Read pickles of plain containers, texts, numbers and NumPy arrays, without running anything that they name.

A pickle is a program: it may call any function, claim any size, and hang by comparing its objects. So none of the
objects that it names is the real one. Arrays are made here from their bytes, types and shapes, which must agree; only
operations that plain data needs are carried out; keys are numbers or texts.
"""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

_DTYPE = re.compile(r"[fiub][1248]")


class _Dtype:
    """Replaces `numpy.dtype`: a pickle gives it kind and size, then the byte order."""

    def __init__(self, code: str, *_: object) -> None:
        if not isinstance(code, str) or not _DTYPE.fullmatch(code):
            raise pickle.UnpicklingError(f"an array of {code!r:.40} is none of numbers")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: Any) -> None:
        order: Any = {"<": "<", ">": ">", "|": "|"}[state[1]]
        self.dtype = self.dtype.newbyteorder(order)


class Array:
    """Replaces `numpy.ndarray`; `array` is the real one."""

    def __init__(self, *_: object) -> None:
        self.array = np.empty(0)

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, content = state
        self.array = _array_of_bytes(content, kind, shape, "F" if fortran else "C")


def _array_of_bytes(content: Any, kind: Any, shape: Any, order: Any) -> np.ndarray:
    raw = _encode(content, "latin1") if isinstance(content, str) else bytes(content)
    if not isinstance(kind, _Dtype) or math.prod(shape) * kind.dtype.itemsize != len(raw) or min(shape, default=0) < 0:
        raise pickle.UnpicklingError("the size of an array is not that of its numbers")
    return np.frombuffer(raw, dtype=kind.dtype).reshape(shape, order="F" if order == "F" else "C")


def _from_buffer(content: Any, kind: Any, shape: Any, order: Any) -> Array:
    array = Array()
    array.array = _array_of_bytes(content, kind, shape, order)
    return array


def _scalar(kind: Any, content: Any) -> Any:
    return _array_of_bytes(content, kind, (), "C").item()


def _encode(text: str, encoding: str) -> bytes:
    """Return the bytes that old pickles write as text."""
    if encoding not in ("latin1", "latin-1"):
        raise pickle.UnpicklingError(f"bytes in {encoding!r:.40}")
    return text.encode("latin-1")


def _ordered(items: Iterable[Any] = ()) -> dict[Any, Any]:
    pairs = [(key, value) for key, value in items]
    _check_keys(key for key, _ in pairs)
    return dict(pairs)


_MULTIARRAY: dict[str, object] = {"_reconstruct": Array, "scalar": _scalar}
_ADMITTED: dict[str, dict[str, object]] = {
    "collections": {"OrderedDict": _ordered},
    "_codecs": {"encode": _encode},
    "numpy": {"ndarray": Array, "dtype": _Dtype},
    "numpy.core.multiarray": _MULTIARRAY,
    "numpy._core.multiarray": _MULTIARRAY,
    "numpy.core.numeric": {"_frombuffer": _from_buffer},
    "numpy._core.numeric": {"_frombuffer": _from_buffer},
}
"""The names that a pickle may use: those that arrays and plain containers need."""

_LEFT_OUT = (
    *(pickle.PERSID, pickle.BINPERSID, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.INST, pickle.OBJ),
    *(pickle.NEWOBJ, pickle.NEWOBJ_EX, pickle.BYTEARRAY8, pickle.NEXT_BUFFER, pickle.READONLY_BUFFER),
    *(pickle.EMPTY_SET, pickle.ADDITEMS, pickle.FROZENSET),
)
"""Operations that plain data does not need: objects of other kinds, and sets."""


def _check_keys(keys: Iterable[object]) -> None:
    if any(not isinstance(key, int | str | bytes) for key in keys):  # the hash of nested tuples may take for ever
        raise pickle.UnpicklingError("a key is neither a number nor a text")


_Unpickler: Any = pickle._Unpickler
"""The version in Python. The version in C allocates a table as large as the largest memo number in a pickle."""


class _Plain(_Unpickler):
    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        code: run for code, run in _Unpickler.dispatch.items() if bytes([code]) not in _LEFT_OUT
    }

    def find_class(self, module: str, name: str) -> Any:
        if name not in _ADMITTED.get(module, ()):
            raise pickle.UnpicklingError(f"{module}.{name} is neither an array nor a plain container")
        return _ADMITTED[module][name]

    def load_keyed(self, run: Callable[[Any], None]) -> None:
        """Check a dictionary's keys first: keys and values are on the stack in turn, from the last mark on."""
        _check_keys(self.stack[::2])
        run(self)

    def load_one(self) -> None:
        _check_keys(self.stack[-2:-1])
        self.load_setitem()

    dispatch[pickle.SETITEM[0]] = load_one
    dispatch[pickle.SETITEMS[0]] = lambda self: self.load_keyed(_Unpickler.load_setitems)
    dispatch[pickle.DICT[0]] = lambda self: self.load_keyed(_Unpickler.load_dict)


def read_plain(path: Path) -> Any:
    """Return the content of a pickle; an array is the `array` of an `Array`. Bytes of Python 2 become texts.

    Raises `OSError`, or any other error of a broken pickle, which is a program.
    """
    with path.open("rb") as file:
        return _Plain(file, encoding="latin1").load()


def unwrap_array(value: Any) -> Any:
    """Return the array of an `Array`, or any other value unchanged."""
    return value.array if isinstance(value, Array) else value
