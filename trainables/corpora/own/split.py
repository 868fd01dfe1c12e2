"""Which rows of a person's training data are put aside to judge models by.

    hashes.add(["a question", "its answer", "a wrong one"], negatives=1)        # of each row
    hashes.split((DEV, TEST), "pairs.csv", may_share=True).code                 # what becomes of each row

No text is both put aside and trained on: rows that share a text, but for case, white space and punctuation, stay
together. Where nearly all are connected, as in NLI, anchors that share few texts are put aside, and rows that share
them are left out. Of labelled texts each part gets some of every label with enough texts.

Negatives connect no rows, for they are often mined among the positives of others: a row loses those that stand in
another part. Where answers have so many questions, or share so many, that a split without common ones would be of the
rarest answers alone or leave out much, only anchors are kept apart, and positives stand on both sides.
"""

from __future__ import annotations

import functools
import hashlib
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trainables.corpora.leaks import plain
from trainables.errors import UserError

TRAIN, DEV, TEST, LEFT_OUT = range(4)
"""What becomes of a row."""
ANCHOR, POSITIVE, NEGATIVE = range(3)
"""What a text is in its row. Whatever is no negative and not the first text counts as a positive."""
SHARE, MOST = 0.1, 1000
"""Of the rows that are put aside for each part: their share, and how many at most, for they are scored often."""
FEWEST = 40
"""Rows from which some can be put aside."""
OF_LABEL = 2
"""Texts of a label at least in each part, and in what is left to train on."""
PIECES = 10
"""Of a part, at least: no rows that hang together are more than such a share of it."""
SPARED, LEAST, LOST = 0.2, 0.2, 0.5
"""Of all rows, how many may be left out to keep positives apart; of those that are not put aside, how many are trained
on at least; of the negatives to train on, how many may go to the parts that judge."""


@dataclass(frozen=True)
class RowParts:
    """What becomes of the rows of a file."""

    code: np.ndarray  # (rows,) int8: TRAIN, DEV, TEST or LEFT_OUT
    fewer: Mapping[int, list[bool]] = field(default_factory=dict)
    """By number of a row that loses some of its texts: whether each stays."""
    anchors_only: bool = False
    """Whether only anchors are kept apart."""
    shared: int = 0
    """Positives that are put aside and trained on: none where they are kept apart."""
    unsearched: int = 0
    """Negatives of rows put aside that are trained on, so that nobody searches among them."""

    def count(self, part: int) -> int:
        """The rows of a part."""
        return int((self.code == part).sum())

    def aside(self, parts: Sequence[int]) -> int:
        """The rows of the smallest of these parts."""
        return min(map(self.count, parts))


