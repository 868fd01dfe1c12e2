"""Conditions that must be the same in two compared recipes: code, data, encoder, budget, machine, precision.

A value that only some records lack counts as another value. If no record has it, as in ledgers from before it was
stored, a flag reports this. It forbids verdicts only for code and data, which every study has always stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Any

from reports.facts.guards import Flag, Value, alike
from reports.facts.results import Results
from reports.ledger import Record
from trainables.recipe import Recipe, keys

STEPS_APART, TOKENS_APART = 0.05, 0.10
"""Largest allowed difference of two trained recipes, in steps and in tokens, as a share of the larger number."""
CODE = ("trainables", "plugins", "torch", "transformers")
"""Versions in a record on which scores depend: of this project's code, of plugins, of the libraries that compute."""

Condition = str | float | None
Facts = dict[str, Any]


def code(results: Results) -> list[Flag]:
    """Flag different digests of this project's code and of plugins, and other versions of torch and transformers."""
    return _unequal(results, "code", "code", _by_seed(results.recipes, _code), always_kept=True)


def protocol(results: Results) -> Iterator[Flag]:
    """Flag trials under another protocol than the study's, or on other data. They are in no figure."""
    of_data = [record for record in results.differently_evaluated if record.protocol == results.protocol]
    others = [record for record in results.differently_evaluated if record.protocol != results.protocol]
    if of_data:
        yield Flag("protocol", "data", _hashes(of_data), facts={"trials": len(of_data)}, blocks=False)
    if others:
        trials = dict(sorted(Counter(record.protocol for record in others).items()))
        facts = {"study": results.protocol, "trials": trials}
        yield Flag("protocol", "protocol", _hashes(others), facts=facts, blocks=False)


def _hashes(records: Iterable[Record]) -> frozenset[str]:
    return frozenset(record.recipe_hash for record in records)


def data(results: Results) -> list[Flag]:
    """Flag different fingerprints of the SentEval data, and of training data among recipes with the same corpus."""
    tested = {key: own for key, records in results.recipes.items() if (own := [r for r in records if r.tested])}
    senteval = _by_seed(tested, lambda record: record.fingerprint("senteval"))
    flags = _unequal(results, "data", "senteval", senteval, always_kept=True, digests=True)
    for group in _groups(results, lambda recipe: tuple((k, v) for k, v in recipe.flat().items() if _of_corpus(k))):
        corpora = _by_seed(_trained(results, group), lambda record: record.fingerprint("corpus"))
        flags += _unequal(results, "data", "corpus", corpora, always_kept=True, digests=True)
    return flags


def encoder(results: Results) -> list[Flag]:
    """Flag different weights before training under one encoder name. Different names are intended, but reported."""
    flags = []
    any_known = any(record.fingerprint("encoder") for record in results.records)
    for group in _groups(results, _of_encoder) if any_known else [results.recipes]:
        weights = _by_seed(group, lambda record: record.fingerprint("encoder"))
        flags += _unequal(results, "encoder", "encoder", weights, digests=True)
    named = _groups(results, lambda recipe: (recipe.encoder.kind, recipe.encoder.name, recipe.encoder.layers))
    trained = sorted(filter(None, (frozenset(_trained(results, group)) for group in named)), key=len, reverse=True)
    if len(trained) > 1:
        flags.append(Flag("encoder", "asked", frozenset().union(*trained[1:]), blocks=False))
    return flags


def steps(results: Results) -> list[Flag]:
    """Flag trained recipes whose steps are more than 5 % apart, also if another batch size is the reason."""
    return _budget(results, "steps", STEPS_APART)


def tokens(results: Results) -> list[Flag]:
    """Flag trained recipes whose tokens are more than 10 % apart. Precomputed vectors count as one token a sentence."""
    trained = [record for records in _trained(results, results.recipes).values() for record in records]
    counts = [(_count(record.training.get("tokens")), _count(record.training.get("sentences"))) for record in trained]
    if counts and all(read is not None and read == sentences for read, sentences in counts):
        return [Flag("tokens", "vectors", frozenset(), blocks=False)]
    return _budget(results, "tokens", TOKENS_APART)


