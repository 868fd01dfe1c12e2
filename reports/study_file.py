"""`RESULTS/study.json`: what a study was asked to do. With the ledger it is all that a report is made of."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.ledger import known_fields, plain, read_json, write_whole
from search_spaces import load_space
from search_spaces.space import Space
from trainables.errors import UserError

NAME = "study.json"
LEDGER = "ledger"
FAILURES = "failures"
"""Where the reasons are kept of trials that could not run, HASH-SEED.json each."""


@dataclass(frozen=True)
class StudyInfo:
    """A study's question, where it runs and how far it is.

    `space_file` names the copy of a person's own space inside the results folder. `base` is the flat recipe
    after the scale and `--set`. `row_hashes` maps every row's label to its recipe's hash, or to None where an
    input that the row needs is missing; `missing` says, by label, which and why, where more is known than the row
    itself tells. `searched` are the keys of the domains that are searched, `explored` the recipe hashes that Optuna or
    the grid asked for.
    """

    space: str
    space_file: str | None = None
    scale: str = "laptop"
    scale_reason: str = ""
    search: str = "paper"
    trials: int | None = None
    seeds: list[int] = field(default_factory=lambda: [0])
    base: dict[str, Any] = field(default_factory=dict)
    row_hashes: dict[str, str | None] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    searched: list[str] = field(default_factory=list)
    explored: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
    hardware: str = ""
    data: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Sentences that a reader must know before any number, e.g. what the encoder was trained on already."""
    commands: list[str] = field(default_factory=list)
    """Every command line that worked on the study, in the order of their first use."""
    plugins: list[str] = field(default_factory=list)
    """Names of the plugin files that the study copied to `plugins/`."""
    created_at: str = ""
    status_counts: dict[str, int] = field(default_factory=dict)

    def save(self, results: Path) -> Path:
        """Write `study.json` into the results folder, whole."""
        path = results / NAME
        write_whole(path, json.dumps(plain(dataclasses.asdict(self)), indent=1, allow_nan=False) + "\n")
        return path

    @classmethod
    def load(cls, results: Path) -> StudyInfo:
        """Read it back; `UserError` where the folder is missing or is not a study's."""
        if not results.is_dir():
            raise UserError(f"the results folder {results} does not exist")
        path = results / NAME
        if not path.is_file():
            raise UserError(f"{results} is not a results folder: it holds no {NAME}; give a folder that a study wrote")
        content = read_json(path, "a study's description")
        try:
            info = cls(**known_fields(cls, content))
        except TypeError as error:
            raise UserError(f"{path} is not a study's description ({error})") from None
        base = {key: tuple(value) if isinstance(value, list) else value for key, value in info.base.items()}
        return dataclasses.replace(info, base=base)

    def load_space(self, results: Path) -> Space:
        """The study's space, a registered one or the copy of a person's own file, with the domains searched."""
        own = self.space if self.space_file is None else f"{results / self.space_file}:{self.space}"
        space = load_space(own)
        return dataclasses.replace(space, domains=tuple(d for d in space.domains if d.key in self.searched))
