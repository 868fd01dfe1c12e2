"""Choice of the rows of a user's training data that are held out to judge models.

    hashes.add(["a question", "its answer", "a wrong one"], negatives=1)        # for each row
    hashes.split((DEV, TEST), "pairs.csv", may_share=True).code                 # the part (split) of each row

No text is both held out and trained on: rows that share a text (without regard to case, white space and punctuation)
are in one part. If nearly all rows are connected, as in NLI, anchors that share few texts are held out, and other rows
with their texts are left out. With labelled texts, each part gets texts of every label that has enough. Held-out rows
with a near duplicate of a text of another part are trained on instead, unless this would leave few.

Negatives do not connect rows, as they are often mined from the positives of other rows: a row loses the negatives that
belong to another part. If positives are shared so often that a split without common positives would hold out only rare
answers, or leave out many rows, then only anchors are kept apart, and a positive may be in several parts.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from trainables.corpora.leaks import normalise
from trainables.corpora.own.near_copies import keeps_enough, train_on_near_copies
from trainables.errors import UserError

TRAIN, DEV, TEST, LEFT_OUT = range(4)
"""The parts that a row can belong to: rows to train on, dev split, test split, and rows that are not used."""
ANCHOR, POSITIVE, NEGATIVE = range(3)
"""The side of a text in its row. A text that is neither the first text nor a negative counts as a positive."""
HELD_OUT_SHARE, MAX_HELD_OUT = 0.1, 1000
"""Share of the rows that is held out for each split, and the most rows of a split, because they are scored often."""
MIN_ROWS = 40
"""Fewest rows of training data of which some can be held out."""
MIN_LABEL_TEXTS = 2
"""Fewest texts of a label in each held-out split, and among the rows to train on."""
PIECES = 10
"""A piece, which is a set of connected rows, is held out whole only if it is at most 1 / `PIECES` of a split."""
MAX_LEFT_OUT_SHARE, MIN_TRAINED_SHARE, MAX_LOST_SHARE = 0.2, 0.2, 0.5
"""Largest allowed share of all rows that are left out to keep positives apart; least allowed share of trained rows
among those not held out; largest allowed share of training negatives that are lost to the held-out splits."""


@dataclass(frozen=True)
class RowParts:
    """The part of each row of a file: `TRAIN`, `DEV`, `TEST` or `LEFT_OUT`."""

    code: np.ndarray  # (rows,) int8: TRAIN, DEV, TEST or LEFT_OUT
    kept_texts: Mapping[int, list[bool]] = field(default_factory=dict)
    """Maps the number of a row that loses texts to whether each of its texts stays."""
    anchors_only: bool = False
    """Whether only anchors are kept apart, and a positive may be in several parts."""
    shared_positives: int = 0
    """Number of positives that are both held out and trained on; 0 if positives are kept apart."""
    negatives_in_training: int = 0
    """Number of negatives that held-out rows lose because training rows have them, so that no search contains them."""

    def count(self, part: int) -> int:
        """Return the number of rows of a part."""
        return int((self.code == part).sum())

    def smallest(self, parts: Sequence[int]) -> int:
        """Return the number of rows of the smallest of these parts."""
        return min(map(self.count, parts))


class HashedTexts:
    """Hashes of the texts of rows: texts that are equal after `normalise` have equal hashes."""

    def __init__(self) -> None:
        self._texts, self._sides = array("Q"), array("b")
        self._ends = array("q", [0])
        self._labels, self._label = dict[str, int](), array("q")

    def add(self, texts: Sequence[str], label: str | None = None, negatives: int = 0) -> None:
        """Add the texts of the next row: the anchor first, the `negatives` last; or its only text and its label."""
        if label is not None:
            self._label.append(self._labels.setdefault(label, len(self._labels)))
        for text in texts:
            digest = hashlib.blake2b(normalise(text).encode(), digest_size=8).digest()
            self._texts.append(int.from_bytes(digest, "little"))
        self._sides.extend([ANCHOR, *[POSITIVE] * (len(texts) - 1 - negatives), *[NEGATIVE] * negatives])
        self._ends.append(len(self._texts))

    def split(
        self,
        parts: Sequence[int],
        where: str,
        texts: Callable[[], Iterable[Sequence[str]]],
        may_share: bool = False,
    ) -> RowParts:
        """Assign each row to `TRAIN`, `LEFT_OUT` or one of `parts` (`DEV`, `TEST`), by the rows alone. `texts` returns
        the texts of each row, as they were added. `may_share`: whether a positive may be both held out and trained on.
        `UserError` if there are too few rows."""
        rows = len(self._ends) - 1
        if rows < MIN_ROWS:
            raise UserError(
                f"{where} holds {rows} rows, too few to put some aside to judge models by, which takes {MIN_ROWS}; "
                "give more rows, or --dev and --test"
            )
        positions = _TextPositions.of(self._texts, self._sides, self._ends)
        if self._label:
            label = np.array(self._label)
            code = _split_labelled(positions.rows(POSITIVE), label, parts, where)
            new = train_on_near_copies(code, TRAIN, parts, texts)
            for part, name in itertools.product(parts, np.unique(label[new != code])):
                own = (code == part) & (label == name)  # no part may lose a label
                if not keeps_enough(new[own], code[own], [part], few=MIN_LABEL_TEXTS):
                    new[own] = part
            return RowParts(new)
        target, side = min(MAX_HELD_OUT, round(HELD_OUT_SHARE * rows)), POSITIVE
        code = _split(positions.rows(side), parts, target)
        made = positions.assign_texts(code, side)
        if may_share and (
            made.count(LEFT_OUT) > MAX_LEFT_OUT_SHARE * rows or positions.has_common_positives(target // PIECES)
        ):
            of_anchors = _split(positions.rows(ANCHOR), parts, target)
            by_anchor = positions.assign_texts(of_anchors, ANCHOR)
            if 2 * by_anchor.smallest(parts) >= made.smallest(parts):
                code, made, side = of_anchors, by_anchor, ANCHOR
        least = min(target, MIN_ROWS) // 2
        without_near = positions.assign_texts(
            train_on_near_copies(code, TRAIN, parts, lambda: positions.counted(texts(), side)), side
        )
        if keeps_enough(without_near.code, made.code, parts):
            made = without_near
        trained_on, left_out = made.count(TRAIN), made.count(LEFT_OUT)
        if made.smallest(parts) < least or trained_on < MIN_TRAINED_SHARE * (trained_on + left_out):
            raise UserError(
                f"{where}: its rows hang together by their texts, so that without a common one "
                f"{made.smallest(parts):,} could be put aside to judge models by, and {trained_on:,} trained on; "
                "give --dev and --test"
            )
        return made


@dataclass(frozen=True)
class _TextPositions:
    """The texts of all rows, as parallel arrays with one entry (position) for each text of each row."""

    row: np.ndarray  # (positions,) int64
    text: np.ndarray  # (positions,) int64, the number of the text
    side: np.ndarray  # (positions,) int8: ANCHOR, POSITIVE or NEGATIVE
    starts: np.ndarray  # (rows + 1,) int64, first position of each row
    order: np.ndarray  # (texts,) uint64, a hash of the text, to order by

    @classmethod
    def of(cls, texts: array[int], sides: array[int], ends: array[int]) -> _TextPositions:
        digests, text = np.unique(np.frombuffer(texts, np.uint64), return_inverse=True)
        starts = np.frombuffer(ends, np.int64)
        row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return cls(row, text, np.frombuffer(sides, np.int8), starts, digests * np.uint64(0x9E3779B97F4A7C15))

    def rows(self, last_side: int) -> _Rows:
        """Return the rows with only the texts that are kept apart: texts of the sides up to `last_side`."""
        return _Rows(*self._distinct(self.side <= last_side), self.text[self.starts[:-1]], self.order)

    def counted(self, texts: Iterable[Sequence[str]], last_side: int) -> Iterator[Sequence[str]]:
        """Yield of each row the texts of sides up to `last_side`; later sides come last. `texts`: all texts of each."""
        counts = np.bincount(self.row[self.side <= last_side], minlength=len(self.starts) - 1)
        for row_texts, count in zip(texts, counts.tolist(), strict=True):
            yield row_texts[:count]

    def has_common_positives(self, many: int) -> bool:
        """Whether most rows have a positive that is in more than `many` rows."""
        row, text = self._distinct(self.side == POSITIVE)
        common = np.bincount(text) > max(1, many)
        return 2 * len(np.unique(row[common[text]])) > len(self.starts) - 1

    def _distinct(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return row and text of some positions, each pair once."""
        row, text = np.divmod(np.unique(self.row[positions] * len(self.order) + self.text[positions]), len(self.order))
        return row, text

    def assign_texts(self, code: np.ndarray, last_side: int) -> RowParts:
        """Remove from each row the texts that belong to another part. Texts of sides up to `last_side` belong to the
        part of their rows, and other positives to all parts. Texts that are only negatives belong to a held-out part,
        first to the test, if training keeps enough negatives. A row that loses all positives is left out."""
        made = self._assign_texts(code, last_side, (TRAIN, DEV, TEST))
        part, negative = made.code[self.row], self.side == NEGATIVE
        lost = sum(len(stays) - sum(stays) for row, stays in made.kept_texts.items() if made.code[row] == TRAIN)
        if lost <= MAX_LOST_SHARE * (negative & (part == TRAIN)).sum():
            return made
        return self._assign_texts(code, last_side, (DEV, TEST, TRAIN))

    def _assign_texts(self, code: np.ndarray, last_side: int, order: Sequence[int]) -> RowParts:
        """As `assign_texts`; a text that is only a negative belongs to the last part in `order` that has the text."""
        nobody, code, part = LEFT_OUT, code.copy(), code[self.row]
        tied, positive = self.side <= last_side, self.side == POSITIVE
        wrong = ~np.isin(self.text, self.text[(part != LEFT_OUT) & (self.side <= POSITIVE)])
        owner = np.full(len(self.order), nobody, np.int8)
        for positions in (wrong, tied):
            for each in order:
                owner[self.text[positions & (part == each)]] = each
        text_part = owner[self.text]
        stays = tied | (text_part == nobody) | (text_part == part)
        before, now = (
            np.bincount(self.row[positions], minlength=len(code)) for positions in (positive, positive & stays)
        )
        code[(before > 0) & (now == 0)] = LEFT_OUT
        part = code[self.row]
        held_out = np.isin(part, (DEV, TEST))
        trained_on = self.text[stays & (part == TRAIN)]
        cut_rows = np.unique(self.row[~stays & (part != LEFT_OUT)]).tolist()
        return RowParts(
            code,
            {number: stays[self.starts[number] : self.starts[number + 1]].tolist() for number in cut_rows},
            anchors_only=last_side == ANCHOR,
            shared_positives=len(np.intersect1d(self.text[stays & positive & held_out], trained_on)),
            negatives_in_training=len(
                np.intersect1d(self.text[~stays & held_out & (self.side == NEGATIVE)], trained_on)
            ),
        )


