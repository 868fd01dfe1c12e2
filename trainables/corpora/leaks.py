"""What of a test stands in the training data already.

    found = leaks(rows, {"queries_dev": dev_items, "queries_test": test_items})
    found.parts["queries_test"].items.exact        # test items that a training row holds whole, letter by letter
    found.parts["queries_test"].texts.near         # single texts of the test that some row nearly holds
    found.drop                                     # the rows to leave out, by their numbers

A row and an item are the texts of one line: a pair, a triplet, one labelled text. Dev against test is the same
question, with the dev items as rows. An item is held whole where one row holds its text, or its first text and another
of its texts. Only such rows are left out: a text alone tells neither its label nor its partner, and the passages of a
search may well be trained on.

Near duplicates share four fifths of their words and pairs of neighbouring words (Jaccard). They are found exactly, by
prefix filtering: texts that are so much alike share one of their few rarest shingles, so only those are looked up;
where many have that one, those that share two. MinHash estimates the same number; for sentences it is slower and misses
some.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

NEAR = 80
"""The least share of shingles, in percent of all that either text has, that makes two texts near duplicates."""
KINDS = ("exact", "normalised", "near")

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff"
"""Thai, Lao, Japanese and Chinese put no spaces between words: each of their letters counts as one."""
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_CACHED = 65_536
FEW = 16
"""Texts of one shingle that are compared one by one; where more have it, a second shingle chooses among them."""
_Shingled = tuple[str, frozenset[int], list[int]]
"""A plain text, its shingles by rank, and the rarest of them."""


@dataclass(frozen=True)
class Counts:
    """How many were found, each once, as what it is most alike to."""

    exact: int = 0
    normalised: int = 0
    """The same but for case, white space and punctuation."""
    near: int = 0

    @property
    def all(self) -> int:
        """Of every kind."""
        return self.exact + self.normalised + self.near


@dataclass(frozen=True)
class Found:
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
    parts: dict[str, Found]
    drop: tuple[int, ...]
    """Numbers of the rows, from 0, that hold an item whole, of a part that is not spared."""


def leaks(
    rows: Iterable[Sequence[str]], parts: Mapping[str, Iterable[Sequence[str]]], spared: Container[str] = ()
) -> Leaks:
    """Hold rows against the items of parts; those `spared` may well be trained on. The rows are read once and not kept;
    the parts' texts are."""
    held = {name: _Part() for name in parts}
    texts = _Texts()
    for name, items in parts.items():
        for item in items:
            held[name].add([texts.number(text) for text in item])
    texts.close()
    drop, count = [], 0
    for number, row in enumerate(rows):
        count += 1
        alike = [texts.like(text) for text in row]
        if any(alike):
            whole = [part.meet(alike) and name not in spared for name, part in held.items()]
            if any(whole):
                drop.append(number)
    return Leaks(count, {name: part.found() for name, part in held.items()}, tuple(drop))


