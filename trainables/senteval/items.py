"""The answers to a task's items, stored beside the scores without loss in few bytes, and a digest of the items."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from trainables.senteval.examples import Split

DIGITS = 16
MAX_PREDICTION = 1e30
"""Limit of predictions: real ones are smaller, and sums of squares of larger numbers may overflow."""
_SIGNED = (np.int8, np.int16, np.int32)  # never unsigned: a difference of two arrays must not wrap around
SEEN = "seen"
"""Name of an array stored beside the answers to a test: for each item a sum of `IN_TRAINING` and `IN_DEVELOPMENT`."""
IN_TRAINING, IN_DEVELOPMENT = 1, 2
"""`IN_TRAINING`: training saw a text of the item. `IN_DEVELOPMENT`: a development part holds the whole item, so the
item helped to choose recipes; older studies did not look for this."""
_OWN = ("gold", "parts", "items", "groups")
"""Names in a predictions file of the arrays that every kind of task may have."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The predictions for the items of one split of a task, and the gold labels."""

    predicted: np.ndarray  # (items,)
    gold: np.ndarray  # (items,)
    parts: np.ndarray | None = None  # (sub-corpora,) their sizes, in order; None: there is one
    further_arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    """(items,) each: further arrays that a kind of task stores, by a lower-case name."""
    split: str = "test"
    """The split of the items, `test` or `dev`."""
    items_digest: str = ""
    """Digest of the items' texts; empty in files of older studies."""
    groups: np.ndarray | None = None
    """(items,) The group number of each item; items of a group are sampled together. None: unknown, or each item is
    sampled by itself."""

    @property
    def sizes(self) -> np.ndarray:
        """Sizes of the sub-corpora, in order, (sub-corpora,)."""
        return np.array([len(self.gold)]) if self.parts is None else self.parts

    @property
    def gold_digest(self) -> str:
        """A digest of gold labels and sizes. It identifies the items of older files, which have no `items_digest`."""
        return hashlib.sha256(self.gold.tobytes() + self.sizes.astype(np.int64).tobytes()).hexdigest()[:16]

    def select(self, chosen: np.ndarray) -> Answers:
        """Return the answers to some items; `chosen` is true for these, (items,)."""
        cuts = np.cumsum(self.sizes)[:-1]
        return replace(
            self,
            predicted=self.predicted[chosen],
            gold=self.gold[chosen],
            parts=None if self.parts is None else np.array([part.sum() for part in np.split(chosen, cuts)]),
            further_arrays={name: array[chosen] for name, array in self.further_arrays.items()},
            items_digest=f"{self.items_digest}{hashlib.sha256(np.packbits(chosen).tobytes()).hexdigest()[:DIGITS]}",
            groups=None if self.groups is None else self.groups[chosen],
        )

    def in_parts(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return predictions and gold labels of each sub-corpus."""
        cuts = np.cumsum(self.sizes)[:-1]
        return list(zip(np.split(self.predicted, cuts), np.split(self.gold, cuts), strict=True))

    def name_of(self, task: str) -> str:
        """Return the task's name in a predictions file: `TASK`, or `dev.TASK`."""
        return task if self.split == "test" else f"{self.split}.{task}"

    def arrays(self, task: str) -> dict[str, np.ndarray]:
        """Return the arrays of a predictions file: predictions by `TASK`, gold labels by `gold.TASK`, sizes of
        sub-corpora by `parts.TASK`, groups by `groups.TASK`, the digest, (), by `items.TASK`, and further arrays by
        `NAME.TASK`. For a development split `TASK` is `dev.TASK`."""
        name = self.name_of(task)
        kept = {"gold": self.gold, "parts": self.parts, "groups": self.groups, **self.further_arrays}
        arrays = {name: compact(self.predicted)}
        arrays |= {f"{kind}.{name}": compact(array) for kind, array in kept.items() if array is not None}
        return arrays | ({f"items.{name}": np.array(self.items_digest)} if self.items_digest else {})


def answers_in(arrays: Mapping[str, np.ndarray]) -> Iterator[tuple[str, Answers | None]]:
    """Yield the name of each task with gold labels in a predictions file, `dev.TASK` for a development split, and its
    answers; None if the arrays do not fit together."""
    for name in arrays:
        if f"gold.{name}" in arrays:
            yield name, _answers(arrays, name)


def _answers(arrays: Mapping[str, np.ndarray], name: str) -> Answers | None:
    more = {
        kind: arrays[key]
        for key in arrays
        if (kind := key.removesuffix(f".{name}")) != key and "." not in kind and kind not in (*_OWN, "dev")
    }
    named = arrays.get(f"items.{name}")
    answers = Answers(
        _reckoned(arrays[name]),
        _reckoned(arrays[f"gold.{name}"]),
        arrays.get(f"parts.{name}"),
        more,
        "dev" if name.startswith("dev.") else "test",
        "" if named is None else str(named),
        arrays.get(f"groups.{name}"),
    )
    of_items = [array for array in (answers.predicted, answers.groups, *more.values()) if array is not None]
    numeric = [*of_items, answers.gold, answers.sizes]
    if any(array.dtype.kind not in "iuf" or array.ndim != 1 for array in numeric):
        return None
    if not len(answers.gold) or any(len(array) != len(answers.gold) for array in of_items):
        return None
    if answers.sizes.dtype.kind == "f" or (answers.sizes < 1).any() or answers.sizes.sum() != len(answers.gold):
        return None
    return answers if all((np.abs(array.astype(float)) < MAX_PREDICTION).all() for array in numeric) else None


def _reckoned(array: np.ndarray) -> np.ndarray:
    """Return booleans as 1 and 0, with which numpy can compute; other arrays unchanged."""
    return array.astype(np.int8) if array.dtype.kind == "b" else array


def digest(splits: Sequence[Split]) -> str:
    """Return sixteen hexadecimal digits of the items of the splits.

    They depend on the texts and labels, in order, sub-corpus after sub-corpus; for queries on all documents, too. Two
    trials with equal digits were scored on the same items, so their predictions can be paired one by one.
    """
    hashed = hashlib.sha256()
    for split in splits:
        right: list[str] | list[None] = split.right if split.right is not None else [None] * len(split)
        for item in zip(split.left, right, split.labels.tolist(), strict=True):
            hashed.update(json.dumps(item).encode() + b"\n")
        if split.documents is not None:
            for content in (*split.documents.texts, *map(dict, split.documents.judged), split.documents.own.tolist()):
                hashed.update(json.dumps(content).encode() + b"\n")
        hashed.update(b"end of a part\n")
    return hashed.hexdigest()[:DIGITS]


def pair_groups(splits: Sequence[Split]) -> np.ndarray | None:
    """Return the group number of each pair, (items,); pairs of a group are sampled together. None for single sentences.

    The group of a pair is given by its sentence that occurs in more pairs.
    """
    pairs = [pair for split in splits if split.right is not None for pair in zip(split.left, split.right, strict=True)]
    if not pairs:
        return None
    counts = Counter(sentence for pair in pairs for sentence in set(pair))
    shared = [max(pair, key=lambda sentence: counts[sentence]) for pair in pairs]
    return _numbered(shared)


def anchor_groups(splits: Sequence[Split]) -> np.ndarray:
    """Return group numbers, (items,): items with the same text, anchor or query are sampled together."""
    return _numbered(text for split in splits for text in split.left)


def _numbered(texts: Iterable[str]) -> np.ndarray:  # (texts,)
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts])


def compact(array: np.ndarray) -> np.ndarray:
    """Return the same numbers in the smallest sufficient signed integers, or as float32 if none of them changes."""
    if array.dtype.kind in "iu" and array.size:
        low, high = int(array.min()), int(array.max())
        fits = (kind for kind in _SIGNED if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
        return array.astype(next(fits, array.dtype))
    if array.dtype == np.float64:
        single = array.astype(np.float32)
        return single if np.array_equal(single.astype(np.float64), array) else array
    return array
