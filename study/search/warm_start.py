"""What other studies found, as advice to a search: `--learn-from RESULTS`.

A source is the finished recipes of another study that are points of this search space, each with its goals' means over
seeds. While a source is trusted, every second of the first `EARLY` recipes of the search, and every fifth later, is the
best of its recipes that was not tried here yet; the sampler chooses the others. Whatever is tried is run and scored
here, and the sampler learns from these scores only: another study's numbers, on another encoder or other data, are no
numbers of this one, and what Optuna was told once cannot be taken back. A source is trusted as long as it agrees: what
it would have predicted for the recipes finished here (the mean of its `NEAREST` nearest ones) must go up and down with
their scores. By Kendall's tau it must not go against them once `FIRST` are finished, and it must agree at the level
`LEVEL` once `ENOUGH` are. So a source that misleads costs a search a few of its first recipes, and one that was doubted
too soon comes back when there is more to judge by. Later the test is weak, as a sampler's own choices are alike: that
is why a source has few turns then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from reports.ledger import LEDGER, Ledger, StudyInfo, is_explored
from search_spaces.domain_values import scaled
from search_spaces.goals import searched, upward_values
from search_spaces.space import Domain, Space
from study.search.points import means, point
from trainables.errors import UserError
from trainables.recipe import Recipe, Value

FIRST, ENOUGH = 3, 8
"""Recipes that must be finished before a source can be doubted, and before it must have proved itself."""
LEVEL = 0.05
"""Of the test of agreement. A source that knows nothing passes about twice as often, as recipes that are alike have
scores that are alike."""
NEAREST = 3
"""Recipes of a source whose mean is what it predicts."""
EARLY, EVERY, LATER = 12, 2, 5
"""Up to so many recipes every second is a source's turn, then every fifth."""
BEST = 0.25
"""The share of a source's recipes that it proposes at most."""

Chosen = Mapping[str, Value]
"""The domains' values of a recipe, where they apply."""


@dataclass(frozen=True)
class Source:
    """Finished recipes of another study: what the domains' values were, and the goals' values, all maximised."""

    name: str
    chosen: Sequence[Chosen]
    values: Sequence[Sequence[float]]

    @cached_property
    def ranks(self) -> np.ndarray:  # (recipes,)
        """The higher the better: of several goals the mean of the ranks."""
        return _ranks(np.array(self.values, dtype=float))

    @cached_property
    def best(self) -> list[Chosen]:
        """Those that it proposes, the best first."""
        order = np.argsort(-self.ranks, kind="stable")
        return [self.chosen[number] for number in order[: math.ceil(BEST * len(order))]]


class WarmStart:
    """Proposes recipes of other studies to a search."""

    def __init__(self, sources: Sequence[Source], domains: Sequence[Domain]) -> None:
        self.sources, self.domains = list(sources), domains
        self._points = {source.name: self._matrix(source.chosen) for source in sources}
        self._predicted: dict[tuple[str, frozenset[tuple[str, Value]]], float] = {}

    def propose(
        self, asked: Sequence[Chosen], finished: Sequence[tuple[Chosen, Sequence[float]]]
    ) -> tuple[str, Chosen] | None:
        """The source's name and the recipe that is to be tried next; None where the sampler is to choose.

        `asked`: all recipes of this search so far. `finished`: those that came to their end, and their goals' values.
        """
        if len(asked) % (EVERY if len(asked) < EARLY else LATER):
            return None
        tried = {_key(chosen) for chosen in asked}
        trusted = [source for source in self.sources if self.trusts(source, finished)]
        for turn in range(len(trusted)):
            source = trusted[(len(asked) // 2 + turn) % len(trusted)]
            for chosen in source.best:
                if _key(chosen) not in tried:
                    return source.name, chosen
        return None

    def trusts(self, source: Source, finished: Sequence[tuple[Chosen, Sequence[float]]]) -> bool:
        """Whether what the source predicts agrees with what was found here."""
        if len(finished) < FIRST:
            return True
        from scipy.stats import kendalltau

        predicted = [self._predict(source, chosen) for chosen, _ in finished]
        found = _ranks(np.array([values for _, values in finished], dtype=float))
        agreement = kendalltau(predicted, found, alternative="greater")
        if len(finished) < ENOUGH:
            return not agreement.statistic < 0
        return bool(agreement.pvalue <= LEVEL)  # not where it predicts the same for all

    def _predict(self, source: Source, chosen: Chosen) -> float:
        known = source.name, _key(chosen)
        if known not in self._predicted:
            apart = self._distances(self._points[source.name], self._matrix([chosen])[0])
            near = np.argsort(apart, kind="stable")[:NEAREST]
            self._predicted[known] = float(source.ranks[near].mean())
        return self._predicted[known]

    def _matrix(self, chosen: Sequence[Chosen]) -> np.ndarray:  # (recipes, domains)
        """Each value on its domain's scale; NaN where it does not apply."""
        return np.array([[scaled(domain, values.get(domain.key)) for domain in self.domains] for values in chosen])

    def _distances(self, points: np.ndarray, point: np.ndarray) -> np.ndarray:  # (recipes,)
        """The sum over domains: 1 for another choice, and where only one has a value."""
        apart = np.abs(points - point)
        choices = np.array([bool(domain.choices) for domain in self.domains])
        apart = np.where(choices & (apart > 0), 1.0, apart)
        both = np.isnan(points) & np.isnan(point)
        return np.where(both, 0.0, np.where(np.isnan(apart), 1.0, apart)).sum(axis=1)


def load_source(folder: Path, base: Recipe, space: Space) -> Source:
    """What a results folder knows of this space, other keys aside: recipes that are finished with all goals.

    `UserError` where the folder is no study's, or knows nothing of it.
    """
    info = StudyInfo.load(folder)
    goals = searched(space.goals)
    # Its finals have the seeds of this study's, whose scores must have no say in what is chosen.
    records = [record for record in Ledger(folder / LEDGER, info.asked).read() if is_explored(record.seed)]
    found: dict[str, tuple[Chosen, list[list[float]]]] = {}
    for record in records:
        chosen = point(record.recipe, base, space.domains)
        values = upward_values(goals, record.scores, record.cost)
        if record.status == "finished" and values is not None and chosen is not None:
            found.setdefault(record.recipe_hash, (chosen, []))[1].append(values)
    if not found:
        raise UserError(
            f"--learn-from {folder} has nothing to learn from: no recipe that is finished there lies in the domains of "
            f"{space.name!r} ({', '.join(domain.key for domain in space.domains)}) and has the scores that are searched"
        )
    recipes = list(found.values())
    return Source(str(folder), [chosen for chosen, _ in recipes], [means(seeds) for _, seeds in recipes])


def _key(chosen: Chosen) -> frozenset[tuple[str, Value]]:
    return frozenset(chosen.items())


def _ranks(values: np.ndarray) -> np.ndarray:  # (recipes, goals) -> (recipes,)
    from scipy.stats import rankdata

    ranks: np.ndarray = rankdata(values, axis=0).mean(axis=1)
    return ranks
