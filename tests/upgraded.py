"""Results of older versions as this one would have written them: their recipes, and with them all names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from reports.ledger.study_info import StudyInfo
from reports.upgrade.recipes import upgraded_recipe

FOLDERS = ("ledger", "predictions", "models", "failures", "progress")


def upgrade(results: Path) -> Path:
    """The folder itself, changed in place."""
    study = json.loads((results / "study.json").read_text())
    names: dict[str, str] = {}
    for path in sorted((results / "ledger").glob("*.json")):
        record = json.loads(path.read_text())
        recipe = upgraded_recipe(record["recipe"])
        names[record["recipe_hash"]] = recipe.hash
        record |= {"recipe": recipe.flat(), "recipe_hash": recipe.hash}
        path.write_text(json.dumps(record))
    info = StudyInfo(**{**study, "base": {}})
    space, base = info.load_space(results), upgraded_recipe(study["base"])
    base = space.base.preferring(space.laptop if info.scale == "laptop" else {}).preferring(base.flat())
    for row in space.rows:
        old = info.row_hashes.get(row.label)
        if old is not None:
            names.setdefault(old, base.preferring(row.overrides).hash)
    study["base"] = base.flat()
    _rename(results, names)
    (results / "study.json").write_text(json.dumps(study))
    for file in (results / "study.json", results / "optuna.journal"):
        if file.is_file():
            text = file.read_text()
            for old, new in names.items():
                text = text.replace(old, new)
            file.write_text(text)
    return results


def _rename(results: Path, names: dict[str, str]) -> None:
    moved: list[tuple[Path, Path]] = []
    for folder in FOLDERS:
        for path in (results / folder).glob("*"):
            old = path.name.partition("-")[0]
            if old in names:
                aside = path.with_name(f".{path.name}.aside")
                path.rename(aside)
                moved.append((aside, path.with_name(path.name.replace(old, names[old]))))
    for aside, path in moved:
        aside.rename(path)
    for path in (results / "ledger").glob("*.json"):
        record: dict[str, Any] = json.loads(path.read_text())
        for key in ("predictions", "checkpoint"):
            for old in [old for old in names if record.get(key) and old in record[key]]:
                record[key] = record[key].replace(old, names[old])
        path.write_text(json.dumps(record))
