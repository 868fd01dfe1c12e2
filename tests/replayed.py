"""A small record with scores from a formula, for the tests of the replay."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import search_spaces
from search_spaces.space import Domain, Space
from study.replay.recorded import Recorded
from trainables.recipe import Recipe, Value

TEMPERATURES = (0.02, 0.05, 0.1, 0.3)
BATCHES = (8, 16, 32)
DIMENSIONS = (8, 16)
STEPS = (2, 4, 8, 16)


@pytest.fixture(scope="module", autouse=True)
def small_space_is_known() -> Iterator[None]:
    """A record names a space of this repository."""
    known = {**search_spaces.spaces(), "small": small_space()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_spaces, "spaces", lambda: known)
        yield


def small_space() -> Space:
    return Space(
        name="small",
        title="A small one",
        paper="none",
        base=Recipe(),
        domains=(
            Domain("objective.temperature", low=0.02, high=0.3, log=True, grid=TEMPERATURES),
            Domain("optimisation.batch_size", choices=BATCHES),
            Domain("head.kind", choices=("none", "linear")),
            Domain("head.dim", choices=DIMENSIONS, when=("head.kind", ("linear",))),
        ),
        goals=("sts", "transfer"),
    )


def small_grid() -> list[dict[str, Value]]:
    """36 recipes."""
    heads = [{"head.kind": "none"}, *({"head.kind": "linear", "head.dim": dim} for dim in DIMENSIONS)]
    return [
        {"objective.temperature": temperature, "optimisation.batch_size": batch, **head}
        for temperature, batch, head in itertools.product(TEMPERATURES, BATCHES, heads)
    ]


def make_recorded(*, seeds: int = 5, noise: float = 0.3, seed: int = 0) -> Recorded:
    """Two goals that disagree about the temperature; the longer a training, the nearer to its end's score."""
    space, points = small_space(), small_grid()
    chance = np.random.default_rng(seed)
    shape = len(points), seeds, len(STEPS)
    steps = np.array(STEPS, dtype=float)
    truth = np.array([_truth(point) for point in points])
    of_seed = chance.normal(0, noise, (*shape[:2], 1, 2))
    course = truth[:, None, None] - 5 * np.exp(-steps / 4)[None, None, :, None] + of_seed
    pace = np.array([0.1 * int(str(point["optimisation.batch_size"])) for point in points])
    seconds = pace[:, None, None] * steps * chance.uniform(0.9, 1.1, (*shape[:2], 1))
    return Recorded(
        space,
        space.base,
        space.goals,
        tuple(space.base.override(point).hash for point in points),
        tuple(points),
        tuple(range(seeds)),
        tuple(steps.tolist()),
        seconds,
        np.broadcast_to(0.05 * np.arange(1, len(STEPS) + 1), shape).copy(),
        np.broadcast_to(100 * steps, shape).copy(),
        course + chance.normal(0, noise / 2, (*shape, 2)),
        course + chance.normal(0, noise / 2, (*shape, 2)) - 1,
    )


def _truth(point: dict[str, Value]) -> tuple[float, float]:
    cold = math.log(float(str(point["objective.temperature"])) / 0.02)
    large = math.log2(int(str(point["optimisation.batch_size"])) / 8)
    head = 0.4 if point["head.kind"] == "linear" else 0.0
    return 70 - (cold - 0.9) ** 2 + 0.5 * large + head, 80 + 1.2 * cold - 0.8 * large - head


def write_recorded(recorded: Recorded, path: Path) -> Path:
    """As `python -m benchmarks record` packs one."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = []
    for recipe, seed, rung in itertools.product(*map(range, recorded.seconds.shape)):
        here = recipe, seed, rung
        scores = {
            f"{part}_{goal}": array[here][place]
            for part, array in (("dev", recorded.development), ("test", recorded.test))
            for place, goal in enumerate(recorded.goals)
        }
        known = {domain.key: recorded.chosen[recipe].get(domain.key) for domain in recorded.space.domains}
        rows.append(
            {"recipe": recorded.hashes[recipe], "seed": recorded.seeds[seed], **known, "rung": rung + 1,
             "step": recorded.rungs[rung], "tokens": recorded.tokens[here], "seconds": recorded.seconds[here],
             "scoring_seconds": recorded.scoring[here], **scores}
        )  # fmt: skip
    made = {"space": recorded.space.name, "scale": "paper", "goals": recorded.goals, "rung_steps": recorded.rungs}
    table = pa.Table.from_pandas(pd.DataFrame(rows), preserve_index=False)
    pq.write_table(table.replace_schema_metadata({"record": json.dumps(made)}), path)
    return path


class Scripted:
    """A search that asks for these recipes in turn and stops those trials."""

    def __init__(self, recipes: Sequence[int], stopped: Sequence[tuple[int, int]] = ()) -> None:
        """`stopped`: recipe and rung."""
        self.recipes, self.stopped = list(recipes), set(stopped)
        self.asked: dict[str, int] = {}
        self.told: list[tuple[str, int, Sequence[float] | None]] = []
        self.judged: list[tuple[str, int, int]] = []

    def suggest(self, name: str) -> int | None:
        if len(self.asked) == len(self.recipes):
            return None
        self.asked[name] = self.recipes[len(self.asked)]
        return self.asked[name]

    def rung(self, name: str, seed: int, rung: int, values: Sequence[float]) -> bool:
        self.judged.append((name, seed, rung))
        return (self.asked[name], rung) not in self.stopped

    def done(self, name: str, seed: int, values: Sequence[float] | None) -> None:
        self.told.append((name, seed, values))
