"""Which trained model of a study is the best by development score, and where it lies."""

from __future__ import annotations

from reports.ledger import Record
from reports.racing import of_results
from reports.results import Results
from search_spaces.goals import selection


def best_trial(results: Results) -> Record | None:
    """Of the recipe with the best development score over its seeds, the seed with the best one that kept its model.

    Recipes above a limit are left out; those that left a race over seeds come last.
    """
    races = of_results(results)
    lost = {recipe_hash for recipe_hash, one in races.items() if one.lost}
    scored = [
        (recipe_hash not in lost, score.mean, kept)
        for recipe_hash, records in results.recipes.items()
        if recipe_hash not in results.above_limits
        and (kept := [record for record in records if record.checkpoint and selection(record.scores) is not None])
        and (score := results.selection(records)) is not None
    ]
    if not scored:
        return None
    *_, kept = max(scored, key=lambda item: (*item[:2], item[2][0].recipe_hash))
    return max(kept, key=lambda record: (selection(record.scores) or 0.0, -record.seed))
