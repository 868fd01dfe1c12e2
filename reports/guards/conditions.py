"""Conditions that must be the same where two recipes are compared: code, data, encoder, budget, machine, precision.

A value that only some records lack is as bad as another value. Where no record has it, as in ledgers from before it was
kept, that is said, and forbids verdicts only for code and data, which every study has always kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from statistics import fmean
from typing import Any

from reports.guards import Flag, alike
from reports.guards.words import listed, rows_in_words
from reports.ledger import Record
from reports.markdown import count, number, text, verbatim
from reports.results import Results
from trainables.recipe import Recipe, keys

STEPS_APART, TOKENS_APART = 0.05, 0.10
"""By what share of the larger number two trained rows may differ."""
CODE = ("trainables", "plugins", "torch", "transformers")
"""Of a record's versions, those that decide scores: this project's code, plugins, and what computes."""

Condition = str | float | None


def code(results: Results) -> list[Flag]:
    """The digests of this project's code and of plugins, and the versions of torch and transformers."""
    return _unequal(
        results, "code", "trials ran different code", "a difference may come from the code",
        _by_seed(results.recipes, _code), always_kept=True,
    )  # fmt: skip


def protocol(results: Results) -> Iterator[Flag]:
    """Trials under another protocol than the study's, or on other data, are in no figure; that is said."""
    other = Counter(r.protocol for r in results.elsewhere if r.protocol != results.protocol)
    moved = [record for record in results.elsewhere if record.protocol == results.protocol]
    if moved:
        hashes = frozenset(record.recipe_hash for record in moved)
        said = f"{count(len(moved), 'trial')} of {rows_in_words(results, hashes)} were scored on other SentEval data"
        yield Flag("protocol", f"{said} than the study's; they are in no figure", hashes, blocks=False)
    if not other:
        return
    hashes = frozenset(r.recipe_hash for r in results.elsewhere if r.protocol in other)
    under = listed([f"{verbatim(name)} ({count(number_of, 'trial')})" for name, number_of in sorted(other.items())])
    said = (
        f"some trials of {rows_in_words(results, hashes)} were scored under the protocol {under}, not under the "
        f"study's {verbatim(results.protocol)}; they are in no figure"
    )
    yield Flag("protocol", said, hashes, blocks=False)


def data(results: Results) -> list[Flag]:
    """Fingerprints of the SentEval data, and of the training data of recipes that ask for the same."""
    tested = {key: found for key, records in results.recipes.items() if (found := [r for r in records if r.tested])}
    senteval = _by_seed(tested, lambda record: _word(record.read, "senteval", "fingerprint"))
    flags = _unequal(
        results, "data", "trials were scored on different SentEval data", "their scores are of different tests",
        senteval, always_kept=True, digests=True,
    )  # fmt: skip
    for asked in _groups(results, lambda recipe: tuple((k, v) for k, v in recipe.flat().items() if _of_corpus(k))):
        trained = {key: records for key, records in asked.items() if key in results.trained}
        flags += _unequal(
            results, "data", "training data differ that the recipes call the same", "a difference may come from them",
            _by_seed(trained, lambda record: _word(record.data, "corpus", "fingerprint")), always_kept=True,
            digests=True,
        )  # fmt: skip
    return flags


def encoder(results: Results) -> list[Flag]:
    """The weights before training, of recipes that name the same encoder; other names are meant, and said."""
    flags = []
    groups = _groups(results, lambda recipe: (recipe.encoder.kind, recipe.encoder.name, recipe.encoder.layers))
    known = any(map(_weights, results.records))
    for named in _groups(results, _of_encoder) if known else [results.recipes]:
        flags += _unequal(
            results, "encoder", "encoders differ that the recipes call the same", "a difference may come from them",
            _by_seed(named, _weights), digests=True,
        )  # fmt: skip
    trained = [frozenset(named) & results.trained for named in groups]
    trained = sorted((named for named in trained if named), key=len, reverse=True)
    if len(trained) > 1:
        others = frozenset().union(*trained[1:])
        said = (
            f"in {rows_in_words(results, others)} training starts from another encoder than in the other rows, as the "
            "recipes ask: their differences to these are of the encoder, too"
        )
        flags.append(Flag("encoder", said, others, blocks=False))
    return flags


def steps(results: Results) -> list[Flag]:
    """Of trained recipes, more than 5 % apart, also where that follows from another batch size."""
    return _budget(results, "steps", STEPS_APART, "trained rows took different numbers of steps")


