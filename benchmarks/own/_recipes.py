"""The numbered recipes of the records of real data. They are the same for every set whose objective has their keys.

    designed(domains, flat)     # {number: what differs from the base}, where the set has all of it

They are in the order of recording: the most informative first. Add new recipes at the end, as records refer to numbers.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from search_spaces.space import Domain
from study.search.points import applying, in_order
from trainables.recipe import Recipe, Value, existing_keys

AS_IT_CAME, BASE = 0, 1
"""Numbers of the original encoder and of the space's base."""
RATE, BATCH, EPOCHS = "optimisation.learning_rate", "optimisation.batch_size", "optimisation.epochs"
POOLING, HEAD, OBJECTIVE = "pooling.mode", "head.kind", "objective.name"
TEMPERATURE, LAYOUT = "objective.temperature", "corpus.layout"
MINED: Mapping[str, Value] = {LAYOUT: "groups", "corpus.negatives_from": "mined"}
LISTED: Sequence[Mapping[str, Value]] = (
    {EPOCHS: 0},
    {},
    {RATE: 1e-4},
    {RATE: 5e-4},
    {RATE: 2e-4},
    {RATE: 5e-5},
    {RATE: 1e-3},
    {RATE: 2e-4, BATCH: 16},
    {RATE: 1e-4, POOLING: "cls"},
    {RATE: 1e-4, HEAD: "linear"},
    {RATE: 5e-4, EPOCHS: 3},
    {RATE: 5e-4, TEMPERATURE: 0.1},
    {RATE: 5e-4, OBJECTIVE: 1},
    {RATE: 5e-4, BATCH: 16},
    {RATE: 1e-4, EPOCHS: 3},
    {RATE: 5e-4, BATCH: 128},
    {RATE: 1e-4, HEAD: "mlp"},
    {RATE: 5e-4, TEMPERATURE: 0.02},
    {RATE: 1e-4, **MINED, "objective.negatives": 1},
    {RATE: 2e-4, EPOCHS: 3},
    {RATE: 5e-4, OBJECTIVE: 2},
    {RATE: 5e-4, OBJECTIVE: 3},
    {RATE: 1e-3, BATCH: 128},
    {RATE: 2e-4, BATCH: 32},
    {RATE: 2e-5, EPOCHS: 3},
    {RATE: 5e-5, BATCH: 16, EPOCHS: 3},
    {RATE: 2e-3},
    {RATE: 5e-6},
    {RATE: 2e-4, BATCH: 128},
    {RATE: 5e-4, HEAD: "linear"},
    {RATE: 5e-4, POOLING: "cls"},
    {RATE: 1e-4, OBJECTIVE: 1},
    {RATE: 1e-4, TEMPERATURE: 0.02},
    {RATE: 1e-4, TEMPERATURE: 0.1},
    {RATE: 1e-4, OBJECTIVE: 2},
    {RATE: 1e-4, OBJECTIVE: 3},
    {RATE: 5e-4, **MINED, "objective.negatives": 3, "corpus.mined_skip": 5},
    {RATE: 5e-4, HEAD: "mlp"},
    {RATE: 2e-4, POOLING: "max"},
    {RATE: 3e-4},
    {RATE: 1e-5},
    {RATE: 1e-4, BATCH: 32},
    {RATE: 5e-5, BATCH: 32, EPOCHS: 3},
    {RATE: 2e-5, BATCH: 16},
    {RATE: 1e-4, BATCH: 16},
    {RATE: 5e-4, BATCH: 32},
    {RATE: 2e-4, BATCH: 128, EPOCHS: 3},
    {RATE: 5e-5, EPOCHS: 10},
    {RATE: 5e-5, EPOCHS: 3},
    {RATE: 1e-4, EPOCHS: 10},
    {RATE: 2e-5, EPOCHS: 10},
    {RATE: 1e-4, BATCH: 128, EPOCHS: 3},
)
"""Changes by recipe number. A number as objective means the space's first, second, ... one other than the base's."""
DRAWN = range(100, 148)
"""Numbers of random recipes. Every second recipe has the base's pooling and no head."""
NUMBERS = (*range(len(LISTED)), *DRAWN)
"""Numbers of all recipes, in the order of recording."""
PINNED: Mapping[str, Value] = {RATE: 2e-5, EPOCHS: 1, TEMPERATURE: 0.05}
"""Fixed settings of the base, even if a space's own base changes."""
PINNED_SCORED: Mapping[str, Value] = {OBJECTIVE: "cosent"}
"""Further fixed settings of the base for pairs with scores."""
DOMAINS = (
    Domain(RATE, low=5e-6, high=1e-3, log=True),
    Domain(EPOCHS, choices=(1, 3)),
    Domain(HEAD, choices=("none", "linear", "mlp")),
    Domain("head.dim"),
)
"""Domains of random recipes, which replace the domains of a space."""
MOST_BATCH = 128
"""Largest number of texts in a batch of a random recipe."""


