"""Items of tests that the training data contain.

    found = leaks(rows, {"queries_dev": dev_items, "queries_test": test_items})
    found.parts["queries_test"].items.exact        # test items that a training row holds whole, letter by letter
    found.parts["queries_test"].texts.near         # single texts of the test that some row nearly holds
    found.drop                                     # the rows to leave out, by their numbers

A row and an item are the texts of one line: a pair, a triplet, one labelled text. A row holds an item whole where it
has its text, or its first text and another of its texts; only such rows are dropped.

Near duplicates share four fifths of their words and pairs of neighbouring words (Jaccard). Prefix filtering finds all:
such texts share one of their few rarest shingles, so only these are looked up. MinHash is slower for sentences, and
misses some.
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

NEAR = 80
"""The least share of shingles, in percent of all that either text has, that makes two texts near duplicates."""
LIKENESSES = ("exact", "normalised", "near")

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
"""Thai, Lao, Japanese and Chinese put no spaces between words: each of their letters counts as one."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_CACHED = 65_536
FEW, DEEPEST, LONG = 2, 3, 64
"""So many texts that share their rarest shingles are compared one by one; of more those are chosen that share another
one, up to three, but for texts of more than so many shingles, which have too many ways to share three."""


@dataclass(frozen=True)
class Counts:
    """How many were found, each once, as what it is most alike to."""

    exact: int = 0
    normalised: int = 0
    """The same but for case, white space and punctuation."""
    near: int = 0

    @property
    def all(self) -> int:
        """However alike."""
        return self.exact + self.normalised + self.near


@dataclass(frozen=True)
class PartLeaks:
    """What of one dev or test part the rows hold."""

    of_items: int
    of_texts: int
    """How many items, and how many different texts, the part has."""
    items: Counts
    """Whole items: pairs, where the part is of pairs."""
    texts: Counts


@dataclass(frozen=True)
class Leaks:
    """What the rows hold of each part, by its name."""

    rows: int
    parts: dict[str, PartLeaks]
    drop: tuple[int, ...]
    """Numbers of the rows, from 0, that hold an item whole, of a part that is not spared."""


def leaks(
    rows: Iterable[Sequence[str]], parts: Mapping[str, Iterable[Sequence[str]]], spared: Container[str] = ()
) -> Leaks:
    """Hold rows against the items of parts; those `spared` may well be trained on. The rows are read once and not kept;
    the parts' texts are."""
    items_of_part = {name: _PartItems() for name in parts}
    numbers: dict[str, int] = {}
    for name, items in parts.items():
        for item in items:
            items_of_part[name].add([numbers.setdefault(text, len(numbers)) for text in item])
    texts = AlikeTexts(numbers)
    drop, count = [], 0
    for number, row in enumerate(rows):
        count += 1
        alike = [texts.like(text) for text in row]
        if any(alike):
            whole = [part.meet(alike) and name not in spared for name, part in items_of_part.items()]
            if any(whole):
                drop.append(number)
    return Leaks(count, {name: part.leaks() for name, part in items_of_part.items()}, tuple(drop))


