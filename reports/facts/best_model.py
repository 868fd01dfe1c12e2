"""The best recipe of a study by the goals of its search, and the best of a recipe's trained models."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from reports.facts.cached import cached
from reports.facts.results import Results
from reports.facts.seed_race import study_race
from reports.facts.standings import Ranked
from reports.ledger import Record, is_fresh
from search_spaces.goals import ranking_key
from search_spaces.own_data import TF_IDF


@cached
def ranking(results: Results) -> list[Ranked]:
    """Return the study's recipes, the best first, those that lost a seed race last. TF-IDF is left out: it is no
    model."""
    lost = frozenset(key for key, recipe in study_race(results).items() if recipe.lost)
    return [each for each in results.ranked(lost) if results.labels.get(each.recipe_hash) != TF_IDF]


def best_first(results: Results, records: list[Record]) -> list[Record]:
    """Sort trials by the goals of the search, the best first, ties and unknown values by seed. Trials of the finals
    come before all others, because answers are about the finals."""

    def sort_key(record: Record) -> tuple[bool, tuple[float, ...], int]:
        own = ranking_key(results.measured_goals, record.scores, record.cost)
        return is_fresh(record.seed), own, -record.seed

    return sorted(records, key=sort_key, reverse=True)


def with_model(results: Results, records: Iterable[Record], fetch: Callable[[str], object]) -> Record | None:
    """Return the first trial whose model is in the folder, or is copied into it by `fetch`; None if there is none."""
    for record in records:
        if record.checkpoint:
            fetch(record.checkpoint)
            if (results.folder / record.checkpoint).is_dir():
                return record
    return None
