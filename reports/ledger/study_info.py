"""`RESULTS/study.json`: what a study was asked to do. With the ledger it is all that a report is made of."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports.ledger.folders import PLUGINS, STUDY
from reports.ledger.json_files import as_recipe, known_fields, read_json, write_json
from search_spaces import load_space
from search_spaces.space import Space
from trainables.errors import UserError
from trainables.plugins import load_plugin


@dataclass(frozen=True)
class StudyInfo:
    """A study's question, where it runs and how far it is.

    `space_file` names the copy of a person's own space inside the results folder, `plugins` the copies of `--plugin`
    files in its folder `plugins`. `base` is the flat recipe after the scale and `--set`. `row_hashes` maps every row's
    label to its recipe's hash, or to None where an input that the row needs is missing; `missing` says, by label,
    which and why, where more is known than the row itself tells. `searched` are the keys of the domains that are
    searched, `explored` the recipe hashes that Optuna or the grid asked for.
    """

    space: str
    space_file: str | None = None
    plugins: list[str] = field(default_factory=list)
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
    created_at: str = ""
    status_counts: dict[str, int] = field(default_factory=dict)

    def save(self, results: Path) -> Path:
        """Write `study.json` into the results folder, whole."""
        path = results / STUDY
        write_json(path, self)
        return path

    @classmethod
    def load(cls, results: Path) -> StudyInfo:
        """Read it back; `UserError` where the folder is missing or is not a study's."""
        if not results.is_dir():
            raise UserError(f"the results folder {results} does not exist")
        path = results / STUDY
        if not path.is_file():
            raise UserError(f"{results} is not a results folder: it holds no {STUDY}; give a folder that a study wrote")
        content = read_json(path, "a study's description")
        try:
            info = cls(**known_fields(cls, content))
        except TypeError as error:
            raise UserError(f"{path} is not a study's description ({error})") from None
        return dataclasses.replace(info, base=as_recipe(info.base))

    def load_space(self, results: Path) -> Space:
        """The study's space, a registered one or the copy of a person's own file, with the domains searched.

        The study's plugins are run first: the space may name what they add.
        """
        for name in self.plugins:
            load_plugin(results / PLUGINS / name)
        own = self.space if self.space_file is None else f"{results / self.space_file}:{self.space}"
        space = load_space(own)
        return dataclasses.replace(space, domains=tuple(d for d in space.domains if d.key in self.searched))
