"""The ledger of finished trials: one JSON file for each trial, written as a whole and renamed into place.

The ledger needs neither Ray, torch, a lock nor a server: any number of trials may write to one folder at once, and a
reader never sees half a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from reports.ledger.folders import STUDY, is_key, trial_key
from reports.ledger.json_files import read_whole, write_json
from reports.ledger.names import writable_path
from reports.ledger.record import Record, Scoring, read_record
from reports.ledger.validity import checked
from trainables.errors import UserError


@dataclass(frozen=True)
class FileDigests:
    """The field `places` of `study.json`, read without the other fields."""

    places: dict[str, str] = field(default_factory=dict)


class Ledger:
    """A folder of records. Reading never changes the folder.

    `scoring` states which evaluations a study needs: the same for all trials, or by recipe hash and seed. With
    `scoring`, a trial is done once its model has these evaluations, and `read` and `get` return only done trials, with
    these evaluations.
    """

    def __init__(self, folder: str | Path, scoring: Scoring | Callable[[str, int], Scoring] | None = None) -> None:
        self.folder, self.scoring = Path(folder), scoring
        self._checked: dict[Path, tuple[tuple[int, int], Record]] = {}

    def path(self, recipe_hash: str, seed: int) -> Path:
        """Return the path of the trial's record, whether or not the file exists."""
        return self.folder / f"{trial_key(recipe_hash, seed)}.json"

    def write(self, record: Record) -> Path:
        """Add or replace a record. Numbers that are not finite become null."""
        name = f"{self.folder.name}/{trial_key(record.recipe_hash, record.seed)}.json"
        path = writable_path(self.folder.parent, name)
        write_json(path, record)
        return path

    def read(self) -> list[Record]:
        """Return all valid records, sorted by recipe hash and seed."""
        return [own for record in self.sift()[0] if (own := self._as_scored(record)) is not None]

    def sift(self) -> tuple[list[Record], dict[str, str]]:
        """Return all valid records, sorted by recipe hash and seed, and what is wrong with each other file, by file
        name.

        Invalid records are set aside: nothing counts them, and a study runs their trials again and replaces them.
        Unfinished `.tmp` files are skipped. A valid record is read again only after its file has changed.
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
        """Return a file's time and size, and the record in it. Raise `UserError` if the record is invalid."""
        try:
            status = path.stat()
        except OSError as error:
            raise UserError(f"{path} cannot be read ({error})") from None
        state = status.st_mtime_ns, status.st_size
        entry = self._checked.get(path)
        return entry if entry is not None and entry[0] == state else (state, checked(read_record(path), self._digests))

    def _digests(self) -> Mapping[str, str]:
        """Return `StudyInfo.places` of the study; empty if there is no `study.json`."""
        study = self.folder.parent / STUDY
        return read_whole(FileDigests, study, "a study's description").places if study.is_file() else {}

    def has(self, recipe_hash: str, seed: int) -> bool:
        """Return whether the trial is done: its record is valid and has the evaluations that `scoring` needs."""
        return self.get(recipe_hash, seed) is not None

    def get(self, recipe_hash: str, seed: int) -> Record | None:
        """Return the trial's record; None if the trial is not done, or if it has no valid record."""
        path = self.path(recipe_hash, seed)
        if not path.is_file():
            return None
        try:
            record = self._checked[path] = self._once_checked(path)
        except UserError:  # `sift` returns the reason
            return None
        return self._as_scored(record[1])

    def _as_scored(self, record: Record) -> Record | None:
        if self.scoring is None:
            return record
        scoring = self.scoring if isinstance(self.scoring, Scoring) else self.scoring(record.recipe_hash, record.seed)
        return record.filter_evaluations(scoring) if record.done(scoring) else None
