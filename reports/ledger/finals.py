"""The finals of a search: its best recipes again, under new random seeds, beside what they are compared with.

A final trial is a trial as any other, with a record of its own. Its fresh seed tells it from those that explored. A
row that no seed changes has one record, of seed 0. Before the finals recipes may have run on a part of their data: what
they scored there said which of them to explore further, and is in no figure. After the finals come soups: the weights
of the fresh seeds of the recipe to use are averaged, mixed with the untrained encoder, and scored. After these may
come a learning curve: that recipe on parts of its data, under the finals' seeds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

from reports.ledger.folders import Hash
from reports.ledger.record import Record
from trainables.keys import at_least
from trainables.recipe import Recipe

PART, FIRST_FRESH, SOUP = 500_000, 1_000_000, 2_000_000
"""The seed of all that explores on a part of the data, the first of the finals' own stream, and the first number of
what a soup's record has in place of a seed. `--seeds` never comes so far."""
SHARE = "corpus.share"
"""The key that cuts the data. A part has all that is paired with a text; the smaller one is contained in the larger
one, and epochs stay."""

SHARES: Mapping[str, float] = MappingProxyType({"1/2": 0.5, "1/4": 0.25, "1/8": 0.125})
"""Of the data, on which a learning curve trains; all of them are the finals' own trials. The last doubling comes first:
a limit may end the curve."""


NEAR, LONGER = 0.3, 1.5
"""Points that part recipes of which one is as good as the other in a search on parts of the data; and how many times as
long a training is that gives way to a better one, or to one as good."""

SOUP_SHARES = (1.0, 0.75, 0.5, 0.25)
"""How much of the training a soup has; the rest is of the untrained encoder."""


@dataclass(frozen=True)
class SoupVariant:
    """One soup of a recipe."""

    share: float
    """One of `SOUP_SHARES`."""
    without: int | None = None
    """The fresh seed whose model is left out; None: all are in it."""

    @property
    def seed(self) -> int:
        """What its record has in place of a seed."""
        left_out = 0 if self.without is None else self.without - FIRST_FRESH + 1
        return SOUP + len(SOUP_SHARES) * left_out + SOUP_SHARES.index(self.share)

    @classmethod
    def of(cls, seed: int) -> SoupVariant:
        """The inverse of `seed`."""
        left_out, place = divmod(seed - SOUP, len(SOUP_SHARES))
        return cls(SOUP_SHARES[place], FIRST_FRESH + left_out - 1 if left_out else None)


def fresh_seeds(count: int) -> range:
    """The first so many seeds of finals."""
    return range(FIRST_FRESH, FIRST_FRESH + count)


def is_fresh(seed: int) -> bool:
    """Whether it is a seed of finals, which no search has seen, or a soup of these."""
    return seed >= FIRST_FRESH


def is_soup(seed: int) -> bool:
    """Whether it stands for a soup."""
    return seed >= SOUP


def is_explored(seed: int) -> bool:
    """Whether it is one of `--seeds`, of which tables are made and from which searches learn."""
    return seed < PART


def seed_in_words(seed: int) -> str:
    """`seed 2`; of the finals `fresh seed 2`, counted from 0 as others are; on a part of the data, which has one alone,
    `seed 0`; `average, 75% trained`, how much of the training a soup has."""
    if seed == PART:
        return "seed 0"
    if is_soup(seed):
        variant = SoupVariant.of(seed)
        without = "" if variant.without is None else f" without {seed_in_words(variant.without)}"
        return f"average, {variant.share:.0%} trained{without}"
    return f"fresh seed {seed - FIRST_FRESH}" if is_fresh(seed) else f"seed {seed}"


def part_name(share: float, whole: str) -> str:
    """Of a recipe on a part of its data: `1/2 of the data: #17 tau 0.05`."""
    return f"{share_in_words(share)}: {whole}"


def share_in_words(share: float) -> str:
    """`1/8 of the data`."""
    return "all of the data" if share == 1 else f"{Fraction(share).limit_denominator(64)} of the data"


@dataclass(frozen=True)
class LearningCurve:
    """A recipe of the finals, and the same on parts of its data."""

    whole: Hash | None = None
    """The recipe to use; None until it is known, and where nothing is to be trained."""
    parts: dict[str, Hash | None] = field(default_factory=dict)
    """By the names of `SHARES`; None where a part is too small for the recipe."""


@dataclass(frozen=True)
class Finals:
    """What the finals of a study are of."""

    recipes: Annotated[int, at_least(1)]
    """How many finalists were asked for."""
    seeds: Annotated[int, at_least(1)]
    """How many fresh seeds each of them has, the base and the baseline."""
    finalists: list[Hash] = field(default_factory=list)
    """The best by their development scores first; empty until the exploration is over."""
    base: Hash | None = None
    """The recipe that the space sets without any search."""
    as_it_came: Hash | None = None
    """The encoder without any training; None where it cannot be scored so."""
    baseline: Hash | None = None
    """The space's baseline row, where it has one that can be run."""
    smaller: bool = False
    """Whether recipes and seeds are fewer than usual, for want of room in a limit."""
    curve: LearningCurve | None = None
    """What they end with; None where nobody asked for it."""
    chosen: bool = False
    """Whether the finalists are known: where no recipe is above the base settings there are none. Older studies lack
    it."""

    @property
    def hashes(self) -> set[str]:
        """Of all that are compared."""
        return {*self.finalists, *filter(None, (self.base, self.as_it_came, self.baseline))}


class Apart(NamedTuple):
    """The records of a study, by what they are for."""

    own: list[Record]
    """Those that rows and explored recipes rest on."""
    finals: dict[str, list[Record]]
    """By recipe hash, by seed."""
    parts: list[Record]
    """On parts of the data."""
    soups: list[Record]


def apart(records: Iterable[Record], rows: Iterable[str | None], plan: Finals | None) -> Apart:
    """`rows`: their hashes; `plan`: what the study's finals are of."""
    compared = {*rows} & (plan.hashes if plan else set())
    kinds = Apart([], {}, [], [])
    for record in sorted(records, key=lambda record: (record.recipe_hash, record.seed)):
        key, fresh = record.recipe_hash, is_fresh(record.seed)
        if is_soup(record.seed):
            kinds.soups.append(record)
            continue
        if fresh or (key in compared and not Recipe.from_flat(record.recipe).uses_seed):
            kinds.finals.setdefault(key, []).append(record)
        if not fresh:
            (kinds.own if is_explored(record.seed) else kinds.parts).append(record)
    return kinds


def whole_of(recipe: Mapping[str, Any], base: Mapping[str, Any]) -> tuple[float, Recipe] | None:
    """Of a flat recipe on a part of the data that `base` has the share, and the recipe on all of them; else None."""
    share, whole = recipe.get(SHARE), base.get(SHARE)
    if share is None or whole is None or share >= whole:
        return None
    return share / whole, Recipe.from_flat(recipe).override({SHARE: whole})
