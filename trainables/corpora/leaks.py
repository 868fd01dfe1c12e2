"""Leaks: items of dev and test sets that the training data contain.

    found = find_leaks(rows, {"queries_dev": dev_items, "queries_test": test_items})
    found.parts["queries_test"].items.exact        # number of test items that a training row contains, letter by letter
    found.parts["queries_test"].texts.near         # number of test texts with a near duplicate in a training row
    found.leaking_rows                             # numbers of the training rows to leave out

A training row and a test item are the texts of one line: a pair, a triplet, one labelled text. A row contains an item
if it has the item's only text, or its first text and one more of its texts. Only such rows are dropped.

Near duplicates share at least four fifths of their shingles: words and pairs of neighbouring words (Jaccard). Prefix
filtering finds all near duplicates: they share one of their few rarest shingles, so only these are looked up. MinHash
is slower for sentences, and misses some.
"""

from __future__ import annotations

import functools
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

NEAR_PERCENT = 80
"""Two texts are near duplicates if they share at least this percentage of the union of their shingles."""
LIKENESSES = ("exact", "normalised", "near")

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
"""Thai, Lao, Japanese and Chinese put no spaces between words: each letter counts as a word."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_CACHED = 65_536
MAX_COMPARED, MAX_DEPTH, LONG_TEXT = 2, 3, 64
"""Texts are grouped by the rarest shingles that they share. A group of more than `MAX_COMPARED` texts is divided by a
further shared shingle, up to `MAX_DEPTH` in all. Groups of texts with more than `LONG_TEXT` shingles are not divided
again, because such texts have too many ways to share three."""


@dataclass(frozen=True)
class Counts:
    """Number of items or texts found in training rows. Each is counted once, by its closest match."""

    exact: int = 0
    normalised: int = 0
    """Equal except for case, white space and punctuation."""
    near: int = 0

    @property
    def all(self) -> int:
        """Number found by any kind of match."""
        return self.exact + self.normalised + self.near


@dataclass(frozen=True)
class PartLeaks:
    """Counts of the items and texts of one dev or test split that the training rows contain."""

    item_count: int
    text_count: int
    """`item_count` and `text_count`: number of all items, and of all different texts, of the split."""
    items: Counts
    """Items that one training row contains, such as both texts of a pair."""
    texts: Counts
    matched: frozenset[int]
    """Numbers, from 0, of the items that `items` counts."""


@dataclass(frozen=True)
class Leaks:
    """Leaks of each dev and test split (`parts`, by name), and the training rows to leave out."""

    rows: int
    parts: dict[str, PartLeaks]
    leaking_rows: tuple[int, ...]
    """Numbers, from 0, of the training rows that contain an item of a split that was not in `spared`."""


def find_leaks(
    rows: Iterable[Sequence[str]], parts: Mapping[str, Iterable[Sequence[str]]], spared: Container[str] = ()
) -> Leaks:
    """Compare training rows with the items of `parts`, dev and test splits by name. Items of the `spared` splits are
    counted, but lead to no leaking rows. Rows are read once and not kept in memory; texts of the splits are kept."""
    items_of_part = {name: _PartItems() for name in parts}
    numbers: dict[str, int] = {}
    for name, items in parts.items():
        for item in items:
            items_of_part[name].add([numbers.setdefault(text, len(numbers)) for text in item])
    texts = TextIndex(numbers)
    leaking_rows, count = [], 0
    for number, row in enumerate(rows):
        count += 1
        row_matches = [texts.matches(text) for text in row]
        if any(row_matches):
            whole = [part.record_row(row_matches) and name not in spared for name, part in items_of_part.items()]
            if any(whole):
                leaking_rows.append(number)
    return Leaks(count, {name: part.leaks() for name, part in items_of_part.items()}, tuple(leaking_rows))


def normalise(text: str) -> str:
    """Return the text without differences in case, white space and punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(folded)) or folded.strip()


def _shingles(plain_text: str) -> frozenset[str]:
    words = plain_text.split(" ")
    return frozenset((*words, *map(" ".join, pairwise(words))))


