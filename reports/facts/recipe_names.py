"""Names of a study's recipes: a row's label; for an explored recipe its number and the settings farthest from the base,
as `#17 tau 0.05, batch 128, cls`. Hashes are for files."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from reports.facts.cached import cached
from reports.facts.results import Results
from reports.ledger.finals import CURVE_SHARES, part_name
from search_spaces.space import Domain
from trainables.evaluation_config import all_keys
from trainables.keys import Key
from trainables.recipe import Value, changed, choosers

MAX_NAMED_KEYS = 3
"""Largest number of keys in a recipe's name."""
NONE = "none"
BASE, AS_IT_CAME = "base settings", "original encoder"
"""Names of the finals' references, if they are neither rows nor explored."""

Flat = Mapping[str, Value]


@cached
def recipe_names(results: Results) -> dict[str, str]:
    """Return by hash the name of every row and explored recipe, of the finals' references, and of recipes on parts of
    the data. All names differ."""
    recipes: dict[str, Flat] = {recipe.hash: recipe.flat() for _, recipe in results.whole_recipes.values()}
    recipes |= {record.recipe_hash: record.recipe for record in results.of_all_trials}
    base, domains = results.base.flat(), results.space.domains
    names = {
        key: recipe_name(number, recipes.get(key, base), base, domains)
        for key, number in explored_numbers(results.info.explored).items()
    }
    finals = results.info.finals
    compared = {finals.base: BASE, finals.as_it_came: AS_IT_CAME} if finals else {}
    whole_names = {key: name for key, name in compared.items() if key} | names | results.labels
    parts = {
        key: part_name(share, whole_names.get(whole_recipe.hash, BASE))
        for key, (share, whole_recipe) in results.whole_recipes.items()
    }
    if finals is not None and finals.curve is not None and finals.curve.whole is not None:
        whole = whole_names[finals.curve.whole]
        parts |= {key: part_name(CURVE_SHARES[share], whole) for share, key in finals.curve.parts.items() if key}
    return parts | whole_names


def name_of(results: Results, recipe_hash: str) -> str:
    """Return a recipe's name; its hash if it has none."""
    return recipe_names(results).get(recipe_hash, recipe_hash)


def explored_numbers(explored: Sequence[str]) -> dict[str, int]:
    """Return by hash the number of each explored recipe: its position, from 1, in all that the search asked for."""
    numbers: dict[str, int] = {}
    for number, recipe_hash in enumerate(explored, start=1):
        numbers.setdefault(recipe_hash, number)
    return numbers


def recipe_name(number: int, recipe: Flat, base: Flat, domains: Sequence[Domain]) -> str:
    """Return the name of an explored recipe; the number alone if the recipe equals the base."""
    keys = farthest(recipe, base, domains)
    named = [key for key in keys if not any(_implies(other, key, domains) for other in keys)]
    return f"#{number} {', '.join(brief(key, recipe[key]) for key in named[:MAX_NAMED_KEYS])}".strip()


def _implies(key: str, chooser: str, domains: Sequence[Domain]) -> bool:
    """Whether `key` exists with only one value of `chooser`, and so implies it, as mined negatives imply groups."""
    having = choosers(key).get(chooser, ())
    choices = next((domain.choices for domain in domains if domain.key == chooser), ())
    return sum(value in having for value in choices) == 1


def farthest(recipe: Flat, base: Flat, domains: Sequence[Domain]) -> list[str]:
    """Return the searched keys in which a recipe differs from the base, the largest difference first. Numbers without a
    value in the base, because they belong to another choice, are last."""
    own = changed(base, recipe)
    apart = {
        domain.key: _distance(domain, own[domain.key], base.get(domain.key)) for domain in domains if domain.key in own
    }
    return sorted(apart, key=lambda key: -apart[key] * (key in base or isinstance(own[key], str)))


def _distance(domain: Domain, value: Value, base: Value) -> float:
    """The distance of two values as a share of the domain's range; 1 between values that are no numbers."""
    ends = [domain.low, domain.high] if domain.low is not None else [*domain.choices]
    numbers = [float(end) for end in (*ends, value, base) if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(numbers) < len(ends) + 2:
        return 1.0
    if domain.log or (not domain.low and min(numbers) > 0):  # choices of numbers are mostly 16, 32, 64 or 1e-5, 3e-5
        numbers = [math.log(number) for number in numbers]
    *others, first, second = numbers
    return abs(first - second) / ((max(others) - min(others)) or 1.0)


def brief(key: str, value: Value) -> str:
    """Return a key's value in few letters: `tau 0.05`, `batch 128`; a word without its key, as `cls`."""
    item = all_keys()[key]
    if isinstance(value, str) and value != NONE and not item.is_path:
        return value
    return _valued(item.label.partition(" (")[0].removesuffix(" size"), item, value)


def plain(key: str, value: Value) -> str:
    """Return a key's value in words, without symbols: `temperature 0.05`, `batch size 128`, `pooling cls`."""
    item = all_keys()[key]
    label, bracket, meaning = item.label.partition(" (")
    return _valued(meaning.removesuffix(")") if bracket else label, item, value)


def _valued(label: str, item: Key, value: Value) -> str:
    if isinstance(value, bool):
        return label if value else f"no {label}"
    return f"{label} {Path(str(value)).name if item.is_path and value is not None else short(value)}"


def in_short(base: Flat, recipe: Flat) -> str:
    """Return a recipe's changes of the base recipe: `objective.temperature=0.0127 head.dim=32`."""
    return " ".join(f"{key}={short(value)}" for key, value in changed(base, recipe).items())


def short(value: Value) -> str:
    """Return a recipe's value in few letters."""
    return f"{value:.3g}" if isinstance(value, float) else NONE if value is None else str(value)