def based(base: Recipe) -> Recipe:
    """Return a space's base with the records' fixed settings."""
    scored = base.flat()[LAYOUT] == "scored_pairs"
    return base.preferring({**(PINNED_SCORED if scored else {}), **PINNED})


def designed(domains: Sequence[Domain], flat: Mapping[str, Value]) -> dict[int, dict[str, Value]]:
    """Return, by number, the changes to the flat base (`based`) of each recipe that a space with these domains can
    have."""
    recipes = {number: _fitted(listed, domains, flat) for number, listed in enumerate(LISTED)}
    recipes |= {number: _by_chance(number, domains, flat) for number in DRAWN}
    differing = {
        number: {key: value for key, value in keys.items() if flat.get(key) != value}
        for number, keys in recipes.items()
        if keys is not None
    }
    return {number: keys for number, keys in differing.items() if keys or number == BASE}


def _fitted(
    listed: Mapping[str, Value], domains: Sequence[Domain], flat: Mapping[str, Value]
) -> dict[str, Value] | None:
    choices = {domain.key: domain.choices for domain in domains}
    keys = dict(listed)
    if OBJECTIVE in keys:
        others = [name for name in choices.get(OBJECTIVE, ()) if name != flat[OBJECTIVE]]
        number = int(str(keys[OBJECTIVE]))
        if number > len(others):
            return None
        keys[OBJECTIVE] = others[number - 1]
    if BATCH in keys and keys[BATCH] not in (*choices.get(BATCH, ()), flat[BATCH]):
        return None
    if LAYOUT in keys and keys[LAYOUT] not in choices.get(LAYOUT, ()):
        return None
    return keys if keys.keys() <= existing_keys({**flat, **keys}) else None


def _by_chance(number: int, domains: Sequence[Domain], flat: Mapping[str, Value]) -> dict[str, Value]:
    """Return a random recipe. Each key has its own random number, so keys that sets share have the same values."""
    ours = {domain.key: domain for domain in (*domains, *DOMAINS)}
    drawn: dict[str, Value] = {}
    for domain in in_order([*ours.values()]):
        plain = number % 2 == 0 and domain.key in (POOLING, HEAD, "head.dim")
        if not plain and domain.is_asked({**flat, **drawn}):
            chance = float(np.random.default_rng([number, zlib.crc32(domain.key.encode())]).random())
            drawn[domain.key] = _value(domain, chance)
    return applying([*ours.values()], drawn, flat)


def _value(domain: Domain, chance: float) -> Value:
    if domain.choices:
        few = domain.key == BATCH
        choices = [value for value in domain.choices if not few or int(str(value)) <= MOST_BATCH]
        return choices[int(chance * len(choices))]
    assert domain.low is not None
    assert domain.high is not None
    low, high = domain.low, domain.high
    if isinstance(low, int) and isinstance(high, int):
        return low + int(chance * (high - low + 1))
    if domain.log:
        return float(f"{math.exp(math.log(low) + chance * math.log(high / low)):.2g}")
    return float(f"{low + chance * (high - low):.2g}")