class TextIndex:
    """Index of numbered texts, which finds the texts that equal a given text exactly, after `normalise`, or nearly."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self._same = defaultdict[str, list[int]](list)
        """Maps a normalised text to the numbers of the texts that become it by `normalise`."""
        for text, number in numbers.items():
            self._same[normalise(text)].append(number)
        shingled = {text: _shingles(text) for text in self._same}
        rarity = Counter(shingle for shingles in shingled.values() for shingle in shingles)
        self._rank = {
            shingle: rank for rank, shingle in enumerate(sorted(rarity, key=lambda shingle: (rarity[shingle], shingle)))
        }
        """Maps a shingle to its rank by rarity: 0 for the rarest."""
        by_size = defaultdict[int, list[_Shingled]](list)
        for text, shingles in shingled.items():
            by_size[_band(len(shingles))].append(_Shingled(text, sorted(map(self._rank.__getitem__, shingles))))
        self._by_size = {band: _ShingleNode(texts) for band, texts in by_size.items()}
        self.matches = functools.lru_cache(_CACHED)(self._find_matches)
        """Maps a text to the numbers of the texts that match it, each with the index of the match in `LIKENESSES`."""

    def _find_matches(self, text: str) -> dict[int, int]:
        folded = normalise(text)
        likenesses = {number: 2 for other in self._near(folded) for number in self._same[other]}
        likenesses |= dict.fromkeys(self._same.get(folded, ()), 1)
        if text in self._numbers:
            likenesses[self._numbers[text]] = 0
        return likenesses

    def _near(self, folded: str) -> set[str]:
        shingles = _shingles(folded)
        known_ranks = {rank for shingle in shingles if (rank := self._rank.get(shingle)) is not None}
        size, unknown = len(shingles), len(shingles) - len(known_ranks)
        if unknown >= _enough(size):  # most texts return here
            return set()
        least, most = -(-NEAR_PERCENT * size // 100), 100 * size // NEAR_PERCENT
        ranks, candidates = sorted(known_ranks), list[_Shingled]()
        for band in range(_band(least), _band(most) + 1):
            if (node := self._by_size.get(band)) is not None:
                shared = -(-NEAR_PERCENT * (size + max(least, node.least)) // (100 + NEAR_PERCENT))
                node.add_candidates(ranks, 0, size - shared + 1 - unknown, candidates)  # unknown shingles are rarest
        return {
            other.plain
            for other in candidates
            if 100 * (shared := len(known_ranks & other.shingles)) >= NEAR_PERCENT * (size + len(other.ranks) - shared)
        }


class _Shingled:
    def __init__(self, plain_text: str, ranks: list[int]) -> None:
        self.plain, self.ranks, self.shingles = plain_text, ranks, frozenset(ranks)


class _ShingleNode:
    """Texts of similar size that share `depth` of their rarest shingles."""

    def __init__(self, texts: list[_Shingled], depth: int = 0, last: int = -1) -> None:
        """`last` is the rank of the least rare of the `depth` shared shingles."""
        self.least = min(len(text.ranks) for text in texts)
        """Number of shingles of the shortest text."""
        self.texts = texts
        """Texts to compare one by one; empty if `children` divides them further."""
        self.children: dict[int, _ShingleNode] = {}
        """Maps a further shared shingle to the node of its texts. The next shingle that near duplicates share is among
        the `_enough` + `depth` rarest shingles of each."""
        share_more = NEAR_PERCENT * self.least > 100 * depth
        if len(texts) > MAX_COMPARED and depth < MAX_DEPTH and (depth == 0 or self.least <= LONG_TEXT) and share_more:
            children = defaultdict[int, list[_Shingled]](list)
            for text in texts:
                for rank in text.ranks[: _enough(len(text.ranks)) + depth]:
                    if rank > last:
                        children[rank].append(text)
            self.texts = []
            self.children = {rank: _ShingleNode(among, depth + 1, rank) for rank, among in children.items()}

    def add_candidates(self, ranks: Sequence[int], begin: int, end: int, candidates: list[_Shingled]) -> None:
        """Add to `candidates` the texts to compare with a text whose shingles have these `ranks`; a text may be added
        more than once. The next shared shingle is in `ranks[begin:end]`."""
        candidates += self.texts
        if self.children:
            for index in range(begin, min(end, len(ranks))):
                if (further := self.children.get(ranks[index])) is not None:
                    further.add_candidates(ranks, index + 1, end + 1, candidates)


@functools.cache
def _band(size: int) -> int:
    """Return the size class of a text with `size` shingles; from one class to the next, sizes grow by 15 %."""
    return int(math.log(size) / math.log(1.15))


def _enough(shingles: int) -> int:
    """Return the number of a text's rarest shingles of which every near duplicate shares at least one. Among one more
    of the rarest shingles, a near duplicate shares at least two, if it must share two at all."""
    return shingles * (100 - NEAR_PERCENT) // 100 + 1


@dataclass
class _PartItems:
    """Items of one split, as numbers of texts; the closest match so far of each text and item (in `LIKENESSES`)."""

    items: list[list[int]] = field(default_factory=list)
    texts: dict[int, int] = field(default_factory=dict)
    by_first: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    matched: dict[int, int] = field(default_factory=dict)

    def add(self, item: list[int]) -> None:
        self.by_first[item[0]].append(len(self.items))
        self.items.append(item)
        self.texts.update(dict.fromkeys(item, len(LIKENESSES)))  # no match yet

    def record_row(self, row_matches: Sequence[Mapping[int, int]]) -> bool:
        """Record a training row, given `TextIndex.matches` of each of its texts. Return whether it has an item."""
        whole = False
        for position, likenesses in enumerate(row_matches):
            for number, likeness in likenesses.items():
                if number in self.texts:
                    self.texts[number] = min(self.texts[number], likeness)
                for index in self.by_first.get(number, ()):
                    others = self.items[index][1:]
                    rest = [
                        max(likeness, matches[other])
                        for at, matches in enumerate(row_matches)
                        if at != position  # one text like both texts of an item does not suffice
                        for other in others
                        if other in matches
                    ]
                    if rest or not others:
                        whole = True
                        match = min(rest, default=likeness)
                        self.matched[index] = min(match, self.matched.get(index, match))
        return whole

    def leaks(self) -> PartLeaks:
        items, texts = Counter(self.matched.values()), Counter(self.texts.values())
        return PartLeaks(
            len(self.items),
            len(self.texts),
            Counts(**{name: items[likeness] for likeness, name in enumerate(LIKENESSES)}),
            Counts(**{name: texts[likeness] for likeness, name in enumerate(LIKENESSES)}),
            frozenset(self.matched),
        )