def plain(text: str) -> str:
    """The text without what two copies of it may differ in: case, white space and punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(_WORD.findall(folded)) or folded.strip()


def _shingles(plain_text: str) -> frozenset[str]:
    words = plain_text.split(" ")
    return frozenset((*words, *map(" ".join, pairwise(words))))


class _Texts:
    """The texts of all parts by number, and which of them a text is like."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._same: dict[str, list[int]] = defaultdict(list)
        """Numbers by plain text."""
        self._rank: dict[str, int] = {}
        """Shingles by how rare they are, the rarest first."""
        self._by_one: dict[int, list[_Shingled]] = defaultdict(list)
        """Texts by each of their rarest shingles, and those of a shingle that is in many by a further one, too."""
        self._by_two: dict[int, dict[int, list[_Shingled]]] = {}
        self._cached: dict[str, dict[int, int]] = {}

    def number(self, text: str) -> int:
        if text not in self._numbers:
            self._numbers[text] = len(self._numbers)
            self._same[plain(text)].append(self._numbers[text])
        return self._numbers[text]

    def close(self) -> None:
        """Once all texts have their numbers: find near duplicates from now on."""
        shingled = {text: _shingles(text) for text in self._same}
        rarity = Counter(shingle for found in shingled.values() for shingle in found)
        self._rank = {one: rank for rank, one in enumerate(sorted(rarity, key=lambda one: (rarity[one], one)))}
        for text, found in shingled.items():
            ranks = sorted(map(self._rank.__getitem__, found))
            for rank in ranks[: _enough(len(ranks))]:
                self._by_one[rank].append((text, frozenset(ranks), ranks[: _enough(len(ranks)) + 1]))
        for rank, many in self._by_one.items():
            if len(many) > FEW:
                by_second = self._by_two[rank] = defaultdict(list)
                for entry in many:
                    for second in entry[2]:
                        if second > rank:
                            by_second[second].append(entry)

    def like(self, text: str) -> dict[int, int]:
        """The numbers of the texts that this one is like, each with the index of its kind."""
        if (known := self._cached.get(text)) is not None:
            return known
        folded = plain(text)
        found = {number: 2 for other in self._near(folded) for number in self._same[other]}
        found |= dict.fromkeys(self._same.get(folded, ()), 1)
        if text in self._numbers:
            found[self._numbers[text]] = 0
        if len(self._cached) == _CACHED:
            self._cached.clear()
        self._cached[text] = found
        return found

    def _near(self, folded: str) -> set[str]:
        shingles = _shingles(folded)
        mine = {rank for shingle in shingles if (rank := self._rank.get(shingle)) is not None}
        size, unknown = len(shingles), len(shingles) - len(mine)
        rarest = _enough(size) - unknown  # what no text has is rarer than all
        if rarest <= 0:  # most texts end here
            return set()
        found, ranks = set(), sorted(mine)[: rarest + 1]
        for place, rank in enumerate(ranks[:rarest]):
            for other, theirs, _ in self._with(rank, ranks[place + 1 :]):
                shared = len(mine & theirs)
                if 100 * shared >= NEAR * (size + len(theirs) - shared):
                    found.add(other)
        return found

    def _with(self, rank: int, further: Sequence[int]) -> Iterator[_Shingled]:
        """The texts that have this shingle among their rarest; where these are many, one of the further ones, too."""
        if rank in self._by_two:
            by_second = self._by_two[rank]
            return (entry for second in further for entry in by_second.get(second, ()))
        return iter(self._by_one.get(rank, ()))


def _enough(shingles: int) -> int:
    """The number of rarest ones of so many shingles of which a near duplicate must share one. Of one more it must share
    two, if it has two."""
    return shingles * (100 - NEAR) // 100 + 1


@dataclass
class _Part:
    """The items of one part, as numbers of texts, and the kind of the best match of each so far."""

    items: list[list[int]] = field(default_factory=list)
    texts: dict[int, int | None] = field(default_factory=dict)
    by_first: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    matched: dict[int, int] = field(default_factory=dict)

    def add(self, item: list[int]) -> None:
        self.by_first[item[0]].append(len(self.items))
        self.items.append(item)
        self.texts.update(dict.fromkeys(item))

    def meet(self, alike: Sequence[Mapping[int, int]]) -> bool:
        """Note what a row holds, given what each of its texts is like. Whether that is an item whole."""
        whole = False
        for place, found in enumerate(alike):
            for number, kind in found.items():
                if number in self.texts:
                    self.texts[number] = _better(self.texts[number], kind)
                for index in self.by_first.get(number, ()):
                    others = self.items[index][1:]
                    rest = [
                        max(kind, like[other])
                        for at, like in enumerate(alike)
                        if at != place  # a text that is like both of an item is not yet the item
                        for other in others
                        if other in like
                    ]
                    if rest or not others:
                        whole = True
                        self.matched[index] = _better(self.matched.get(index), min(rest, default=kind))
        return whole

    def found(self) -> Found:
        items, texts = Counter(self.matched.values()), Counter(self.texts.values())
        return Found(
            len(self.items),
            len(self.texts),
            Counts(**{name: items[kind] for kind, name in enumerate(KINDS)}),
            Counts(**{name: texts[kind] for kind, name in enumerate(KINDS)}),
        )


def _better(before: int | None, now: int) -> int:
    return now if before is None else min(before, now)
