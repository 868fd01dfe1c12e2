"""What is kept of a task's test items beside its scores: their digest, and arrays in as few bytes as lose nothing."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from trainables.senteval.scorers import SCORERS

if TYPE_CHECKING:
    from trainables.senteval.examples import Split, TaskData
    from trainables.senteval.tasks import Task

DIGITS = 16
_SIGNED = (np.int8, np.int16, np.int32)  # never unsigned: a difference of two arrays must not wrap around


def test_splits(task: Task, data: TaskData) -> list[Split]:
    """The splits of which predictions are kept: the test part, or all where the kind of task has no such part."""
    return [data.splits["test"]] if "test" in SCORERS[task.kind].splits else list(data.splits.values())


def digest(splits: Sequence[Split]) -> str:
    """Sixteen hexadecimal digits of the items of the splits.

    They depend on the texts and labels, in order, sub-corpus after sub-corpus.
    Two trials with the same digits were scored on the same items, so that their predictions can be paired one by one.
    """
    found = hashlib.sha256()
    for split in splits:
        right: list[str] | list[None] = split.right if split.right is not None else [None] * len(split)
        for item in zip(split.left, right, split.labels.tolist(), strict=True):
            found.update(json.dumps(item).encode() + b"\n")
        found.update(b"end of a part\n")
    return found.hexdigest()[:DIGITS]


def groups(splits: Sequence[Split]) -> np.ndarray | None:
    """(items,) Which items are drawn together: a number for each. None where the items are single sentences.

    A pair belongs to that of its two sentences that stands in more of the pairs, as a premise does in all of its
    hypotheses' pairs. Which sentences stem from one document, the data does not say.
    """
    pairs = [pair for split in splits if split.right is not None for pair in zip(split.left, split.right, strict=True)]
    if not pairs:
        return None
    found = Counter(sentence for pair in pairs for sentence in set(pair))
    shared = [max(pair, key=lambda sentence: found[sentence]) for pair in pairs]
    numbers = {sentence: number for number, sentence in enumerate(dict.fromkeys(shared))}
    return np.array([numbers[sentence] for sentence in shared])


def compact(array: np.ndarray) -> np.ndarray:
    """The same numbers in the smallest signed integers that hold them, or as float32 where none of them changes."""
    if array.dtype.kind in "iu" and array.size:
        low, high = int(array.min()), int(array.max())
        fits = (kind for kind in _SIGNED if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
        return array.astype(next(fits, array.dtype))
    if array.dtype == np.float64:
        single = array.astype(np.float32)
        return single if np.array_equal(single.astype(np.float64), array) else array
    return array
