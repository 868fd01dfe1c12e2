"""Detects rows that are one recipe in effect, and limits that rows set differently without any effect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

from reports.ledger import Record, mean_measured
from trainables.recipe import Value

CAPS = {"objective.positives": "positives_per_anchor", "objective.negatives": "negatives_per_anchor"}
"""Recipe keys that are upper limits, each with the name of the measurement that shows how far it was reached."""
MEASURED = (*CAPS.values(), "anchors", "pairs", "sentences", "tokens", "steps")
"""Measurements that distinguish two trainings which differ in limits only."""
MIN_NUMBERS = 4
"""If two trials have at least this many scores, and all are equal to the last digit, this is no accident."""
CLOSE = 0.01
"""Means of measurements that differ by at most this share count as equal."""

Figures = tuple[tuple[str, str, float], ...]
"""A trial's scores, each as (task, name of the score, value)."""


@dataclass(frozen=True, eq=False)
class RecipeTrials:
    """A recipe and its trials, to compare with another recipe."""

    records: Sequence[Record]

    @cached_property
    def by_seed(self) -> dict[int, tuple[Figures, Any, tuple[Any, str]]]:
        """By seed: the trial's scores, its loss, and its seconds with its time of end."""
        return {
            record.seed: (
                figures(record),
                record.training.get("loss"),
                (record.cost.get("seconds"), record.finished_at),
            )
            for record in self.records
        }


@dataclass(frozen=True)
class SameRecipe:
    """Why two recipes are one in effect."""

    reason: Literal["name", "scores", "limits"]
    """`name`: one recipe, two names; `scores`: all scores are equal; `limits`: the limits that differ had no effect."""
    measured: tuple[tuple[str, float, float], ...] = ()
    """For `limits`: each limit's key, and the measurement of each of the two recipes."""


@dataclass(frozen=True)
class NotVaried:
    """Limits that rows set differently although training measured the same for all of them."""

    alike: tuple[tuple[str, float], ...]
    """Key of each such limit, and the measurement, which is about the same in all rows."""
    others: tuple[str, ...]
    """Keys of the other limits that the rows set differently; their effects differ, too."""


def one_in_effect(first: RecipeTrials, second: RecipeTrials) -> SameRecipe | None:
    """Return why two recipes are one in effect; None if they are not, or if it is unknown.

    They are one if they differ in limits alone and no limit had an effect: training measured the same. They are also
    one if they scored the same under every common seed. A copied trial is another matter: `same_trials`.
    """
    own, other = first.records[0], second.records[0]
    if own.recipe_hash == other.recipe_hash:
        return SameRecipe("name")
    if same_trials(first, second):
        return SameRecipe("scores")
    if not differing(own.recipe, other.recipe) <= CAPS.keys():
        return None
    measured = [[mean_measured(recipe.records, name) for name in MEASURED] for recipe in (first, second)]
    limits = zip(CAPS, *(means[: len(CAPS)] for means in measured), strict=True)
    caps = tuple((key, mine, theirs) for key, mine, theirs in limits if mine is not None and theirs is not None)
    if len(caps) < len(CAPS) or not all(map(_close, *measured)):
        return None
    return SameRecipe("limits", caps)


def same_trials(first: RecipeTrials, second: RecipeTrials) -> bool:
    """Whether two recipes trained to the same loss and scored the same under every common seed.

    False if a trial is a copy of the other's: with another loss, or ended in the same second after the same time.
    """
    shared = [(trial, second.by_seed[seed]) for seed, trial in first.by_seed.items() if seed in second.by_seed]
    return bool(shared) and all(
        a[0] and a[:2] == b[:2] and not (a[2] == b[2] and a[2][0] is not None) for a, b in shared
    )


def shared_trials(recipes: Mapping[str, RecipeTrials]) -> tuple[list[frozenset[str]], list[frozenset[str]]]:
    """Return groups of recipes, by hash, that have all scores of a seed in common.

    The recipes of the first groups are one in effect: `same_trials`. In the second groups a recipe has a copied trial.
    """
    by_figures: dict[tuple[int, Figures], list[str]] = {}
    for key, recipe in recipes.items():
        for seed, (numbers, *_) in recipe.by_seed.items():
            if numbers:
                by_figures.setdefault((seed, numbers), []).append(key)
    pairs = {pair for group in by_figures.values() for pair in combinations(sorted(group), 2)}
    alike = {(first, second) for first, second in pairs if same_trials(recipes[first], recipes[second])}
    return merged_groups(map(frozenset, alike)), merged_groups(map(frozenset, pairs - alike))


def merged_groups(groups: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Join groups that share a member. The result is sorted by the position of each joined group's last group."""
    ordered = sorted(groups, key=sorted)
    of: dict[str, frozenset[str]] = {}
    for group in ordered:
        if not group <= of.get(next(iter(group)), frozenset()):
            whole = group.union(*(of.get(member, ()) for member in group))
            of |= dict.fromkeys(whole, whole)
    ends = {of[next(iter(group))]: index for index, group in enumerate(ordered)}
    return sorted(ends, key=lambda whole: ends[whole])


def figures(record: Record) -> Figures:
    """Return all test and development numbers of a trial; empty if they are too few to distinguish trials."""
    values = tuple(
        (task, name, float(value))
        for task, numbers in sorted(record.scores.items())
        for name, value in sorted(numbers.items())
        if name not in ("examples", "seconds", "reason") and isinstance(value, int | float)
    )
    return values if len(values) >= MIN_NUMBERS else ()


def differing(first: Mapping[str, Value], second: Mapping[str, Value]) -> set[str]:
    """Return the keys in which two flat recipes differ."""
    return {key for key in first.keys() | second.keys() if first.get(key) != second.get(key)}


def not_varied(rows: Sequence[tuple[Mapping[str, Value], Sequence[Record]]]) -> NotVaried | None:
    """Return the limits that these rows set differently although training measured the same for all of them.

    Each row is its flat recipe and its records (none if it has not run). Returns None if there is no such limit, if all
    limits are such (then the rows are one recipe in effect), and if fewer than two rows have measured it.
    """
    set_apart = [key for key in CAPS if len({str(recipe.get(key)) for recipe, _ in rows}) > 1]
    alike = {}
    for key in set_apart:
        means = [mean for _, records in rows if (mean := mean_measured(records, CAPS[key])) is not None]
        if len(means) > 1 and all(_close(means[0], mean) for mean in means):
            alike[key] = means[0]
    if not alike or len(alike) == len(set_apart):
        return None
    return NotVaried(tuple(alike.items()), tuple(key for key in set_apart if key not in alike))


def _close(first: float | None, second: float | None) -> bool:
    """Whether two measurements are equal within `CLOSE`; two missing measurements are equal."""
    if first is None or second is None:
        return first is second
    return abs(first - second) <= CLOSE * max(abs(first), abs(second))
