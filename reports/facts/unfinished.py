"""Done and planned trials of a study: of the rows, each under every seed that matters to it, and of the finals."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from reports.facts.results import Results
from reports.ledger import Finals, Record
from trainables.recipe import Recipe


@dataclass(frozen=True)
class Extent:
    """Numbers of done and planned trials, of one row, of all rows or of the finals."""

    done: int
    """Trials that finished, or that were stopped early on purpose."""
    planned: int


def extents(results: Results) -> dict[str, Extent]:
    """Return by label the done and planned trials of every row that can be run. A row that no seed changes needs
    one."""
    return {
        label: _extent(results, label, recipe_hash)
        for label in results.asked_rows
        if (recipe_hash := results.info.row_hashes[label])
    }


def _extent(results: Results, label: str, recipe_hash: str) -> Extent:
    done = {record.seed for record in results.of_row(label)}
    done |= {r.seed for r in results.records if r.recipe_hash == recipe_hash and r.status == "pruned"}
    if not needs_seeds(results, label):
        return Extent(min(1, len(done)), 1)
    return Extent(len(done & set(results.info.seeds)), len(results.info.seeds))


def needs_seeds(results: Results, label: str) -> bool:
    """Whether a seed can change the scores of the row."""
    records = results.of_row(label)
    if records:
        return records[0].recipe_hash not in results.fixed
    return results.base.preferring(results.space.row(label).overrides).uses_seed


def finals_extent(results: Results) -> Extent | None:
    """Return the extent of the finals; (0, 0) while the search explores and no number is planned. None without
    finals."""
    finals = results.info.finals
    if finals is None or not (finals.finalists or finals.chosen):
        return None if finals is None else Extent(0, 0)
    return total([*finals_extents(results, finals).values()])


def finals_extents(results: Results, finals: Finals) -> dict[str, Extent]:
    """Return the done and planned trials of each recipe of the finals, by hash."""
    planned = dict.fromkeys(filter(None, [*finals.finalists, finals.baseline, finals.base]), finals.seeds)
    planned |= {finals.as_it_came: 1} if finals.as_it_came else {}
    done = {key: results.finals.get(key, ()) for key in planned}
    fixed = (key for key, records in done.items() if records and not Recipe.from_flat(records[0].recipe).uses_seed)
    planned |= dict.fromkeys(fixed, 1)
    return {key: Extent(min(len(done[key]), most), most) for key, most in planned.items()}


def finals_judged(results: Results) -> Mapping[str, Sequence[Record]]:
    """Return the trials that an answer is based on, by recipe of the finals: all trials if these are complete. If a
    limit ended the study: the trials that have run, as the clock chose them, and no score. Base and original encoder,
    which no score chose, have trials of the search if they have no fresh one. Empty while finals run, and without the
    base."""
    finals = results.info.finals
    if finals is None:
        return {}
    extents = finals_extents(results, finals) if finals.finalists or finals.chosen else {}
    whole = bool(extents) and all(extent.done == extent.planned for extent in extents.values())
    if not whole and not results.info.limited:
        return {}
    keys = [key for key in (*finals.finalists, finals.base, finals.as_it_came, finals.baseline) if key]
    by_recipe: dict[str, Sequence[Record]] = {key: results.finals.get(key, []) for key in dict.fromkeys(keys)}
    for key in filter(None, (finals.base, finals.as_it_came)):
        by_recipe[key] = by_recipe[key] or results.recipes.get(key, [])
    begun = {key: records for key, records in by_recipe.items() if records}
    return begun if whole or finals.base in begun else {}


def total(extents: Collection[Extent]) -> Extent:
    """Return the sum of all extents."""
    return Extent(sum(extent.done for extent in extents), sum(extent.planned for extent in extents))
