"""Records and `study.json` of versions before the first schema, as JSON objects, in today's form."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from reports.ledger import EVALUATED, MODELS, PREDICTIONS, Evaluation, Record, trial_key
from reports.ledger.folders import SCHEMA
from reports.upgrade.recipes import evaluation_of, old_hash, upgraded
from trainables.errors import UserError

Old = Mapping[str, Any]


def new_hash(old: Old) -> str:
    """What the trial's recipe is called now; `UserError` where it is not the recipe that it was called by."""
    recipe = old.get("recipe")
    if not isinstance(recipe, Mapping):
        raise UserError("its recipe is no object")
    if old_hash(recipe) != old.get("recipe_hash"):
        raise UserError("its hash is not its recipe's")
    return upgraded(recipe).hash


def new_record(old: Old) -> dict[str, Any]:
    """The record, with its evaluation as an entry of its own; `UserError` where it was none."""
    recipe_hash, own = new_hash(old), evaluation_of(old["recipe"])
    if old.get("protocol", "full") != own.protocol:
        raise UserError(f"its protocol {old.get('protocol')!r} is not its recipe's, {own.protocol!r}")
    key = trial_key(recipe_hash, old["seed"])
    read = dict(old.get("data") or {})
    evaluated: Any = {name: said for name, said in read.items() if name in EVALUATED}
    evaluation = Evaluation(
        protocol=own.protocol,
        scores=old.get("scores") or {},
        geometry=old.get("geometry") or {},
        data=evaluated,
        finished_at=old.get("finished_at", ""),
    )
    if old.get("predictions"):
        evaluation = dataclasses.replace(evaluation, predictions=f"{PREDICTIONS}/{key}-{evaluation.name}.npz")
    kept = {item.name for item in dataclasses.fields(Record)}
    return {
        **{name: value for name, value in old.items() if name in kept},
        "recipe": dict(upgraded(old["recipe"]).flat()),
        "recipe_hash": recipe_hash,
        "data": {name: said for name, said in read.items() if name not in EVALUATED},
        "checkpoint": f"{MODELS}/{key}" if old.get("checkpoint") else None,
        "evaluations": [] if old.get("status") == "pruned" else [dataclasses.asdict(evaluation)],
        "schema": SCHEMA,
    }


def new_info(old: Old, renamed: Mapping[str, str], of_row: Callable[[str], str | None]) -> Old:
    """`study.json`. `renamed`: by an old hash the new one; `of_row`: of a row that no record is of, from its
    label. Explored recipes without a record are left out: the search's journal has them."""
    base, asked = upgraded(old["base"]).flat(), evaluation_of(old["base"])
    rows = {
        label: None if before is None else renamed.get(before) or of_row(label) or before
        for label, before in old.get("row_hashes", {}).items()
    }
    explored = list(dict.fromkeys(renamed[before] for before in old.get("explored", ()) if before in renamed))
    return {
        **old,
        "base": dict(base),
        "evaluation": dict(asked.flat()),
        "row_hashes": rows,
        "explored": explored,
        "schema": SCHEMA,
    }
