"""A share of a person's training rows, put aside to judge models by: no text of it stands in what is left to train on.

Rows that share a text, but for case, white space and punctuation, belong together. Where nearly all of them hang together, as NLI's
do by their common hypotheses, anchors are put aside that share few texts with others, and those other rows are left out.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from array import array
from collections.abc import Sequence
from typing import Literal

import numpy as np

from trainables.errors import UserError

Part = Literal["train", "dev", "test", "left out"]
PARTS: tuple[Part, ...] = ("train", "dev", "test", "left out")
"""In the order of their codes."""
TRAIN, DEV, TEST, LEFT_OUT = range(4)
SHARE, MOST = 0.1, 1000
"""Of the rows that are put aside for each part: their share, and how many at most, as they are scored again and again."""
FEWEST = 40
"""Rows from which some can be put aside."""


def normalised(text: str) -> str:
    """The words of a text, in small letters; one without words is itself."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(words) or text.strip()


class Texts:
    """The texts of rows, as numbers: equal texts, as `normalised` has them, have equal ones."""

    def __init__(self) -> None:
        self._texts = array("Q")
        self._ends = array("q", [0])

    def add(self, texts: Sequence[str]) -> None:
        """The texts of the next row, its anchor first."""
        for text in texts:
            digest = hashlib.blake2b(normalised(text).encode(), digest_size=8).digest()
            self._texts.append(int.from_bytes(digest, "little"))
        self._ends.append(len(self._texts))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def split(self, parts: Sequence[int], where: str) -> np.ndarray:
        """(rows,) int8: the part of each row, among `TRAIN`, `LEFT_OUT` and those asked for: `DEV`, `TEST`. The rows
        alone decide it. `UserError` where there are too few."""
        rows = len(self)
        if rows < FEWEST:
            raise UserError(
                f"{where} holds {rows} rows, too few to put some aside to judge models by; give --dev and --test"
            )
        return _split(_Rows.of(self._texts, self._ends), parts, min(MOST, round(SHARE * rows)), where)


class _Rows:
    """Rows and their texts as a table of places."""

    def __init__(self, row: np.ndarray, text: np.ndarray, anchor: np.ndarray, order: np.ndarray) -> None:
        self.row, self.text = row, text
        """(places,) int64 each: a row, and a text of it; a row names a text once."""
        self.anchor = anchor
        """(rows,) int64: the anchor's text."""
        self.order = order
        """(texts,) uint64: as good as random, and the same wherever the text stands."""

    @classmethod
    def of(cls, texts: array[int], ends: array[int]) -> _Rows:
        digests, stops = np.frombuffer(texts, np.uint64), np.frombuffer(ends, np.int64)
        known, text = np.unique(digests, return_inverse=True)
        row = np.repeat(np.arange(len(stops) - 1), np.diff(stops))
        places = np.unique(row * len(known) + text)
        return cls(places // len(known), places % len(known), text[stops[:-1]], known * np.uint64(0x9E3779B97F4A7C15))

    def together(self) -> np.ndarray:
        """(rows,) int64: the number of the rows that hang together with it by their texts."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        rows, texts = len(self.anchor), len(self.order)
        edges = coo_array((np.ones(len(self.row), np.int8), (self.row, rows + self.text)), shape=(rows + texts,) * 2)
        _, found = connected_components(edges, directed=False)
        return np.unique(found[:rows], return_inverse=True)[1]


def _split(rows: _Rows, parts: Sequence[int], wanted: int, where: str) -> np.ndarray:
    found = np.full(len(rows.anchor), TRAIN, np.int8)
    whole = rows.together()
    size = np.bincount(whole)
    first = np.full(len(size), np.iinfo(np.uint64).max, np.uint64)
    np.minimum.at(first, whole, rows.order[rows.anchor])
    small = np.argsort(first, kind="stable")
    small = small[size[small] <= max(1, wanted // 10)]
    before = np.cumsum(size[small]) - size[small]
    for number, part in enumerate(parts):
        chosen = small[(before >= number * wanted) & (before < (number + 1) * wanted)]
        found[np.isin(whole, chosen)] = part
    if size[small].sum() < len(parts) * wanted:
        _cut(rows, found, parts, wanted)
    held = [int((found == part).sum()) for part in parts]
    if min(held) < min(wanted, FEWEST) // 2:
        raise UserError(
            f"{where}: its rows hang together by their texts, so too few can be put aside to judge models by without "
            "standing in what is left; give --dev and --test"
        )
    return found


def _cut(rows: _Rows, found: np.ndarray, parts: Sequence[int], wanted: int) -> None:
    """Put anchors with all their rows aside until each part has enough, those first that share few texts with other
    rows; these are then left out."""
    share = np.bincount(rows.text)[rows.text] - 1
    cost = np.bincount(rows.row, weights=share, minlength=len(found))
    groups, group = np.unique(rows.anchor, return_inverse=True)
    costs = np.bincount(group, weights=cost)
    owner = np.full(len(rows.order), TRAIN, np.int8)
    owner[rows.text] = found[rows.row]
    by_group = np.argsort(group, kind="stable")
    stops = np.cumsum(np.bincount(group))
    of_row = np.searchsorted(rows.row, np.arange(len(found) + 1))
    held = {part: int((found == part).sum()) for part in parts}
    for one in np.lexsort((rows.order[groups], costs)):
        if min(held.values()) >= wanted:
            break
        members = by_group[stops[one - 1] if one else 0 : stops[one]]
        texts = np.concatenate([rows.text[of_row[row] : of_row[row + 1]] for row in members])
        owners = {*owner[texts].tolist()} - {TRAIN}
        part = owners.pop() if owners else min(parts, key=lambda each: held[each])
        if not owners and held[part] + len(members) <= wanted:
            owner[texts], found[members] = part, part
            held[part] += len(members)
    touched = np.zeros(len(found), bool)
    touched[rows.row[owner[rows.text] != TRAIN]] = True
    found[touched & (found == TRAIN)] = LEFT_OUT
