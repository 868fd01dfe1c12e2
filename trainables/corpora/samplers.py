"""Samplers of batches from indexed texts: rows in corpus order, shuffled pairs, shuffled groups.

A batch is a pure function of the corpus, the seed and the step, so workers may request batches in any order. Shuffled
samplers have a new order in each epoch. Their batches are full, for an equal number of in-batch negatives: the units
that remain at the end of an epoch are left out of it.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from trainables.corpora.augment import Change
from trainables.corpora.batch import Batch
from trainables.corpora.nli import NLIPairs, number_texts
from trainables.corpora.shuffled import Shuffled, cached_per_epoch
from trainables.errors import UserError
from trainables.labels import CONTRADICTION, ENTAILMENT, NEUTRAL

_TRIES = 8
"""Number of tries to draw an allowed negative from all texts; then one is drawn from a list of the allowed ones."""


class RowSampler:
    """Sampler of labelled pairs in corpus order (Liao 2021). The last batch may be short. A premise is a group."""

    def __init__(self, pairs: NLIPairs, size: int) -> None:
        self.pairs = pairs
        self.size = size
        self.steps_per_epoch = -(-len(pairs) // size)
        self._premises = number_texts(pairs.premises)

    def batch(self, step: int) -> Batch:
        start = step % self.steps_per_epoch * self.size
        rows = slice(start, start + self.size)
        sentences, (premise, hypothesis) = _index(self.pairs.premises[rows], self.pairs.hypotheses[rows])
        label, group = self.pairs.labels[rows], self._premises[rows]
        return Batch(sentences=sentences, premise=premise, hypothesis=hypothesis, label=label, group=group)


class PairSampler(Shuffled):
    """Sampler of positive or scored pairs, each its own group. Two equal texts are two views (dropout masks) of one."""

    def __init__(
        self,
        first: Sequence[str],
        second: Sequence[str],
        size: int,
        seed: int,
        scores: np.ndarray | None = None,
        no_duplicates: bool = False,
    ) -> None:
        super().__init__(len(first), size, seed, no_duplicates)
        self._scores = scores
        self._texts, (self._first, self._second) = _index(first, second)

    def batch(self, step: int) -> Batch:
        _, chosen = self.draw(step)
        label = np.full(len(chosen), ENTAILMENT if self._scores is None else NEUTRAL, dtype=np.int8)
        score = None if self._scores is None else self._scores[chosen]
        return _pair_batch(self._texts, self._first[chosen], self._second[chosen], chosen, label, score)

    def texts_of_units(self, epoch: int) -> Sequence[Sequence[int]]:
        return list(zip(self._first.tolist(), self._second.tolist(), strict=True))


def positive_batch(first: Sequence[str], second: Sequence[str], group: np.ndarray) -> Batch:
    """Return a batch of positive pairs. Two equal texts in a pair are two views (dropout masks) of one text."""
    texts, (anchors, positives) = _index(first, second)
    return _pair_batch(texts, anchors, positives, group, np.full(len(group), ENTAILMENT, dtype=np.int8))


def _pair_batch(
    texts: list[str],
    first: np.ndarray,
    second: np.ndarray,
    group: np.ndarray,
    label: np.ndarray,
    score: np.ndarray | None = None,
) -> Batch:
    items, second = _Items(texts), second.copy()
    for row in np.flatnonzero(first == second).tolist():
        second[row] = items.add_item(texts[second[row]])
    return items.batch(first, second, label, group, score)


class SameLabelSampler(Shuffled):
    """Sampler of units of `each` texts with one label. All texts of one label in a batch are one group.

    Each epoch divides the texts of a label anew. The texts that remain are a smaller unit; a single text that remains
    is left out of the epoch.
    """

    def __init__(self, texts: Sequence[str], labels: Sequence[str], size: int, seed: int, each: int) -> None:
        self._label = number_texts(labels)  # (texts,)
        super().__init__(self.units_of(np.bincount(self._label).tolist(), each), size, seed)
        self.each = each
        self._texts, (self._item,) = _index(texts)

    @staticmethod
    def units_of(counts: Sequence[int], each: int) -> int:
        """Return the number of units, given the number of texts of each label."""
        return sum(count // each + (count % each > 1) for count in counts)

    def batch(self, step: int) -> Batch:
        epoch, chosen = self.draw(step)
        rows = self._unit_texts(epoch).select(chosen).item
        rows = rows[np.argsort(self._label[rows], kind="stable")]
        label, first = self._label[rows], np.ones(len(rows), dtype=bool)
        first[1:] = label[1:] != label[:-1]
        item = self._item[rows]
        anchor = item[np.maximum.accumulate(np.where(first, np.arange(len(rows)), 0))]
        entailed = np.full(int((~first).sum()), ENTAILMENT, dtype=np.int8)
        return _Items(self._texts).batch(anchor[~first], item[~first], entailed, label[~first])

    @cached_per_epoch
    def _unit_texts(self, epoch: int) -> _Lists:
        """Return the texts of each unit."""
        draws = np.random.default_rng([self.seed, epoch, 1])
        order = np.lexsort((draws.random(len(self._label)), self._label))
        label = self._label[order]
        counts = np.bincount(label)
        index = np.arange(len(order)) - (np.cumsum(counts) - counts)[label]  # index among the texts of its label
        alone = (index % self.each == 0) & (index == counts[label] - 1)
        order, starts = order[~alone], (index % self.each == 0)[~alone]
        return _Lists(order, np.append(np.flatnonzero(starts), len(order)))


class GroupSampler(Shuffled):
    """Sampler of premises as anchors: entailments are positives, contradictions hard negatives (SupMPN, section 5.2).

    With a number for `positives` (P), each anchor has exactly P positives: its entailments, drawn at random, then
    copies of the anchor, or texts that `change` makes from its entailments. With a number for `negatives` (Q), each
    anchor has exactly Q hard negatives; missing ones are drawn from texts of other anchors. With None, an anchor has
    all its own entailments or contradictions. If `positives` is None, premises without an entailment are left out.
    """

    def __init__(
        self,
        pairs: NLIPairs,
        size: int,
        seed: int,
        positives: int | None,
        negatives: int | None,
        change: Callable[[list[str]], Change | None] = lambda _: None,
        no_duplicates: bool = False,
    ) -> None:
        groups = _make_groups(pairs, need_positive=positives is None)
        super().__init__(len(groups.anchor), size, seed, no_duplicates)
        self.groups, self.positives, self.negatives = groups, positives, negatives
        self._make_change = functools.cache(lambda: change(self.sources()))
        self.filled_positives, self.filled_negatives = (
            0 if most is None else int(np.maximum(most - np.diff(lists.start), 0).sum())
            for most, lists in ((positives, groups.positive), (negatives, groups.negative))
        )
        """Total numbers of positives and negatives that the groups of an epoch lack, and that are filled up."""
        if self.filled_negatives:
            self._pool = np.concatenate([groups.positive.item, groups.negative.item])
            self._entailed = np.sort(groups.positive.owner() * len(groups.texts) + groups.positive.item)

    def sources(self) -> list[str]:
        """Return the unique texts from which missing positives are made: entailments of anchors with fewer than P of
        them, and anchors that have none."""
        if not self.positives:
            return []
        count = np.diff(self.groups.positive.start)
        lacking = self.groups.positive.item[(count < self.positives)[self.groups.positive.owner()]]
        return [
            self.groups.texts[i] for i in np.unique(np.concatenate([lacking, self.groups.anchor[count == 0]])).tolist()
        ]

    def batch(self, step: int) -> Batch:
        epoch, chosen = self.draw(step)
        positive, negative = (lists.select(chosen) for lists in self._groups_of(epoch))
        items = _Items(self.groups.texts)
        owner = np.concatenate([positive.owner(), negative.owner()])
        anchor = self.groups.anchor[chosen]
        hypothesis = np.concatenate([positive.item, negative.item])
        score = None if self.groups.scores is None else self.groups.scores.lookup(chosen[owner], hypothesis)
        self._fill(epoch, chosen, hypothesis, owner, items)
        rows = np.argsort(owner, kind="stable")  # a group's positives, then its negatives
        kinds = np.array([ENTAILMENT, CONTRADICTION], dtype=np.int8)
        label = np.repeat(kinds, [len(positive.item), len(negative.item)])
        score = None if score is None else score[rows]
        return items.batch(anchor[owner][rows], hypothesis[rows], label[rows], chosen[owner][rows], score)

    def _fill(self, epoch: int, chosen: np.ndarray, hypothesis: np.ndarray, owner: np.ndarray, items: _Items) -> None:
        """Replace missing positives (-1), and texts equal to their anchor, by new items, in `hypothesis` itself."""
        texts, groups = self.groups.texts, self.groups
        change = self._make_change() if self.filled_positives else None
        copies = np.flatnonzero((hypothesis < 0) | (hypothesis == groups.anchor[chosen][owner]))
        draws = random.Random()
        before, turn = -1, 0
        for row in copies.tolist():
            unit = int(chosen[owner[row]])
            text = copy = texts[groups.anchor[unit]]
            if change and hypothesis[row] < 0:
                if unit != before:
                    before, turn = unit, 0
                    draws.seed((self.seed * 1_000_003 + epoch) * 1_000_000_007 + unit)
                start, stop = groups.positive.start[unit : unit + 2].tolist()
                source = texts[groups.positive.item[start + turn % (stop - start)]] if stop > start else copy
                text = change(source, draws) or copy
                turn += 1
            hypothesis[row] = items.add_item(text)

    def texts_of_units(self, epoch: int) -> Sequence[Sequence[int]]:
        lists = [np.split(kind.item, kind.start[1:-1]) for kind in self._groups_of(epoch)]
        each = zip(self.groups.anchor.tolist(), *lists, strict=True)
        return [[anchor, *more[more >= 0].tolist(), *less.tolist()] for anchor, more, less in each]

    @cached_per_epoch
    def _groups_of(self, epoch: int) -> tuple[_Lists, _Lists]:
        """Return positives and negatives of every anchor; -1: a positive that `_fill` makes."""
        draws = np.random.default_rng([self.seed, epoch, 1])
        positive, negative = self.groups.positive, self.groups.negative
        if self.positives:
            positive = _Lists.table(_exactly(positive, self.positives, draws))
        if self.negatives is not None:  # 0: the objective takes no negatives, so none is encoded
            table = _exactly(negative, self.negatives, draws)
            if self.filled_negatives:
                self._draw_negatives(table, draws)
            negative = _Lists.table(table)
        return positive, negative

    def _draw_negatives(self, table: np.ndarray, draws: np.random.Generator) -> None:
        """Draw each missing negative (-1 in `table`). A group gets a text twice only if there are no other texts."""
        for column in range(table.shape[1]):
            lacking = np.flatnonzero(table[:, column] < 0)
            for _ in range(_TRIES):
                drawn = self._pool[draws.integers(len(self._pool), size=len(lacking))]
                refused = self._refused(lacking, drawn) | (table[lacking] == drawn[:, None]).any(axis=1)
                table[lacking[~refused], column] = drawn[~refused]
                lacking = lacking[refused]
                if not len(lacking):
                    break
            for unit in lacking.tolist():  # only in a tiny corpus
                table[unit, column] = draws.choice(self._allowed(unit, table[unit]))

    def _refused(self, units: np.ndarray, items: np.ndarray) -> np.ndarray:
        """Return whether each item is no negative, as it is the anchor of its unit or an entailment of the anchor."""
        keys = units * len(self.groups.texts) + items
        if not len(self._entailed):
            return items == self.groups.anchor[units]
        at = np.minimum(np.searchsorted(self._entailed, keys), len(self._entailed) - 1)
        return (items == self.groups.anchor[units]) | (self._entailed[at] == keys)

    def _allowed(self, unit: int, drawn: np.ndarray) -> np.ndarray:
        pool = np.unique(self._pool)
        pool = pool[~self._refused(np.full(len(pool), unit), pool)]
        if not len(pool):
            raise UserError(
                f"no negative can be drawn for {self.groups.texts[self.groups.anchor[unit]]!r}: the corpus holds no "
                "entailment or contradiction of another premise; use more pairs, or objective.negatives=none"
            )
        fresh = np.setdiff1d(pool, drawn)
        return fresh if len(fresh) else pool


@dataclass(frozen=True)
class _Lists:
    """Lists of items, one for each unit, stored end to end."""

    item: np.ndarray
    """(items,) int64."""
    start: np.ndarray
    """(units + 1,) int64: unit u's items are item[start[u]:start[u + 1]]."""

    @classmethod
    def table(cls, items: np.ndarray) -> _Lists:
        """Make lists of n items from (units, n)."""
        units, width = items.shape
        return cls(items.reshape(-1), np.arange(units + 1) * width)

    def owner(self) -> np.ndarray:
        """Return the unit of each item, (items,)."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    def select(self, units: np.ndarray) -> _Lists:
        """Return the lists of some units, in the order given."""
        count = np.diff(self.start)[units]
        start = np.concatenate([[0], np.cumsum(count)])
        return _Lists(self.item[np.arange(start[-1]) + np.repeat(self.start[units] - start[:-1], count)], start)


@dataclass(frozen=True)
class _Scores:
    """A teacher's scores of anchors and their texts."""

    texts: int
    key: np.ndarray
    """(known,) int64, sorted: number of the unit * `texts` + number of the text."""
    score: np.ndarray
    """(known,) float32"""

    def lookup(self, unit: np.ndarray, item: np.ndarray) -> np.ndarray:  # (pairs,) int64 each -> (pairs,) float32
        """Return the scores of pairs. NaN: unknown, as for missing positives, whose `item` is below 0."""
        keys = unit * self.texts + item
        at = np.minimum(np.searchsorted(self.key, keys), len(self.key) - 1)
        return np.where((item >= 0) & (self.key[at] == keys), self.score[at], np.float32(np.nan))


