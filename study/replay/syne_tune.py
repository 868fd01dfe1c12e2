"""Recorded benchmarks as black boxes of Syne Tune: `python -m study.replay.syne_tune RECORD ... --to FOLDER`.

Syne Tune reads them (`syne_tune.blackbox_repository.blackbox_tabular.deserialize`), and need not be installed here:

    FOLDER/every_recipe    all recipes, with the seeds that all of them have
    FOLDER/every_seed      the recipes that have all seeds, where some have fewer

A record is a task of both, named as its file. Syne Tune knows no conditional keys, so a key that a recipe does not ask
for has a row for each of its values, with the same numbers in all of them: every point of the product of the grids is
there, and no searcher suggests one that is not. `metadata.json` says which recipe a row is, by its hash.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from search_spaces.space import Domain
from study.replay.recorded import Recorded, read_record
from trainables.errors import UserError, answer_user_errors
from trainables.recipe import Value

FIDELITY = "step"
ABOUT = (
    "dev_* and test_* are scores in percent, the higher the better. seconds (of training), scoring_seconds and tokens "
    "count from the start of a trial. Rows of the same recipe hold the same numbers. NaN: the training diverged before."
)
Point = tuple[Value, ...]
"""A value of every domain, in their order."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Returns the exit code; `UserError` for a mistake of the person's."""
    asked = _parser().parse_args(arguments)
    paths = [Path(path) for path in asked.records]
    if len({path.stem for path in paths}) < len(paths):
        raise UserError("two records have the same file name, which names their task; rename one")
    for folder in export({path.stem: read_record(path) for path in paths}, Path(asked.to)):
        print(f"{folder}: tasks {', '.join(path.stem for path in paths)}")
    return 0


def export(records: Mapping[str, Recorded], to: Path) -> list[Path]:
    """Write records as tasks of these names; the folders of the boxes. `UserError` where they do not go together."""
    (first_name, first), *others = records.items()
    rows = {name: _rows(record) for name, record in records.items()}
    for name, record in others:
        if (record.goals, record.seeds, record.rungs) != (first.goals, first.seeds, first.rungs):
            raise UserError(f"{name} has other goals, seeds or rungs than {first_name}; give it a folder of its own")
        if rows[name].keys() != rows[first_name].keys():
            raise UserError(f"{name} has other recipes than {first_name}; give it a folder of its own")
    points = sorted(rows[first_name], key=lambda point: _place(first.space.domains, point))
    begun = np.all(
        [_begun(record)[[rows[name][point] for point in points]] for name, record in records.items()], axis=0
    )  # (points, seeds)
    everywhere, full = begun.all(axis=0), begun.all(axis=1)  # (seeds,), (points,)
    if not everywhere.any():
        raise UserError(f"{first_name} has no seed that all its recipes have; finish recording it first")
    folders = [_write(records, points, everywhere, to / "every_recipe")]
    if full.any() and not everywhere.all():
        chosen = [point for point, there in zip(points, full, strict=True) if there]
        folders.append(_write(records, chosen, np.ones_like(everywhere), to / "every_seed"))
    return folders


def _write(records: Mapping[str, Recorded], points: Sequence[Point], seeds: np.ndarray, folder: Path) -> Path:
    """One black box: these points, under the seeds that are marked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    first = next(iter(records.values()))
    domains = first.space.domains
    columns = zip(*points, strict=True)
    types = [{str: pa.string(), int: pa.int64(), float: pa.float64()}[_kind(domain)] for domain in domains]
    table = pa.table(
        {domain.key: pa.array(column, kind) for domain, column, kind in zip(domains, columns, types, strict=True)}
    )
    pq.write_table(table, folder / "hyperparameters.parquet", compression="gzip")
    scores = [f"{part}_{goal}" for part in ("dev", "test") for goal in first.goals]
    measured, recipes = [], {}
    for name, record in records.items():
        number = _rows(record)
        rows = [number[point] for point in points]
        costs = np.stack([record.seconds, record.scoring, record.tokens], axis=-1)
        values = np.concatenate([record.development, record.test, costs], axis=-1)
        measured.append(values[rows][:, seeds])
        recipes[name] = [record.hashes[row] for row in rows]
    # (tasks, points, seeds, rungs, objectives)
    np.save(folder / "objectives_evaluations.npy", np.stack(measured).astype(np.float32))
    np.save(folder / "fidelities_values.npy", np.array(first.rungs, dtype=np.int64))
    metadata = {
        "objectives_names": [*scores, "seconds", "scoring_seconds", "tokens"],
        "task_names": list(records),
        "recipes": recipes,
        "seeds": [seed for seed, marked in zip(first.seeds, seeds, strict=True) if marked],
        "about": ABOUT,
    }
    steps = {"domain_cls": "Integer", "domain_kwargs": {"lower": 1, "upper": int(first.rungs[-1])}, **_UNIFORM}
    _dump(metadata, folder / "metadata.json")
    _dump({domain.key: described(domain) for domain in domains}, folder / "configspace.json")
    _dump({FIDELITY: steps}, folder / "fidelityspace.json")
    return folder


_UNIFORM: dict[str, Any] = {"sampler_cls": "Uniform", "sampler_kwargs": {}}


def described(domain: Domain) -> dict[str, Any]:
    """As Syne Tune writes a finite domain: choices without an order, or numbers, which it tries by their distances."""
    values = {"categories": list(domain.grid_values)}
    if domain.choices:
        return {"domain_cls": "Categorical", "domain_kwargs": values, **_UNIFORM}
    return {"domain_cls": "OrdinalNearestNeighbor", "domain_kwargs": {**values, "log_scale": domain.log}}


def _kind(domain: Domain) -> type:
    """Of all its values, which Syne Tune wants to be of one type."""
    (kind, *others) = {type(value) for value in domain.grid_values} or {type(None)}
    if others or kind not in (str, int, float):
        raise UserError(f"{domain.key} has no grid of words alone, or of numbers alone, as Syne Tune's format wants it")
    return kind


def _rows(record: Recorded) -> dict[Point, int]:
    """By point, the number of its recipe, which has a point for each value of a domain that it does not ask for."""
    domains = record.space.domains
    return {
        point: number
        for number, chosen in enumerate(record.chosen)
        for point in itertools.product(
            *((chosen[domain.key],) if domain.key in chosen else domain.grid_values for domain in domains)
        )
    }


def _place(domains: Sequence[Domain], point: Point) -> list[int]:
    return [domain.grid_values.index(value) for domain, value in zip(domains, point, strict=True)]


def _begun(record: Recorded) -> np.ndarray:  # (recipes, seeds)
    return ~np.isnan(record.seconds[..., 0])


def _dump(content: object, to: Path) -> None:
    to.write_text(json.dumps(content), encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m study.replay.syne_tune",
        description=(__doc__ or "").partition("\n")[0],
        epilog="example:\n  python -m study.replay.syne_tune benchmarks/recorded/*.parquet --to blackboxes",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("records", nargs="+", metavar="RECORD", help="what python -m benchmarks record has written")
    parser.add_argument("--to", required=True, metavar="FOLDER", help="where the black boxes go")
    return parser


def command() -> int:
    """The command line: runs `main` and returns the exit code, 2 for a mistake of the person's."""
    return answer_user_errors(main)


if __name__ == "__main__":
    sys.exit(command())
