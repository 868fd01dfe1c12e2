"""How much of what a study was asked for is there: trials of the rows, each under every seed that matters to it, and of
the finals."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainables.recipe import Recipe

if TYPE_CHECKING:
    from reports.results import Results


@dataclass(frozen=True)
class Extent:
    """Trials of a row, or of all rows."""

    there: int
    """Finished, or stopped early on purpose."""
    wanted: int


def extents(results: Results) -> dict[str, Extent]:
    """Of every row that can be run, by label. A row that no seed changes wants one trial."""
    return {
        label: _extent(results, label, recipe_hash)
        for label in results.asked_rows
        if (recipe_hash := results.info.row_hashes[label])
    }


def _extent(results: Results, label: str, recipe_hash: str) -> Extent:
    there = {record.seed for record in results.of_row(label)}
    there |= {r.seed for r in results.records if r.recipe_hash == recipe_hash and r.status == "pruned"}
    if not needs_seeds(results, label):
        return Extent(min(1, len(there)), 1)
    return Extent(len(there & set(results.info.seeds)), len(results.info.seeds))


def needs_seeds(results: Results, label: str) -> bool:
    """Whether a seed changes what the row scores."""
    records = results.of_row(label)
    if records:
        return records[0].recipe_hash not in results.fixed
    return results.base.preferring(results.space.row(label).overrides).uses_seed


def finals_extent(results: Results) -> Extent | None:
    """Of the trials of the finals; nothing is there, and nobody knows how many are wanted, while the search explores.
    None where the study has no finals."""
    finals = results.info.finals
    if finals is None or not finals.finalists:
        return None if finals is None else Extent(0, 0)
    wanted = dict.fromkeys(filter(None, [*finals.finalists, finals.baseline]), finals.seeds)
    wanted |= {finals.base: finals.base_seeds} if finals.base else {}
    wanted |= {finals.as_it_came: 1} if finals.as_it_came else {}
    there = {key: len(results.finals.get(key, ())) for key in wanted}
    wanted |= {key: 1 for key in wanted if there[key] and not _moves(results, key)}
    return total([Extent(min(there[key], most), most) for key, most in wanted.items()])


def _moves(results: Results, recipe_hash: str) -> bool:
    return Recipe.from_flat(results.finals[recipe_hash][0].recipe).uses_seed


def total(found: Collection[Extent]) -> Extent:
    """Over all rows."""
    return Extent(sum(extent.there for extent in found), sum(extent.wanted for extent in found))