class HashedTexts:
    """The texts of rows, as numbers: equal texts, as `plain` has them, have equal ones."""

    def __init__(self) -> None:
        self._texts, self._sides = array("Q"), array("b")
        self._ends = array("q", [0])
        self._labels, self._label = dict[str, int](), array("q")

    def add(self, texts: Sequence[str], label: str | None = None, negatives: int = 0) -> None:
        """The texts of the next row, its anchor first and so many negatives last; or its one text and the label of
        that."""
        if label is not None:
            self._label.append(self._labels.setdefault(label, len(self._labels)))
        for text in texts:
            digest = hashlib.blake2b(plain(text).encode(), digest_size=8).digest()
            self._texts.append(int.from_bytes(digest, "little"))
        self._sides.extend([ANCHOR, *[POSITIVE] * (len(texts) - 1 - negatives), *[NEGATIVE] * negatives])
        self._ends.append(len(self._texts))

    def split(self, parts: Sequence[int], where: str, may_share: bool = False) -> RowParts:
        """The part of each row, among `TRAIN`, `LEFT_OUT` and those asked for: `DEV`, `TEST`. The rows alone decide it.
        `may_share`: whether positives may stand on both sides. `UserError` where there are too few rows."""
        rows = len(self._ends) - 1
        if rows < FEWEST:
            raise UserError(
                f"{where} holds {rows} rows, too few to put some aside to judge models by, which takes {FEWEST}; give "
                "more rows, or --dev and --test"
            )
        places = _Places.of(self._texts, self._sides, self._ends)
        if self._label:
            return RowParts(_split_labelled(places.rows(POSITIVE), np.array(self._label), parts, where))
        target = min(MOST, round(SHARE * rows))
        made = places.parted(_split(places.rows(POSITIVE), parts, target), POSITIVE)
        if may_share and (made.count(LEFT_OUT) > SPARED * rows or places.popular(target // PIECES)):
            by_anchor = places.parted(_split(places.rows(ANCHOR), parts, target), ANCHOR)
            if 2 * by_anchor.aside(parts) >= made.aside(parts):
                made = by_anchor
        trained_on, left_out = made.count(TRAIN), made.count(LEFT_OUT)
        if made.aside(parts) < min(target, FEWEST) // 2 or trained_on < LEAST * (trained_on + left_out):
            raise UserError(
                f"{where}: its rows hang together by their texts, so that without a common one {made.aside(parts):,} "
                f"could be put aside to judge models by, and {trained_on:,} trained on; give --dev and --test"
            )
        return made


@dataclass(frozen=True)
class _Places:
    """The texts of all rows, one after another."""

    row: np.ndarray  # (places,) int64
    text: np.ndarray  # (places,) int64, the number of the text
    side: np.ndarray  # (places,) int8: ANCHOR, POSITIVE or NEGATIVE
    starts: np.ndarray  # (rows + 1,) int64, of each row's places
    order: np.ndarray  # (texts,) uint64, a hash of the text, to order by

    @classmethod
    def of(cls, texts: array[int], sides: array[int], ends: array[int]) -> _Places:
        digests, text = np.unique(np.frombuffer(texts, np.uint64), return_inverse=True)
        starts = np.frombuffer(ends, np.int64)
        row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return cls(row, text, np.frombuffer(sides, np.int8), starts, digests * np.uint64(0x9E3779B97F4A7C15))

    def rows(self, apart: int) -> _Rows:
        """The rows with the texts that are kept apart, of the sides up to `apart`."""
        return _Rows(*self._distinct(self.side <= apart), self.text[self.starts[:-1]], self.order)

    def popular(self, many: int) -> bool:
        """Whether most rows have a positive that more than so many rows have."""
        row, text = self._distinct(self.side == POSITIVE)
        common = np.bincount(text) > max(1, many)
        return 2 * len(np.unique(row[common[text]])) > len(self.starts) - 1

    def _distinct(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows and texts of some places, each pair once."""
        row, text = np.divmod(np.unique(self.row[places] * len(self.order) + self.text[places]), len(self.order))
        return row, text

    def parted(self, code: np.ndarray, apart: int) -> RowParts:
        """Each row without what of its texts another part has. Texts of the sides up to `apart` belong to the part of
        their rows, and other positives to all. What is a negative everywhere belongs to what judges, if that leaves
        enough to train on, first to the test. A row without positives is left out."""
        made = self._parted(code, apart, (TRAIN, DEV, TEST))
        part, negative = made.code[self.row], self.side == NEGATIVE
        lost = sum(len(stays) - sum(stays) for row, stays in made.fewer.items() if made.code[row] == TRAIN)
        if lost <= LOST * (negative & (part == TRAIN)).sum():
            return made
        return self._parted(code, apart, (DEV, TEST, TRAIN))

    def _parted(self, code: np.ndarray, apart: int, order: Sequence[int]) -> RowParts:
        """`order`: of the parts, the last of which has what is a negative everywhere."""
        nobody, code, part = LEFT_OUT, code.copy(), code[self.row]
        tied, positive = self.side <= apart, self.side == POSITIVE
        wrong = ~np.isin(self.text, self.text[(part != LEFT_OUT) & (self.side <= POSITIVE)])
        owner = np.full(len(self.order), nobody, np.int8)
        for places in (wrong, tied):
            for each in order:
                owner[self.text[places & (part == each)]] = each
        of_text = owner[self.text]
        stays = tied | (of_text == nobody) | (of_text == part)
        before, now = (np.bincount(self.row[places], minlength=len(code)) for places in (positive, positive & stays))
        code[(before > 0) & (now == 0)] = LEFT_OUT
        part = code[self.row]
        aside = np.isin(part, (DEV, TEST))
        trained_on = self.text[stays & (part == TRAIN)]
        fewer = np.unique(self.row[~stays & (part != LEFT_OUT)]).tolist()
        return RowParts(
            code,
            {number: stays[self.starts[number] : self.starts[number + 1]].tolist() for number in fewer},
            anchors_only=apart == ANCHOR,
            shared=len(np.intersect1d(self.text[stays & positive & aside], trained_on)),
            unsearched=len(np.intersect1d(self.text[~stays & aside & (self.side == NEGATIVE)], trained_on)),
        )


@dataclass(frozen=True)
class _Rows:
    """Rows and their texts as a table of places."""

    row: np.ndarray  # (places,) int64
    text: np.ndarray  # (places,) int64, of that row; a row names a text once
    anchor: np.ndarray  # (rows,) int64, the anchor's text
    order: np.ndarray  # (texts,) uint64, a hash of the text, to order by

    @functools.cached_property
    def piece(self) -> np.ndarray:
        """(rows,) int64: number of the connected component; rows that share a text are connected."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        rows, texts = len(self.anchor), len(self.order)
        edges = coo_array((np.ones(len(self.row), np.int8), (self.row, rows + self.text)), shape=(rows + texts,) * 2)
        _, component = connected_components(edges, directed=False)
        return np.unique(component[:rows], return_inverse=True)[1]

    def small(self, target: int) -> np.ndarray:
        """Numbers of the pieces of which `PIECES` or more make `target` rows, in the order of their first anchors."""
        size = np.bincount(self.piece)
        first = np.full(len(size), np.iinfo(np.uint64).max, np.uint64)
        np.minimum.at(first, self.piece, self.order[self.anchor])
        pieces = np.argsort(first, kind="stable")
        return pieces[size[pieces] <= max(1, target // PIECES)]


def _split(rows: _Rows, parts: Sequence[int], target: int) -> np.ndarray:
    code = np.full(len(rows.anchor), TRAIN, np.int8)
    small = rows.small(target)
    size = np.bincount(rows.piece)[small]
    before = np.cumsum(size) - size
    for number, part in enumerate(parts):
        chosen = small[(before >= number * target) & (before + size <= (number + 1) * target)]
        code[np.isin(rows.piece, chosen)] = part
    if size.sum() < len(parts) * target:
        _cut(rows, code, parts, target)
    return code


def _split_labelled(rows: _Rows, label: np.ndarray, parts: Sequence[int], where: str) -> np.ndarray:
    """Of each label with enough texts its share, `OF_LABEL` at least; a text that has several labels stays."""
    of_text = np.zeros(len(rows.order), np.int64)  # the label
    of_text[rows.anchor] = label
    plain_ones = np.ones(len(of_text), bool)
    plain_ones[rows.anchor[of_text[rows.anchor] != label]] = False
    texts = np.flatnonzero(plain_ones)
    texts = texts[np.lexsort((rows.order[texts], of_text[texts]))]
    counts = np.bincount(of_text[texts], minlength=label.max() + 1)
    enough = counts >= OF_LABEL * (len(parts) + 1)
    if enough.sum() < 2:
        raise UserError(
            f"{where}: to put some aside to judge models by takes two labels with {OF_LABEL * (len(parts) + 1)} "
            f"different texts, and {int(enough.sum())} of its {len(counts):,} labels have so many in {len(label):,} "
            "rows; give more rows, or --dev and --test"
        )
    enough[np.argsort(-np.where(enough, counts, 0), kind="stable")[MOST // OF_LABEL :]] = False
    more = np.where(enough, np.maximum(np.round(counts * SHARE) - OF_LABEL, 0), 0)
    room = MOST - OF_LABEL * enough.sum()
    each = np.where(enough, OF_LABEL + np.floor(more * min(1.0, room / max(1, more.sum()))), 0).astype(np.int64)
    place = np.arange(len(texts)) - (np.cumsum(counts) - counts)[of_text[texts]]  # among those of its label
    part = np.full(len(of_text), TRAIN, np.int8)
    for number, code in enumerate(parts):
        size = each[of_text[texts]]
        part[texts[(place >= number * size) & (place < (number + 1) * size)]] = code
    return part[rows.anchor]


def _cut(rows: _Rows, code: np.ndarray, parts: Sequence[int], target: int) -> None:
    """Put anchors with all their rows aside until each part has enough, those first that share few texts with other
    rows; these are then left out."""
    share = np.bincount(rows.text)[rows.text] - 1
    cost = np.bincount(rows.row, weights=share, minlength=len(code))
    groups, group = np.unique(rows.anchor, return_inverse=True)
    costs = np.bincount(group, weights=cost)
    owner = np.full(len(rows.order), TRAIN, np.int8)
    owner[rows.text] = code[rows.row]
    by_group = np.argsort(group, kind="stable")
    stops = np.cumsum(np.bincount(group))
    of_row = np.searchsorted(rows.row, np.arange(len(code) + 1))
    sizes = {part: int((code == part).sum()) for part in parts}
    for number in np.lexsort((rows.order[groups], costs)):
        if min(sizes.values()) >= target:
            break
        members = by_group[stops[number - 1] if number else 0 : stops[number]]
        texts = np.concatenate([rows.text[of_row[row] : of_row[row + 1]] for row in members])
        owners = {*owner[texts].tolist()} - {TRAIN}
        part = owners.pop() if owners else min(parts, key=lambda each: sizes[each])
        if not owners and sizes[part] + len(members) <= target:
            owner[texts], code[members] = part, part
            sizes[part] += len(members)
    touched = np.zeros(len(code), bool)
    touched[rows.row[owner[rows.text] != TRAIN]] = True
    code[touched & (code == TRAIN)] = LEFT_OUT
