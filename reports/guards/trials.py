"""Trials that are not what they seem: seeds that repeat each other, copies, parameters that nobody trained."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from reports.guards import Flag
from reports.guards.words import has, listed, rows_in_words
from reports.ledger import Record
from reports.markdown import count, verbatim
from reports.results import Results


def seeds(results: Results) -> list[Flag]:
    """Seeds that repeat each other although training follows the seed, and rows with fewer seeds than others."""
    flags = []
    alike = {}
    for recipe, ran in results.ran.items():
        if recipe not in results.fixed:
            told = [(seed, numbers) for seed, (numbers, *_) in ran.by_seed.items() if numbers]
            same = [(one, other) for (one, a), (other, b) in combinations(told, 2) if a == b]
            if same:
                alike[recipe] = same
    if alike:
        pairs = listed([f"{a} and {b}" for a, b in next(iter(alike.values()))[:2]])
        said = (
            f"seeds have the same scores to the last digit in {rows_in_words(results, alike)} (seeds {pairs}), though "
            "training follows the seed: they are copies, so the spread between seeds is too small"
        )
        flags.append(Flag("seeds", said, frozenset(alike)))
    asked = set(results.info.seeds)
    fewer = {
        recipe: len(found)
        for recipe, records in results.recipes.items()
        if recipe not in results.fixed and asked - (found := {record.seed for record in records})
    }
    if fewer and any(asked <= {record.seed for record in records} for records in results.recipes.values()):
        flags += _fewer(results, fewer, count(len(asked), "seed"))
    return flags


def _fewer(results: Results, fewer: Mapping[str, int], asked: str) -> list[Flag]:
    """Rows with one seed, which get no verdict, and rows that lack some of their seeds, by how many these have."""
    flags = []
    one = [recipe for recipe, found in fewer.items() if found == 1]
    if one:
        said = (
            f"{rows_in_words(results, one)} {has(one)} 1 of the study's {asked}: how far a second seed would be is "
            "unknown, so these intervals are over test items alone and too narrow"
        )
        follows = f"No verdict on {'this row' if len(one) == 1 else 'these rows'} until there are more seeds."
        flags.append(Flag("seeds", said, frozenset(one), blocks=False, follows=follows))
    some = {recipe: found for recipe, found in fewer.items() if found > 1}
    if some:
        low, high = min(some.values()), max(some.values())
        said = (
            f"{rows_in_words(results, some)} {has(some)} {low}{f' to {high}' if high > low else ''} of the study's "
            f"{asked}: their spread is known less well, and the intervals allow for that"
        )
        flags.append(Flag("seeds", said, frozenset(some), blocks=False))
    return flags


def copies(results: Results) -> list[Flag]:
    """Different recipes with the same scores under a seed: one recipe in effect, or a copied trial.

    One in effect (caps that never bind, say) trains to the same loss and agrees under every seed that both have. Then
    only a comparison of the two is worthless; else one of them is not what it says, and neither can be judged.
    """
    alike, copied = results.shared_trials
    flags = []
    for group in alike:
        said = (
            f"{rows_in_words(results, group)} have the same scores to the last digit under every seed: they are one "
            "recipe in effect, so what they differ in was not tested; they count once"
        )
        flags.append(Flag("copies", said, group, crossed_by="both"))
    for group in copied:
        said = (
            f"{rows_in_words(results, group)} share all scores of a seed to the last digit, but not the training: one "
            "is a copy, or what they differ in did nothing there, so none of them is judged"
        )
        flags.append(Flag("copies", said, group))
    return flags


def untrained(results: Results) -> list[Flag]:
    """Recipes whose embeddings pass through parameters that were drawn at random and never trained."""
    found = {
        recipe: why
        for recipe, records in results.recipes.items()
        if (why := _untrained(records, recipe in results.trained))
    }
    by_reason: dict[str, list[str]] = {}
    for recipe, why in found.items():
        by_reason.setdefault(why, []).append(recipe)
    return [
        Flag(
            "untrained",
            f"{rows_in_words(results, recipes)}: {why}, so the scores are those of chance weights",
            frozenset(recipes),
        )
        for why, recipes in by_reason.items()
    ]


def _untrained(records: list[Record], trained: bool) -> str:
    """Why a recipe's scores are those of parameters that nobody trained; empty where they are not."""
    adapter = records[0].recipe["encoder.adapter"]
    if trained:
        if any(record.training.get("steps") == 0 for record in records):
            return "training took no step"
        # An adapter freezes what it stands on, and is fresh itself, but trained.
        fresh = [name for name in _fresh(records) if adapter != "none" and name.startswith("backbone.")]
        return f"{_parameters(fresh)} made fresh under an adapter, which freezes them" if fresh else ""
    if adapter == "mlp":
        return f"the adapter {verbatim(adapter)} was never trained"
    fresh = [name for name in _fresh(records) if not name.startswith("mlm_head.")]
    return f"{_parameters(fresh)} made fresh and never trained" if fresh else ""


def _fresh(records: list[Record]) -> list[str]:
    """Names of the parameters that no checkpoint gave, as far as the records say."""
    found: dict[str, None] = {}
    for record in records:
        found |= dict.fromkeys(record.data.get("encoder", {}).get("fresh", []))
    return list(found)


def _parameters(names: list[str]) -> str:
    """`3 parameters (a, b, …)`: how many, and the first."""
    return f"{count(len(names), 'parameter')} ({verbatim(names[0])}{', …' if len(names) > 1 else ''})"
