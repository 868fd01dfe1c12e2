"""The ledger of finished trials: one JSON file a trial, written whole and renamed into place.

Nothing in it needs Ray, torch, a lock or a server: any number of trials may write to one folder at once, and a reader
never sees half a file.
"""

from __future__ import annotations

from pathlib import Path

from reports.ledger.folders import is_key, trial_key
from reports.ledger.json_files import write_json
from reports.ledger.record import Record, read_record


class Ledger:
    """A folder of records. Reading never changes it."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def path(self, recipe_hash: str, seed: int) -> Path:
        """Where that trial's record lies, or would."""
        return self.folder / f"{trial_key(recipe_hash, seed)}.json"

    def write(self, record: Record) -> Path:
        """Add or replace a record. A number that is not finite is kept as None."""
        path = self.path(record.recipe_hash, record.seed)
        write_json(path, record)
        return path

    def read(self) -> list[Record]:
        """Every record, by recipe hash and seed; unfinished `.tmp` files are passed over.

        Raises `UserError` for a file that is not a record.
        """
        if not self.folder.is_dir():
            return []
        paths = [path for path in self.folder.iterdir() if path.suffix == ".json" and is_key(path.stem)]
        return sorted(map(read_record, paths), key=lambda record: (record.recipe_hash, record.seed))

    def has(self, recipe_hash: str, seed: int) -> bool:
        """Whether that trial is done."""
        return self.path(recipe_hash, seed).is_file()

    def get(self, recipe_hash: str, seed: int) -> Record | None:
        """That record, or None."""
        return read_record(self.path(recipe_hash, seed)) if self.has(recipe_hash, seed) else None
