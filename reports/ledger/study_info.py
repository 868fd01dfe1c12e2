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
    """What was asked, where it runs and how far it is."""

    space: str
    """The space's name."""
    space_file: str | None = None
    """The copy of a person's own space file, within the results folder."""
    plugins: list[str] = field(default_factory=list)
    """The copies of `--plugin` files, in the folder `plugins`."""
    scale: str = "laptop"
    """`paper` or `laptop`."""
    scale_reason: str = ""
    """Why it has that scale."""
    search: str = "paper"
    """`paper`, `grid` or `optuna`."""
    trials: int | None = None
    """How many recipes Optuna was asked to explore."""
    seeds: list[int] = field(default_factory=lambda: [0])
    """Those that every recipe is run with."""
    most_seeds: int | None = None
    """How many a recipe may have where more can change an answer (`--seeds 1:10`)."""
    base: dict[str, Any] = field(default_factory=dict)
    """The flat base recipe, after the scale and `--set`."""
    row_hashes: dict[str, str | None] = field(default_factory=dict)
    """By the label of every row asked for, its recipe's hash; None where an input that the row needs is missing."""
    missing: dict[str, str] = field(default_factory=dict)
    """By label, which input is missing and why."""
    searched: list[str] = field(default_factory=list)
    """The keys of the domains that may be searched: all of the space's but those that `--set` gives."""
    goals: list[str] | None = None
    """What the search looks for (`search_spaces.goals`), empty for the one score; None, as in older files: the
    space's own goals."""
    limits: dict[str, float] = field(default_factory=dict)
    """By name, what the study and its trials may cost (`search_spaces.limits`), as the last command said."""
    limited: dict[str, Any] = field(default_factory=dict)
    """Where a limit ended the last run: `limit`, its `number`, what was `spent`, what `a_trial` takes (None where
    unknown), and how many trials were `left_out`."""
    explored: list[str] = field(default_factory=list)
    """The hashes of the recipes that Optuna or the grid asked for, in that order."""
    versions: dict[str, str] = field(default_factory=dict)
    """As in a record."""
    hardware: str = ""
    """One line for the report."""
    data: dict[str, Any] = field(default_factory=dict)
    """What was read, as in the first record that trained; the report takes it from the records."""
    notes: list[str] = field(default_factory=list)
    """Sentences that a reader must know before any number, e.g. what the encoder was trained on already."""
    commands: list[str] = field(default_factory=list)
    """Every command line that worked on the study, in the order of their first use."""
    created_at: str = ""
    """UTC in ISO format."""
    across: list[str] = field(default_factory=list)
    """The guards (`reports.guards`) across whose flags the reader chose to judge."""
    stopping: dict[str, str] = field(default_factory=dict)
    """By which `scheduler` explored trials were stopped early, the last one, and at which `rungs` (as `--rungs` takes
    them); empty where none was, and in studies of older versions."""
    status_counts: dict[str, int] = field(default_factory=dict)
    """How many trials are `finished`, `pruned` and `failed`, as counted at the end of a run."""

    @property
    def raced(self) -> bool:
        """Whether recipes may have unequal numbers of seeds, by their scores."""
        return self.most_seeds is not None and self.most_seeds > len(self.seeds)

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
        """The study's space, a registered one or the copy of a person's own file, with the domains and goals searched.

        The study's plugins are run first: the space may name what they add.
        """
        for name in self.plugins:
            load_plugin(_kept(results, PLUGINS, name))
        if self.space_file is not None:
            space = load_space(f"{_kept(results, self.space_file)}:{self.space}")
        elif self.space.endswith(".py") or "/" in self.space or ".py:" in self.space:
            raise UserError(f"{results / STUDY} names {self.space!r}, which is a file and no space of this repository")
        else:
            space = load_space(self.space)
        goals = space.goals if self.goals is None else tuple(self.goals)
        searched = tuple(domain for domain in space.domains if domain.key in self.searched)
        return dataclasses.replace(space, domains=searched, goals=goals)


def _kept(results: Path, *names: str) -> Path:
    """A file of code that the study kept; `UserError` for a name that leads out of the results folder."""
    if any(name in ("", ".", "..") or name != Path(name).name or "\0" in name for name in names):
        raise UserError(f"{results / STUDY} names {names[-1]!r}, which is no file of that folder")
    return results.joinpath(*names)