def tokens(results: Results) -> list[Flag]:
    """Of trained recipes, more than 10 % apart. Training on vectors made before counts each sentence as one token."""
    trained = [record for key, records in results.recipes.items() if key in results.trained for record in records]
    counts = [(_count(record.training.get("tokens")), _count(record.training.get("sentences"))) for record in trained]
    if counts and all(read is not None and read == sentences for read, sentences in counts):
        said = "training read vectors that were made before, one for each sentence, so no tokens were counted"
        return [Flag("tokens", said, frozenset(), blocks=False)]
    return _budget(results, "tokens", TOKENS_APART, "trained rows read different numbers of tokens")


def hardware(results: Results) -> list[Flag]:
    """The processor and the accelerator; how many of them there are is no matter."""
    return _unequal(
        results, "hardware", "trials ran on different machines", "rounding, and times, depend on the machine",
        _by_seed(results.recipes, lambda record: record.ran_on or None),
    )  # fmt: skip


def precision(results: Results) -> list[Flag]:
    """Of training, where it is known what `auto` took, and of the encoder where it is not trained."""
    trained = {key: records for key, records in results.recipes.items() if key in results.trained}
    evaluated = _by_seed(results.recipes, lambda record: str(record.recipe.get("encoder.precision", "fp32")))
    means = "a difference may come from rounding"
    return [
        *_unequal(results, "precision", "trials trained in different precision", means,
                  _by_seed(trained, _training_precision)),
        *_unequal(results, "precision", "trials were evaluated in different precision", means, evaluated),
    ]  # fmt: skip


def streams(results: Results) -> list[Flag]:
    """How many workers drew dropout, each from a random stream of its own; without dropout their number changes nothing
    but rounding. Records from before that was kept have the number of workers at most."""
    drawn = {
        key: [record for record in records if _streams(record)]
        for key, records in results.recipes.items()
        if key in results.trained
    }
    return _unequal(
        results, "streams", "dropout was drawn by different numbers of workers",
        "another number of workers is like another seed",
        _by_seed({key: records for key, records in drawn.items() if records}, _streams),
    )  # fmt: skip


def _budget(results: Results, key: str, apart: float, what: str) -> list[Flag]:
    """A count of the training that must be about the same."""
    trained = {recipe: records for recipe, records in results.recipes.items() if recipe in results.trained}
    counts = _by_seed(trained, lambda record: _count(record.training.get(key)))
    return _unequal(results, key, what, "a difference may come from the budget", counts, apart)


def _unequal(
    results: Results,
    guard: str,
    what: str,
    means: str,
    by_seed: Mapping[str, Mapping[int, Condition]],
    tolerance: float = 0.0,
    always_kept: bool = False,
    digests: bool = False,
) -> list[Flag]:
    """A flag where not all trials have the same value. It touches the recipes that have not the baseline's. `digests`:
    values are fingerprints, which tell a reader nothing but who differs."""
    values = {recipe: _together(of_seeds, tolerance) for recipe, of_seeds in by_seed.items()}
    known = {recipe: value for recipe, value in values.items() if value is not None}
    if all(value is None for of_seeds in by_seed.values() for value in of_seeds.values()):
        said = f"no record says, so nobody can tell whether {what}"
        recipes = frozenset(values if always_kept else ())
        flag = Flag(guard, said, recipes, blocks=always_kept, crossed_by="unequal", values=values)
        return [flag] if values else []
    every = [value for of_seeds in by_seed.values() for value in of_seeds.values()]
    numbers = [value for value in every if value is not None and not isinstance(value, str)]
    if None not in every and (alike(min(numbers), max(numbers), tolerance) if numbers else len(set(every)) == 1):
        return []
    baseline = results.info.row_hashes.get(results.space.baseline or "") or ""
    usual = known.get(baseline) or next(iter(Counter(known.values()).most_common(1)), (None,))[0]
    odd = frozenset(r for r, value in values.items() if not alike(value, usual, tolerance)) or frozenset(values)
    if digests:
        detail = _who_differs(results, by_seed, known, usual)
    else:
        detail = _range(results, by_seed, numbers) if numbers else _listing(results, known, usual)
    if unknown := [recipe for recipe, of_seeds in by_seed.items() if None in of_seeds.values()]:
        detail.append(f"{rows_in_words(results, unknown)}: unknown")
    own = "; ".join(detail)
    said = f"{what} ({own}): {means}"
    return [Flag(guard, said, odd, crossed_by="unequal", values=values, tolerance=tolerance, own=own)]


