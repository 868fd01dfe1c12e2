"""How much of what a study was asked for is there: trials of the rows, each under every seed that matters to it, and of
the finals."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainables.recipe import Recipe

if TYPE_CHECKING:
    from reports.ledger.finals import Finals
    from reports.results import Results


FEWEST = 3
"""With so many fresh seeds a finalist is judged, where a limit ended the finals before it had all of them."""


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
    return total([*finals_extents(results, finals).values()])


def finals_extents(results: Results, finals: Finals) -> dict[str, Extent]:
    """Of each recipe of the finals, by hash."""
    wanted = dict.fromkeys(filter(None, [*finals.finalists, finals.baseline]), finals.seeds)
    wanted |= {finals.base: finals.base_seeds} if finals.base else {}
    wanted |= {finals.as_it_came: 1} if finals.as_it_came else {}
    there = {key: len(results.finals.get(key, ())) for key in wanted}
    wanted |= {key: 1 for key in wanted if there[key] and not _moves(results, key)}
    return {key: Extent(min(there[key], most), most) for key, most in wanted.items()}


def finals_judged(results: Results) -> set[str]:
    """Of the recipes of the finals, by hash, those that an answer rests on: all where these are complete. Where a limit
    ended them those with all of their seeds or `FEWEST`, for it was the clock that chose, and no score; none where the
    base is not among them, or no finalist. None of finals that still run."""
    finals = results.info.finals
    if finals is None or not finals.finalists:
        return set()
    found = finals_extents(results, finals)
    ready = {key for key, extent in found.items() if extent.there >= min(extent.wanted, FEWEST)}
    whole = all(extent.there == extent.wanted for extent in found.values())
    if whole or (results.info.limited and finals.base in ready and ready & {*finals.finalists}):
        return ready
    return set()


def _moves(results: Results, recipe_hash: str) -> bool:
    return Recipe.from_flat(results.finals[recipe_hash][0].recipe).uses_seed


def total(found: Collection[Extent]) -> Extent:
    """Over all rows."""
    return Extent(sum(extent.there for extent in found), sum(extent.wanted for extent in found))