@dataclass(frozen=True)
class _Rows:
    """Rows and their texts, as parallel arrays with one entry (position) for each different text of each row."""

    row: np.ndarray  # (positions,) int64
    text: np.ndarray  # (positions,) int64, a text of that row, each once
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

    def small_pieces(self, target: int) -> np.ndarray:
        """Return the pieces of at most `target // PIECES` rows, as numbers, ordered by the hash of one of its anchors.
        Which anchor, the lower half of the hashes decides: the order is by the upper half. With the least hash a piece
        of ten rows would be held out ten times as often as one row, although all its rows are taken with it."""
        size = np.bincount(self.piece)
        order = self.order[self.anchor]
        half = np.uint64(32)
        rows = np.lexsort((order << half | order >> half, self.piece))
        pieces = np.argsort(order[rows[np.cumsum(size) - size]], kind="stable")
        return pieces[size[pieces] <= max(1, target // PIECES)]


def _split(rows: _Rows, parts: Sequence[int], target: int) -> np.ndarray:
    code = np.full(len(rows.anchor), TRAIN, np.int8)
    small = rows.small_pieces(target)
    size = np.bincount(rows.piece)[small]
    before = np.cumsum(size) - size
    for number, part in enumerate(parts):
        chosen = small[(before >= number * target) & (before + size <= (number + 1) * target)]
        code[np.isin(rows.piece, chosen)] = part
    if size.sum() < len(parts) * target:
        _hold_out_anchors(rows, code, parts, target)
    return code


def _split_labelled(rows: _Rows, label: np.ndarray, parts: Sequence[int], where: str) -> np.ndarray:
    """Return each row's part. Every part has texts of each label with enough texts; a text with several labels is
    trained on."""
    text_label = np.zeros(len(rows.order), np.int64)  # label of each text
    text_label[rows.anchor] = label
    single_label = np.ones(len(text_label), bool)
    single_label[rows.anchor[text_label[rows.anchor] != label]] = False
    texts = np.flatnonzero(single_label)
    texts = texts[np.lexsort((rows.order[texts], text_label[texts]))]
    counts = np.bincount(text_label[texts], minlength=label.max() + 1)
    enough = counts >= MIN_LABEL_TEXTS * (len(parts) + 1)
    if enough.sum() < 2:
        raise UserError(
            f"{where}: to put some aside to judge models by takes two labels with {MIN_LABEL_TEXTS * (len(parts) + 1)} "
            f"different texts, and {int(enough.sum())} of its {len(counts):,} labels have so many in {len(label):,} "
            "rows; give more rows, or --dev and --test"
        )
    enough[np.argsort(-np.where(enough, counts, 0), kind="stable")[MAX_HELD_OUT // MIN_LABEL_TEXTS :]] = False
    more = np.where(enough, np.maximum(np.round(counts * HELD_OUT_SHARE) - MIN_LABEL_TEXTS, 0), 0)
    room = MAX_HELD_OUT - MIN_LABEL_TEXTS * enough.sum()
    each = np.where(enough, MIN_LABEL_TEXTS + np.floor(more * min(1.0, room / max(1, more.sum()))), 0).astype(np.int64)
    index = (
        np.arange(len(texts)) - (np.cumsum(counts) - counts)[text_label[texts]]
    )  # index among the texts of its label
    part = np.full(len(text_label), TRAIN, np.int8)
    for number, code in enumerate(parts):
        size = each[text_label[texts]]
        part[texts[(index >= number * size) & (index < (number + 1) * size)]] = code
    return part[rows.anchor]


def _hold_out_anchors(rows: _Rows, code: np.ndarray, parts: Sequence[int], target: int) -> None:
    """Hold out anchors with all their rows until each part has `target` rows, first anchors that share few texts with
    other rows. Other rows with held-out texts are left out. Changes `code` in place."""
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