@dataclass(frozen=True)
class _Groups:
    """Premises with their positives and negatives."""

    texts: list[str]
    anchor: np.ndarray
    """(anchors,) int64, index into `texts`."""
    positive: _Lists
    negative: _Lists
    without_pairs: int
    """Number of premises left out because they have neither an entailment nor a contradiction."""
    without_entailment: int
    """Number of premises left out because they have no entailment."""
    contradicted_entailments: int
    """Number of contradictions not used as hard negatives, because they equal the premise or an entailment of it."""
    scores: _Scores | None


def _make_groups(pairs: NLIPairs, need_positive: bool) -> _Groups:
    premises = len(set(pairs.premises))
    rows = np.flatnonzero(pairs.labels != NEUTRAL).tolist()
    texts, (premise, hypothesis) = _index([pairs.premises[i] for i in rows], [pairs.hypotheses[i] for i in rows])
    label = pairs.labels[rows]
    anchor, unit = np.unique(premise, return_inverse=True)  # texts are numbered as they appear, so in corpus order
    keys = unit * len(texts) + hypothesis  # sorted: by unit, and within it by first appearance in the corpus
    positive, negative = np.unique(keys[label == ENTAILMENT]), np.unique(keys[label == CONTRADICTION])
    itself = np.arange(len(anchor)) * len(texts) + anchor
    clean = negative[~np.isin(negative, np.concatenate([positive, itself]))]

    def lists(keys: np.ndarray, mask: np.ndarray) -> _Lists:
        keys = keys[mask[keys // len(texts)]]
        count = np.bincount(keys // len(texts), minlength=len(anchor))[mask]
        return _Lists(keys % len(texts), np.concatenate([[0], np.cumsum(count)]))

    with_positive, with_negative = (np.isin(np.arange(len(anchor)), keys // len(texts)) for keys in (positive, clean))
    anchors = with_positive if need_positive else with_positive | with_negative
    scores = None
    if pairs.scores is not None:
        scored = anchors[unit] & np.isfinite(pairs.scores[rows])
        anchor_index = np.cumsum(anchors) - 1  # index of a unit among the anchors
        key, first = np.unique((anchor_index[unit] * len(texts) + hypothesis)[scored], return_index=True)
        scores = _Scores(len(texts), key, pairs.scores[rows][scored][first]) if len(key) else None
    without_entailment = int((with_negative & ~with_positive).sum()) if need_positive else 0
    return _Groups(
        texts,
        anchor[anchors],
        lists(positive, anchors),
        lists(clean, anchors),
        premises - int((with_positive | with_negative).sum()),
        without_entailment,
        len(negative) - len(clean),
        scores,
    )


def _exactly(lists: _Lists, width: int, draws: np.random.Generator) -> np.ndarray:
    """Return (units, width): items drawn at random from each list, without replacement; -1: the list is too short."""
    owner = lists.owner()
    shuffled = np.lexsort((draws.random(len(owner)), owner))
    rank = np.arange(len(owner)) - lists.start[owner]
    table = np.full((len(lists.start) - 1, width), -1, dtype=np.int64)
    inside = rank < width
    table[owner[inside], rank[inside]] = lists.item[shuffled][inside]
    return table


def _index(*columns: Sequence[str]) -> tuple[list[str], list[np.ndarray]]:
    """Return the unique texts in order of appearance, row by row, and each column as indices into them."""
    index_of: dict[str, int] = {}
    index = np.array(
        [[index_of.setdefault(text, len(index_of)) for text in row] for row in zip(*columns, strict=True)],
        dtype=np.int64,
    ).reshape(-1, len(columns))
    return list(index_of), [np.ascontiguousarray(column) for column in index.T]


class _Items:
    """The items of a batch: texts of the corpus, each once, and further texts, such as second views."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.further: list[str] = []

    def add_item(self, text: str) -> int:
        """Add a text as a new item; return its number."""
        self.further.append(text)
        return len(self.texts) + len(self.further) - 1

    def batch(
        self,
        premise: np.ndarray,
        hypothesis: np.ndarray,
        label: np.ndarray,
        group: np.ndarray,
        score: np.ndarray | None = None,
    ) -> Batch:
        count = len(self.texts)
        used, index = np.unique(np.concatenate([premise, hypothesis]), return_inverse=True)
        sentences = [self.texts[i] if i < count else self.further[i - count] for i in used.tolist()]
        return Batch(
            sentences=sentences,
            premise=index[: len(premise)],
            hypothesis=index[len(premise) :],
            label=label,
            group=group.astype(np.int64),
            score=score,
        )
