"""The finals of a search: its best recipes again, under fresh seeds, and the recipes that they are compared with.

A trial of the finals has its own record like any other trial; its fresh seed distinguishes it from explored trials. A
row whose result does not depend on the seed has one record, of seed 0. Before the finals, recipes may run on a part of
the data. Those scores decide only which recipes are explored further. After the finals come soups: the weights of the
recipe to use are averaged over its fresh seeds, mixed with the original encoder, and scored. Last may come a learning
curve: the recipe to use, trained on parts of the data under the finals' seeds.
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

PART_SEED, FIRST_FRESH_SEED, FIRST_SOUP_SEED = 500_000, 1_000_000, 2_000_000
"""`PART_SEED`: the seed of all trials that explore on a part of the data. `FIRST_FRESH_SEED`: the first fresh seed of
finals. `FIRST_SOUP_SEED`: the smallest number that a soup's record has as its seed. All are larger than any seed of
`--seeds`."""
SHARE = "corpus.share"
"""The recipe key for the share of the data that is used. A part has all pairs of each of its texts. A smaller part is
contained in a larger one. The number of epochs stays the same."""

CURVE_SHARES: Mapping[str, float] = MappingProxyType({"1/2": 0.5, "1/4": 0.25, "1/8": 0.125})
"""Shares of the data on which a learning curve trains. The largest comes first, because a limit may end the curve
early. All of the data needs no further trial: the finals have trained on it."""


TIE_MARGIN, MAX_TIME_RATIO = 0.3, 1.5
"""For a search on parts of the data. Recipes whose scores differ by at most `TIE_MARGIN` points count as equally good.
A recipe is passed over if its training takes more than `MAX_TIME_RATIO` times as long as that of a better or equally
good recipe."""

SOUP_SHARES = (1.0, 0.75, 0.5, 0.25)
"""Weight of the trained model in a soup; the rest is the weight of the original encoder."""


@dataclass(frozen=True)
class SoupVariant:
    """One soup of a recipe: an average over its fresh seeds, mixed with the original encoder."""

    share: float
    """Weight of the trained models in the soup, one of `SOUP_SHARES`."""
    without: int | None = None
    """The fresh seed whose model is left out of the average; None: no model is left out."""

    @property
    def seed(self) -> int:
        """The number that the soup's record has as its seed."""
        left_out = 0 if self.without is None else self.without - FIRST_FRESH_SEED + 1
        return FIRST_SOUP_SEED + len(SOUP_SHARES) * left_out + SOUP_SHARES.index(self.share)

    @classmethod
    def of(cls, seed: int) -> SoupVariant:
        """Return the soup that has this `seed`."""
        left_out, index = divmod(seed - FIRST_SOUP_SEED, len(SOUP_SHARES))
        return cls(SOUP_SHARES[index], FIRST_FRESH_SEED + left_out - 1 if left_out else None)


def fresh_seeds(count: int) -> range:
    """Return the first `count` fresh seeds, which the finals use."""
    return range(FIRST_FRESH_SEED, FIRST_FRESH_SEED + count)


def is_fresh(seed: int) -> bool:
    """Return whether this is a fresh seed, which no search has seen, or the seed of a soup."""
    return seed >= FIRST_FRESH_SEED


def is_soup(seed: int) -> bool:
    """Return whether this number is the seed of a soup's record."""
    return seed >= FIRST_SOUP_SEED


def is_explored(seed: int) -> bool:
    """Return whether this seed is one of `--seeds`. Tables are made of such trials, and searches learn from them."""
    return seed < PART_SEED


def seed_in_words(seed: int) -> str:
    """Return a seed in words: `seed 2`; `fresh seed 2` in finals, counted from 0; `seed 0` on a part of the data. For a
    soup return `average, 25% original`, where 25 % is the weight of the original encoder."""
    if seed == PART_SEED:
        return "seed 0"
    if is_soup(seed):
        variant = SoupVariant.of(seed)
        without = "" if variant.without is None else f", without {seed_in_words(variant.without)}"
        original = "" if variant.share == 1 else f", {1 - variant.share:.0%} original"
        return f"average{original}{without}"
    return f"fresh seed {seed - FIRST_FRESH_SEED}" if is_fresh(seed) else f"seed {seed}"


def part_name(share: float, whole: str) -> str:
    """Return the name of a recipe on a part of the data: `1/2 of the data: #17 tau 0.05`."""
    return f"{share_in_words(share)}: {whole}"


def share_in_words(share: float) -> str:
    """Return a share of the data in words: `1/8 of the data`."""
    return "all of the data" if share == 1 else f"{Fraction(share).limit_denominator(64)} of the data"


@dataclass(frozen=True)
class LearningCurve:
    """The recipes of a learning curve: the recipe to use on all of the data, and on parts of it."""

    whole: Hash | None = None
    """The recipe to use; None until it is known, and if the answer is to train nothing."""
    parts: dict[str, Hash | None] = field(default_factory=dict)
    """Maps each name in `CURVE_SHARES` to the recipe on that part; None if the part is too small for the recipe."""


@dataclass(frozen=True)
class Finals:
    """The plan of a study's finals: their size, and the recipes in them."""

    recipes: Annotated[int, at_least(1)]
    """Number of finalists that were requested."""
    seeds: Annotated[int, at_least(1)]
    """Number of fresh seeds of each finalist, of the base settings and of the baseline."""
    finalists: list[Hash] = field(default_factory=list)
    """Finalists, sorted by development score, the best first; empty until the exploration is over."""
    base: Hash | None = None
    as_it_came: Hash | None = None
    """The original encoder; None if it cannot be scored without training."""
    baseline: Hash | None = None
    """The space's baseline row; None if the space has none that can be run."""
    smaller: bool = False
    """Whether the finals have fewer recipes and seeds than usual because a limit leaves no room for more."""
    curve: LearningCurve | None = None
    """The learning curve after the finals; None if it was not requested."""
    chosen: bool = False
    """Whether the finalists are decided; there are none if no recipe beats the base settings. Missing in older
    files."""

    @property
    def hashes(self) -> set[str]:
        """The recipes that the finals compare: finalists, base settings, original encoder and baseline."""
        return {*self.finalists, *filter(None, (self.base, self.as_it_came, self.baseline))}


class RecordGroups(NamedTuple):
    """The records of a study, grouped by purpose."""

    own: list[Record]
    """Records of rows and explored recipes on all of the data, under the seeds of `--seeds`."""
    finals: dict[str, list[Record]]
    """Records of the trials of the finals, sorted by seed, by recipe hash."""
    parts: list[Record]
    """Records of trials on a part of the data."""
    soups: list[Record]


def group_records(records: Iterable[Record], rows: Iterable[str | None], plan: Finals | None) -> RecordGroups:
    """Group records by purpose. `rows`: the recipe hashes of the rows. `plan`: the study's finals."""
    compared = {*rows} & (plan.hashes if plan else set())
    kinds = RecordGroups([], {}, [], [])
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


def recipe_on_all_data(recipe: Mapping[str, Any], base: Mapping[str, Any]) -> tuple[float, Recipe] | None:
    """For a flat recipe on a part of the data of `base`, return the share of that data and the recipe on all of it.
    Return None for any other recipe."""
    share, whole = recipe.get(SHARE), base.get(SHARE)
    if share is None or whole is None or share >= whole:
        return None
    return share / whole, Recipe.from_flat(recipe).override({SHARE: whole})