def _together(of_seeds: Mapping[int, Condition], tolerance: float) -> Condition:
    """A recipe's value over its seeds: their mean, or words that name each seed's where they differ.

    None where a seed's is unknown, or where numbers are too far apart.
    """
    values = list(of_seeds.values())
    if None in values:
        return None
    numbers = [value for value in values if not isinstance(value, str) and value is not None]
    if numbers:
        return fmean(numbers) if alike(min(numbers), max(numbers), tolerance) else None
    if len(set(values)) == 1:
        return values[0]
    return ", ".join(f"seed {seed} {value}" for seed, value in sorted(of_seeds.items()))


def _range(results: Results, by_seed: Mapping[str, Mapping[int, Condition]], numbers: list[float]) -> list[str]:
    """`64 in A to 204 in B`."""
    ends = []
    for end in dict.fromkeys((min(numbers), max(numbers))):
        recipes = [recipe for recipe, of_seeds in by_seed.items() if end in of_seeds.values()]
        ends.append(f"{number(end, 0)} in {rows_in_words(results, recipes)}")
    return [" to ".join(ends)]


def _listing(results: Results, known: Mapping[str, Condition], usual: Condition) -> list[str]:
    """`A: one value; all others: the usual one`; of more than three values how many there are."""
    by_value: dict[Condition, list[str]] = {}
    for recipe, value in known.items():
        by_value.setdefault(value, []).append(recipe)
    others = {value: recipes for value, recipes in by_value.items() if value != usual}
    if len(others) > 3:
        return [f"{len(by_value)} kinds among {count(len(known), 'recipe')}"]
    said = [f"{rows_in_words(results, recipes)}: {text(value)}" for value, recipes in others.items()]
    return [*said, f"{'all others' if others else 'where known'}: {text(usual)}"]


def _who_differs(
    results: Results,
    by_seed: Mapping[str, Mapping[int, Condition]],
    known: Mapping[str, Condition],
    usual: Condition,
) -> list[str]:
    """`from seed to seed in A and B; others in C`."""
    own = [recipe for recipe in known if len(set(by_seed[recipe].values())) > 1]
    others = [recipe for recipe, value in known.items() if value != usual and recipe not in own]
    said = [f"from seed to seed in {rows_in_words(results, own)}"] if own else []
    return [*said, *([f"others in {rows_in_words(results, others)}"] if others else [])]


def _by_seed(recipes: Mapping[str, list[Record]], of: Callable[[Record], Condition]) -> dict[str, dict[int, Condition]]:
    """Something of every trial, by recipe and seed."""
    return {recipe: {record.seed: of(record) for record in records} for recipe, records in recipes.items()}


def _groups(results: Results, same: Callable[[Recipe], object]) -> list[dict[str, list[Record]]]:
    """The recipes of the study, those together for which `same` is equal; `same` is given them as they are followed."""
    found: dict[object, dict[str, list[Record]]] = {}
    for recipe, records in results.recipes.items():
        found.setdefault(same(results.followed[recipe]), {})[recipe] = records
    return list(found.values())


def _of_encoder(recipe: Recipe) -> tuple[object, ...]:
    """What an encoder's fingerprint follows from besides its weights: `trainables.encoders.contract.BaseEncoder`."""
    on_top = ("encoder.adapter", "encoder.lora_", "pooling.after")
    asked = [(k, v) for k, v in recipe.flat().items() if k.startswith(("encoder.", "pooling."))]
    return tuple((k, v) for k, v in asked if not k.startswith(on_top) and v != keys()[k].default)


def _of_corpus(key: str) -> bool:
    """Whether a key of the recipe decides what is read for training; documents are kept as an encoder's tokens."""
    return key.startswith(("corpus.", "spans.", "encoder."))


def _code(record: Record) -> str | None:
    own = [f"{name} {record.versions[name]}" for name in CODE if name in record.versions]
    return " ".join(own) if {"trainables", "torch"} <= record.versions.keys() else None


def _streams(record: Record) -> str | None:
    known = record.training.get("streams") if "crew" in record.cost else record.cost.get("workers")
    workers = _count(known)
    return None if workers is None else count(int(workers), "worker")


def _training_precision(record: Record) -> str | None:
    wish = str(record.recipe.get("optimisation.precision"))
    if wish != "auto":
        return wish
    if record.machine:
        return "bf16" if record.machine.get("bf16") else "fp32"
    return "fp32" if "no GPU" in record.hardware else f"auto on {record.ran_on}" if record.hardware else "auto"


def _weights(record: Record) -> str | None:
    return _word(record.data, "encoder", "fingerprint")


def _word(values: Mapping[str, Any], *path: str) -> str | None:
    """A text within nested objects; None where there is none."""
    found: Any = values
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) and found else None


def _count(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
