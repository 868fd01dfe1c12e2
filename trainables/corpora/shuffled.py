"""The random order of units (such as pairs or groups) in an epoch, and the units of each batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

Value = TypeVar("Value")


def cached_per_epoch(method: Callable[[Any, int], Value]) -> Callable[[Any, int], Value]:
    """Decorate a method that takes an epoch's number: the object caches the method's value for the last epoch."""
    name = f"{method.__name__} of the last epoch"

    @functools.wraps(method)
    def value(self: Any, epoch: int) -> Value:
        if self.__dict__.get(name, (None,))[0] != epoch:
            self.__dict__[name] = epoch, method(self, epoch)
        last: Value = self.__dict__[name][1]
        return last

    return value


class Shuffled:
    """Base of samplers that shuffle units anew each epoch. `no_duplicates`: no two units of a batch share a text."""

    def __init__(self, units: int, size: int, seed: int, no_duplicates: bool = False) -> None:
        self.units, self.size, self.seed, self.no_duplicates = units, min(size, units), seed, no_duplicates
        self.steps_per_epoch = units // self.size
        self.left_out_each_epoch = units - self.steps_per_epoch * self.size

    @property
    def counts(self) -> dict[str, int]:
        """Counts of units, units left out and short batches, for the description of the corpus in a record."""
        if not self.no_duplicates:
            return {"anchors": self.units, "left_out_each_epoch": self.left_out_each_epoch}
        sizes = [len(batch) for batch in self._batches(0)]
        short = sum(size < self.size for size in sizes)
        return {"anchors": self.units, "left_out_first_epoch": self.units - sum(sizes), "short_batches": short}

    def draw(self, step: int) -> tuple[int, np.ndarray]:
        """Return the epoch of a step, and the units of its batch."""
        epoch, part = divmod(step, self.steps_per_epoch)
        return epoch, self._batches(epoch)[part]

    @cached_per_epoch
    def _batches(self, epoch: int) -> Sequence[np.ndarray]:
        order = np.random.default_rng([self.seed, epoch, 0]).permutation(self.units)
        if self.no_duplicates:
            return fill_batches(order, self.texts_of_units(epoch), self.steps_per_epoch, self.size)
        return list(order[: self.steps_per_epoch * self.size].reshape(self.steps_per_epoch, self.size))

    def texts_of_units(self, epoch: int) -> Sequence[Sequence[int]]:
        """Return the numbers of the texts of each unit."""
        raise NotImplementedError


def fill_batches(order: np.ndarray, texts: Sequence[Sequence[int]], batches: int, size: int) -> list[np.ndarray]:
    """Return the units of each batch. Each unit, in `order`, goes into the first batch that is not full and has none of
    the unit's texts. `texts`: numbers of the texts of each unit.

    A unit that fits in no batch is left out, so a batch may have fewer than `size` units.
    """
    units = [list[int]() for _ in range(batches)]
    texts_of = [set[int]() for _ in range(batches)]
    first, start = 0, dict[int, int]()  # all batches before these are full, or have the text

    def full(batch: int) -> bool:
        return len(units[batch]) == size

    for unit in order.tolist():
        mine = {*texts[unit]}
        while first < batches and full(first):
            first += 1
        for text in mine:
            at = max(first, start.get(text, 0))
            while at < batches and (full(at) or text in texts_of[at]):
                at += 1
            start[text] = at
        batch = max(start[text] for text in mine)
        while batch < batches and (full(batch) or not texts_of[batch].isdisjoint(mine)):
            batch += 1
        if batch < batches:
            units[batch].append(unit)
            texts_of[batch] |= mine
    return [np.array(chosen, dtype=np.int64) for chosen in units]