def plain(text: str) -> str:
    """The text without what two copies of it may differ in: case, white space and punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(folded)) or folded.strip()


def _shingles(plain_text: str) -> frozenset[str]:
    words = plain_text.split(" ")
    return frozenset((*words, *map(" ".join, pairwise(words))))


class AlikeTexts:
    """Texts by number, and which of them another text is like: the same, the same as `plain` has it, or nearly."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._numbers = numbers
        self._same = defaultdict[str, list[int]](list)
        """Numbers by plain text."""
        for text, number in numbers.items():
            self._same[plain(text)].append(number)
        shingled = {text: _shingles(text) for text in self._same}
        rarity = Counter(shingle for shingles in shingled.values() for shingle in shingles)
        self._rank = {
            shingle: rank for rank, shingle in enumerate(sorted(rarity, key=lambda shingle: (rarity[shingle], shingle)))
        }
        """Shingles by how rare they are, the rarest first."""
        by_size = defaultdict[int, list[_Shingled]](list)
        for text, shingles in shingled.items():
            by_size[_band(len(shingles))].append(_Shingled(text, sorted(map(self._rank.__getitem__, shingles))))
        self._by_size = {band: _Alike(texts) for band, texts in by_size.items()}
        self.like = functools.lru_cache(_CACHED)(self._like)
        """The numbers of the texts that a text is like, each with the index of its likeness."""

    def _like(self, text: str) -> dict[int, int]:
        folded = plain(text)
        likenesses = {number: 2 for other in self._near(folded) for number in self._same[other]}
        likenesses |= dict.fromkeys(self._same.get(folded, ()), 1)
        if text in self._numbers:
            likenesses[self._numbers[text]] = 0
        return likenesses

    def _near(self, folded: str) -> set[str]:
        shingles = _shingles(folded)
        mine = {rank for shingle in shingles if (rank := self._rank.get(shingle)) is not None}
        size, unknown = len(shingles), len(shingles) - len(mine)
        if unknown >= _enough(size):  # most texts end here
            return set()
        least, most = -(-NEAR * size // 100), 100 * size // NEAR
        ranks, compared = sorted(mine), list[_Shingled]()
        for band in range(_band(least), _band(most) + 1):
            if (alike := self._by_size.get(band)) is not None:
                shared = -(-NEAR * (size + max(least, alike.least)) // (100 + NEAR))
                alike.met(ranks, 0, size - shared + 1 - unknown, compared)  # what no text has is rarer than all
        return {
            other.plain
            for other in compared
            if 100 * (shared := len(mine & other.shingles)) >= NEAR * (size + len(other.ranks) - shared)
        }


class _Shingled:
    """A plain text with its shingles."""

    def __init__(self, plain_text: str, ranks: list[int]) -> None:
        self.plain, self.ranks, self.shingles = plain_text, ranks, frozenset(ranks)


class _Alike:
    """Texts of about one size that have some of their rarest shingles in common."""

    def __init__(self, texts: list[_Shingled], depth: int = 0, last: int = -1) -> None:
        """They share so many, `last` being the least rare of these."""
        self.least = min(len(text.ranks) for text in texts)
        """Shingles of the shortest."""
        self.texts = texts
        """To compare; empty where a further shingle chooses among them."""
        self.sharing: dict[int, _Alike] = {}
        """The texts by a further shingle. Near duplicates that share so many, the rarest first, have the next one that
        they share among one more of their rarest."""
        share_more = NEAR * self.least > 100 * depth
        if len(texts) > FEW and depth < DEEPEST and (depth == 0 or self.least <= LONG) and share_more:
            sharing = defaultdict[int, list[_Shingled]](list)
            for text in texts:
                for rank in text.ranks[: _enough(len(text.ranks)) + depth]:
                    if rank > last:
                        sharing[rank].append(text)
            self.texts = []
            self.sharing = {rank: _Alike(among, depth + 1, rank) for rank, among in sharing.items()}

    def met(self, ranks: Sequence[int], begin: int, end: int, compared: list[_Shingled]) -> None:
        """Add what a text of these shingles is to be compared with, some more than once. The next shingle that they
        share is one of those from `begin` to before `end`."""
        compared += self.texts
        if self.sharing:
            for place in range(begin, min(end, len(ranks))):
                if (further := self.sharing.get(ranks[place])) is not None:
                    further.met(ranks, place + 1, end + 1, compared)


@functools.cache
def _band(size: int) -> int:
    """Texts of about one size are kept together: from one band to the next it grows by 15 %."""
    return int(math.log(size) / math.log(1.15))


def _enough(shingles: int) -> int:
    """The number of rarest ones of so many shingles of which a near duplicate must share one. Of one more it must share
    two, if it has to share two at all."""
    return shingles * (100 - NEAR) // 100 + 1


@dataclass
class _PartItems:
    """The items of one part, as numbers of texts, and the likeness of the best match of each so far."""

    items: list[list[int]] = field(default_factory=list)
    texts: dict[int, int] = field(default_factory=dict)
    by_first: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    matched: dict[int, int] = field(default_factory=dict)

    def add(self, item: list[int]) -> None:
        self.by_first[item[0]].append(len(self.items))
        self.items.append(item)
        self.texts.update(dict.fromkeys(item, len(LIKENESSES)))  # like none yet

    def meet(self, alike: Sequence[Mapping[int, int]]) -> bool:
        """Note what a row holds, given what each of its texts is like. Whether that is an item whole."""
        whole = False
        for place, likenesses in enumerate(alike):
            for number, likeness in likenesses.items():
                if number in self.texts:
                    self.texts[number] = min(self.texts[number], likeness)
                for index in self.by_first.get(number, ()):
                    others = self.items[index][1:]
                    rest = [
                        max(likeness, like[other])
                        for at, like in enumerate(alike)
                        if at != place  # a text that is like both of an item is not yet the item
                        for other in others
                        if other in like
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
        )
