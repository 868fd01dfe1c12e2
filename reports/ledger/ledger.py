"""The ledger of finished trials: one JSON file a trial, written whole and renamed into place.

Nothing in it needs Ray, torch, a lock or a server: any number of trials may write to one folder at once, and a reader
never sees half a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reports.ledger.folders import STUDY, is_key, trial_key
from reports.ledger.json_files import read_whole, write_json
from reports.ledger.names import to_write
from reports.ledger.record import Record, Scoring, read_record
from reports.ledger.validity import checked
from trainables.errors import UserError


@dataclass(frozen=True)
class Places:
    """A part of `StudyInfo`."""

    places: dict[str, str] = field(default_factory=dict)


class Ledger:
    """A folder of records. Reading never changes it.

    With `scoring`, of all trials or by recipe hash and seed, a trial is done where its model was evaluated so, and
    `read` and `get` give only done trials, with those evaluations.
    """

    def __init__(self, folder: str | Path, scoring: Scoring | Callable[[str, int], Scoring] | None = None) -> None:
        self.folder, self.scoring = Path(folder), scoring
        self._checked: dict[Path, tuple[tuple[int, int], Record]] = {}

    def path(self, recipe_hash: str, seed: int) -> Path:
        """Where that trial's record lies, or would."""
        return self.folder / f"{trial_key(recipe_hash, seed)}.json"

    def write(self, record: Record) -> Path:
        """Add or replace a record. A number that is not finite is kept as None."""
        name = f"{self.folder.name}/{trial_key(record.recipe_hash, record.seed)}.json"
        path = to_write(self.folder.parent, name)
        write_json(path, record)
        return path

    def read(self) -> list[Record]:
        """The records that can be right, by recipe hash and seed."""
        return [own for record in self.sift()[0] if (own := self._as_scored(record)) is not None]

    def sift(self) -> tuple[list[Record], dict[str, str]]:
        """All records that can be right, by recipe hash and seed, and the other files by name with what is wrong.

        What is wrong is set aside: nobody counts it, and a study runs its trial again, whose record then takes its
        place. Unfinished `.tmp` files are passed over. A record that was right is not read again until its file
        changed.
        """
        records, set_aside = {}, {}
        paths = self.folder.iterdir() if self.folder.is_dir() else ()
        for path in sorted(path for path in paths if path.suffix == ".json" and is_key(path.stem)):
            try:
                records[path] = self._once_checked(path)
            except UserError as error:
                set_aside[path.name] = str(error).removeprefix(f"{path} ")
        self._checked = records
        in_order = sorted((record for _, record in records.values()), key=lambda each: (each.recipe_hash, each.seed))
        return in_order, set_aside

    def _once_checked(self, path: Path) -> tuple[tuple[int, int], Record]:
        """The record, and the time and size of its file."""
        try:
            status = path.stat()
        except OSError as error:
            raise UserError(f"{path} cannot be read ({error})") from None
        state = status.st_mtime_ns, status.st_size
        entry = self._checked.get(path)
        return entry if entry is not None and entry[0] == state else (state, checked(read_record(path), self._places))

    def _places(self) -> Mapping[str, str]:
        """What the files held that the study named (`StudyInfo.places`); nothing where no study says."""
        study = self.folder.parent / STUDY
        return read_whole(Places, study, "a study's description").places if study.is_file() else {}

    def has(self, recipe_hash: str, seed: int) -> bool:
        """Whether that trial is done: its record is there, can be right, and has what is asked for."""
        return self.get(recipe_hash, seed) is not None

    def get(self, recipe_hash: str, seed: int) -> Record | None:
        """That record; None where there is none that can be right."""
        path = self.path(recipe_hash, seed)
        if not path.is_file():
            return None
        try:
            record = self._checked[path] = self._once_checked(path)
        except UserError:  # `sift` says why
            return None
        return self._as_scored(record[1])

    def _as_scored(self, record: Record) -> Record | None:
        if self.scoring is None:
            return record
        scoring = self.scoring if isinstance(self.scoring, Scoring) else self.scoring(record.recipe_hash, record.seed)
        return record.under(scoring) if record.done(scoring) else None