def hardware(results: Results) -> list[Flag]:
    """Flag different processors and accelerators; their number does not matter."""
    machines = _by_seed(results.recipes, lambda record: record.ran_on or None)
    return _unequal(results, "hardware", "hardware", machines)


def precision(results: Results) -> list[Flag]:
    """Flag different precisions: of training, as `auto` chose if that is known, and of encoders without training."""
    training = _by_seed(_trained(results, results.recipes), _training_precision)
    evaluation = _by_seed(results.recipes, lambda record: str(record.recipe.get("encoder.precision", "fp32")))
    return [
        *_unequal(results, "precision", "training", training),
        *_unequal(results, "precision", "evaluation", evaluation),
    ]


def streams(results: Results) -> list[Flag]:
    """Flag different numbers of workers that drew dropout, each from its own random stream. Without dropout the number
    changes only rounding. For older records the number of workers is used instead."""
    drawn = {key: list(filter(_streams, records)) for key, records in _trained(results, results.recipes).items()}
    return _unequal(results, "streams", "streams", _by_seed({key: own for key, own in drawn.items() if own}, _streams))


def _budget(results: Results, key: str, apart: float) -> list[Flag]:
    """Flag a count of training (`key`) that differs between trained recipes by more than the share `apart`."""
    counts = _by_seed(_trained(results, results.recipes), lambda record: _count(record.training.get(key)))
    return _unequal(results, key, key, counts, apart)


def _unequal(
    results: Results,
    guard: str,
    condition: str,
    by_seed: Mapping[str, Mapping[int, Condition]],
    tolerance: float = 0.0,
    always_kept: bool = False,
    digests: bool = False,
) -> list[Flag]:
    """Return a flag if not all trials have the same value; it is on the recipes that differ from the baseline.
    `digests`: values are fingerprints, so that only the recipes that differ are listed."""
    values = {recipe: _together(of_seeds, tolerance) for recipe, of_seeds in by_seed.items()}
    by_recipe = {recipe: value for recipe, value in values.items() if value is not None}
    every = [value for of_seeds in by_seed.values() for value in of_seeds.values()]
    numbers = [value for value in every if isinstance(value, float)]
    unknown = tuple(recipe for recipe, of_seeds in by_seed.items() if None in of_seeds.values())
    flag = Flag(
        guard, "unknown", frozenset(values if always_kept else ()), facts={"condition": condition},
        parts=({"unknown": unknown},), blocks=always_kept, crossed_by="unequal", values=values, tolerance=tolerance,
    )  # fmt: skip
    if set(every) <= {None}:
        return [flag] * bool(values)
    if not unknown and (alike(min(numbers), max(numbers), tolerance) if numbers else len(set(every)) == 1):
        return []
    of_baseline = by_recipe.get(results.baseline_hash or "")
    usual = of_baseline or next(iter(Counter(by_recipe.values()).most_common(1)), (None,))[0]
    odd = frozenset(r for r, value in values.items() if not alike(value, usual, tolerance)) or frozenset(values)
    if digests:
        part = _who_differs(by_seed, by_recipe, usual)
    else:
        part = _ends(by_seed, numbers) if numbers else _listing(by_recipe, usual)
    return [replace(flag, kind="different", recipes=odd, parts=({**part, "unknown": unknown},), blocks=True)]


def _together(of_seeds: Mapping[int, Condition], tolerance: float) -> Value:
    """Return a recipe's value over its seeds: the mean of numbers, or each seed's value if the seeds differ."""
    values = list(of_seeds.values())
    if None in values:
        return None
    numbers = [value for value in values if isinstance(value, float)]
    if numbers:
        return fmean(numbers) if alike(min(numbers), max(numbers), tolerance) else None
    return values[0] if len(set(values)) == 1 else tuple((seed, str(value)) for seed, value in sorted(of_seeds.items()))


