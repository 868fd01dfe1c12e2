"""A small recorded benchmark with made-up numbers, in the layout of `python -m benchmarks record`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.record import FROZEN, RUNGS, every_point
from search_spaces import load_space


def write_record(path: Path, *, recipes: int | None = 40, more_seeds: int = 5, seed: int = 0) -> Path:
    """Three seeds of so many recipes of the grid's start (all without a number), and ten of some of them.

    A recipe's scores depend on its keys, on its seed, and on how far it was trained.
    """
    space = load_space(FROZEN)
    base = space.recipe("laptop")
    random = np.random.default_rng(seed)
    points = every_point(FROZEN)
    effects = {pair: random.normal(0, 3, size=2) for pair in dict.fromkeys(pair for point in points for pair in point)}
    random.shuffle(points)
    rows = []
    for number, point in enumerate(points[:recipes]):
        truth = np.array([50.0, 70.0]) + sum(effects[pair] for pair in point)
        speed = random.uniform(0.002, 0.004)
        name = base.override(dict(point)).hash
        for trial in range(10 if number < more_seeds else 3):
            own = random.normal(0, 0.5, size=2)
            for rung, step in enumerate(RUNGS, start=1):
                here = truth - 20 * np.exp(-step / 10) + own
                parts = {
                    f"{part}_{goal}": here[place] + random.normal(0, 0.2)
                    for part in ("dev", "test")
                    for place, goal in enumerate(space.goals)
                }
                course = {"rung": rung, "step": step, "epoch": step / 20, "tokens": 90 * step}
                costs = {"seconds": speed * step, "scoring_seconds": 0.004 * rung}
                rows.append({"recipe": name, "seed": trial, **dict(point), **course, **costs, **parts})
    table = pd.DataFrame(rows)
    measured = ("epoch", "seconds", "scoring_seconds", *(name for name in table if name.startswith(("dev_", "test_"))))
    table = table.astype(dict.fromkeys(measured, "float32"))
    made = {
        "space": FROZEN,
        "scale": "laptop",
        "goals": list(space.goals),
        "rung_steps": list(RUNGS),
        "machine": "none",
    }
    content = pa.Table.from_pandas(table, preserve_index=False)
    pq.write_table(content.replace_schema_metadata({"record": json.dumps(made)}), path)
    return path
