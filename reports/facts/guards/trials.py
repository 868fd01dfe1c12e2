"""Flags on trials that are not what they seem: seeds that repeat each other, copies, untrained random parameters."""

from __future__ import annotations

from itertools import combinations

from reports.facts.guards import Flag
from reports.facts.results import Results
from reports.ledger import Record


def seeds(results: Results) -> list[Flag]:
    """Flag seeds that repeat each other although the recipe uses seeds, and rows with fewer seeds than others."""
    seeded = {recipe: records for recipe, records in results.recipes.items() if recipe not in results.fixed}
    repeated = {}
    for recipe in seeded:
        scores = [(seed, numbers) for seed, (numbers, *_) in results.recipe_trials[recipe].by_seed.items() if numbers]
        if pairs := [(first, second) for (first, a), (second, b) in combinations(scores, 2) if a == b]:
            repeated[recipe] = pairs
    flags = []
    if repeated:
        flags.append(Flag("seeds", "repeated", frozenset(repeated), facts={"seeds": next(iter(repeated.values()))[:2]}))
    planned = set(results.info.seeds)
    if not any(planned <= {record.seed for record in records} for records in results.recipes.values()):
        return flags
    ran = {recipe: {record.seed for record in records} for recipe, records in seeded.items()}
    fewer = {recipe: len(own) for recipe, own in ran.items() if planned - own}
    single = frozenset(recipe for recipe, number in fewer.items() if number == 1)
    some = {recipe: number for recipe, number in fewer.items() if number > 1}
    if single:
        flags.append(Flag("seeds", "single", single, facts={"planned": len(planned)}, blocks=False))
    if some:
        facts = {"least": min(some.values()), "most": max(some.values()), "planned": len(planned)}
        flags.append(Flag("seeds", "fewer", frozenset(some), facts=facts, blocks=False))
    return flags


def copies(results: Results) -> list[Flag]:
    """Flag different recipes with the same scores under a seed: one recipe in effect, or a copied trial.

    Recipes that are one in effect, as by limits that never bind, train to the same loss and agree under all common
    seeds. Then only a comparison of the two is worthless. Otherwise one of them is a copy, and neither can be judged.
    """
    alike, copied = results.shared_trials
    return [
        *(Flag("copies", "alike", group, crossed_by="both") for group in alike),
        *(Flag("copies", "copied", group) for group in copied),
    ]


def untrained(results: Results) -> list[Flag]:
    """Flag recipes whose embeddings pass through parameters that were drawn at random and never trained."""
    by_reason: dict[tuple[str, str, int], list[str]] = {}
    for recipe, records in results.recipes.items():
        if reason := _untrained(records, recipe in results.trained):
            by_reason.setdefault(reason, []).append(recipe)
    return [
        Flag("untrained", kind, frozenset(own), facts={"name": name, "parameters": parameters})
        for (kind, name, parameters), own in by_reason.items()
    ]


def _untrained(records: list[Record], trained: bool) -> tuple[str, str, int] | None:
    """Return the flag's kind, the adapter or the first untrained parameter, and the number of parameters; or None."""
    adapter = records[0].recipe["encoder.adapter"]
    fresh = dict.fromkeys(name for trial in records for name in trial.data.get("encoder", {}).get("fresh", []))
    if trained:
        if any(record.training.get("steps") == 0 for record in records):
            return "no steps", "", 0
        # An adapter freezes the layers below it; its own parameters are fresh, but trained.
        names = [name for name in fresh if adapter != "none" and name.startswith("backbone.")]
        return ("below adapter", names[0], len(names)) if names else None
    if adapter == "mlp":
        return "adapter", adapter, 0
    names = [name for name in fresh if not name.startswith("mlm_head.")]
    return ("fresh", names[0], len(names)) if names else None