def _ends(by_seed: Mapping[str, Mapping[int, Condition]], numbers: list[float]) -> Facts:
    """Return the lowest and the highest of the numbers, each with the recipes that have it."""
    ends = dict.fromkeys((min(numbers), max(numbers)))
    return {"ends": [(end, [recipe for recipe, own in by_seed.items() if end in own.values()]) for end in ends]}


def _listing(by_recipe: Mapping[str, Value], usual: Value) -> Facts:
    """The usual value, and every other value with the recipes that have it."""
    by_value: dict[Value, list[str]] = {}
    for recipe, value in by_recipe.items():
        by_value.setdefault(value, []).append(recipe)
    others = [(value, recipes) for value, recipes in by_value.items() if value != usual]
    return {"usual": usual, "others": others, "recipes": len(by_recipe)}


def _who_differs(by_seed: Mapping[str, Mapping[int, Condition]], by_recipe: Mapping[str, Value], usual: Value) -> Facts:
    """The recipes whose seeds differ, and the other recipes without the usual value."""
    seeds_differ = [recipe for recipe in by_recipe if len(set(by_seed[recipe].values())) > 1]
    differ = [recipe for recipe, value in by_recipe.items() if value != usual and recipe not in seeds_differ]
    return {"seeds_differ": seeds_differ, "differ": differ}


def _trained(results: Results, recipes: Mapping[str, list[Record]]) -> dict[str, list[Record]]:
    return {recipe: records for recipe, records in recipes.items() if recipe in results.trained}


def _by_seed(recipes: Mapping[str, list[Record]], of: Callable[[Record], Condition]) -> dict[str, dict[int, Condition]]:
    """By recipe hash and seed, the value that `of` returns for every trial."""
    return {recipe: {record.seed: of(record) for record in records} for recipe, records in recipes.items()}


def _groups(results: Results, same: Callable[[Recipe], object]) -> list[dict[str, list[Record]]]:
    """The study's recipes in groups: `same`, of the recipe that the trials followed, is equal within a group."""
    groups: dict[object, dict[str, list[Record]]] = {}
    for recipe, records in results.recipes.items():
        groups.setdefault(same(results.followed[recipe]), {})[recipe] = records
    return list(groups.values())


def _of_encoder(recipe: Recipe) -> tuple[object, ...]:
    """The keys on which an encoder's fingerprint depends, besides its weights:
    `trainables.encoders.contract.BaseEncoder`."""
    on_top = ("encoder.adapter", "encoder.lora_", "pooling.after")
    own = [(k, v) for k, v in recipe.flat().items() if k.startswith(("encoder.", "pooling."))]
    return tuple((k, v) for k, v in own if not k.startswith(on_top) and v != keys()[k].default)


def _of_corpus(key: str) -> bool:
    """Whether a key of the recipe decides which data training reads; documents are stored as an encoder's tokens."""
    return key.startswith(("corpus.", "spans.", "encoder."))


def _code(record: Record) -> str | None:
    own = [f"{name} {record.versions[name]}" for name in CODE if name in record.versions]
    return " ".join(own) if {"trainables", "torch"} <= record.versions.keys() else None


def _streams(record: Record) -> str | None:
    """The number of random streams, as text: any other number then counts as different, however near."""
    workers = _count(record.training.get("streams") if "crew" in record.cost else record.cost.get("workers"))
    return None if workers is None else str(int(workers))


def _training_precision(record: Record) -> str | None:
    wish = str(record.recipe.get("optimisation.precision"))
    if wish != "auto":
        return wish
    if record.machine:
        return "bf16" if record.machine.get("bf16") else "fp32"
    return "fp32" if "no GPU" in record.hardware else f"auto on {record.ran_on}" if record.hardware else "auto"


def _count(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
