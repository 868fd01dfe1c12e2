"""`RESULTS/study.json`: what a study was asked to do. With the ledger it is all that a report is made of."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from reports.ledger.finals import Finals
from reports.ledger.folders import PLUGINS, SCHEMA, STUDY, Hash, PluginFile
from reports.ledger.json_files import as_recipe, read_whole, write_json
from reports.ledger.option_values import NumberRange
from reports.ledger.own_code import check_trusted, read_code
from reports.ledger.record import Scoring
from reports.ledger.request import Request
from search_spaces import registered, space_in
from search_spaces.limits import of_trials
from search_spaces.space import Scale, Search, Space
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig, evaluation_keys
from trainables.keys import above, at_least
from trainables.plugins import run_source
from trainables.recipe import Recipe, keys
from trainables.record_parts import Trained
from trainables.typed_json import Count, named_by

_WHAT = "a study's description"


class Limited(TypedDict, total=False):
    """How a limit ended a study; empty where none did."""

    limit: str
    number: float
    spent: float
    left_out: Count
    a_trial: float | None  # what a trial takes, where that is known
    least: float | None  # where it had no room for a search, a limit that has


def _whole(limited: Limited) -> str | None:
    return None if limited.keys() >= {"limit", "number", "spent", "left_out"} or not limited else "is not whole"


def _request(values: dict[str, Any]) -> str | None:
    if not values:
        return "is no request (it asks for nothing)"
    try:
        Request.of(values)
    except UserError as error:
        return f"is no request ({error})"
    return None


@dataclass(frozen=True)
class StudyInfo:
    """What was asked, where it runs and how far it is."""

    space: str
    """The space's name."""
    space_file: Literal["space.py"] | None = None
    """The copy of a person's own space file, within the results folder."""
    plugins: list[PluginFile] = field(default_factory=list)
    """The copies of `--plugin` files, in the folder `plugins`."""
    scale: Scale = "laptop"
    scale_reason: str = ""
    """Why it has that scale."""
    search: Search = "paper"
    trials: Annotated[int, at_least(1)] | None = None
    """How many recipes Optuna was asked to explore."""
    seeds: list[Count] = field(default_factory=lambda: [0])
    """Those that every recipe is run with."""
    most_seeds: Annotated[int, at_least(1)] | None = None
    """How many a recipe may have where more can change an answer (`--seeds 1:10`)."""
    base: Annotated[dict[str, Any], named_by(keys)] = field(default_factory=dict)
    """The flat base recipe, after the scale and `--set`."""
    evaluation: Annotated[dict[str, Any], named_by(evaluation_keys)] = field(default_factory=dict)
    """How every trained model is scored, flat, as the last command said."""
    evaluated_on: list[str] = field(default_factory=list)
    """The fingerprints of that evaluation's data, one for each set of tasks that some trial was scored on; empty where
    nobody noted them."""
    places: dict[str, str] = field(default_factory=dict)
    """By path what the local files and folders held that its recipes name (`Recipe.places`)."""
    row_hashes: dict[str, Hash | None] = field(default_factory=dict)
    """By the label of every row asked for, its recipe's hash; None where an input that the row needs is missing."""
    missing: dict[str, str] = field(default_factory=dict)
    """By label, which input is missing and why."""
    searched: Annotated[list[str], named_by(keys)] = field(default_factory=list)
    """The keys of the domains that may be searched: all of the space's but those that `--set` gives."""
    goals: list[str] | None = None
    """What the search looks for (`search_spaces.goals`), empty for the one score; None, as in older files: the
    space's own goals."""
    limits: dict[str, Annotated[float, above(0.0)]] = field(default_factory=dict)
    """By name, what the study and its trials may cost (`search_spaces.limits`), as the last command said."""
    limited: Annotated[Limited, _whole] = field(default_factory=Limited)
    """Where a limit ended the last run."""
    explored: list[Hash] = field(default_factory=list)
    """The hashes of the recipes that Optuna or the grid asked for, in that order."""
    finals: Finals | None = None
    """What the search ends with; None where it has no finals."""
    versions: dict[str, str] = field(default_factory=dict)
    """As in a record."""
    hardware: str = ""
    """One line for the report."""
    data: Trained = field(default_factory=Trained)
    """What was read, as in the first record that trained; the report takes it from the records."""
    notes: list[str] = field(default_factory=list)
    """Sentences that a reader must know before any number, e.g. what the encoder was trained on already."""
    requests: list[Annotated[dict[str, Any], _request]] = field(default_factory=list)
    """What every command asked for that worked on the study, by option (`Request.values`), in the order of their last
    use."""
    created_at: str = ""
    """UTC in ISO format."""
    across: list[str] = field(default_factory=list)
    """The guards (`reports.facts.guards`) across whose flags the reader chose to judge."""
    stopping: dict[str, str] = field(default_factory=dict)
    """By which `scheduler` explored trials were stopped early, the last one, and at which `rungs` (as `--rungs` takes
    them); empty where none was, and in studies of older versions."""
    status_counts: dict[str, Count] = field(default_factory=dict)
    """How many trials are `finished`, `pruned` and `failed`, as counted at the end of a run."""
    schema: int = SCHEMA
    """That of the results folder (`reports.ledger.folders`)."""

    @property
    def raced(self) -> bool:
        """Whether recipes may have unequal numbers of seeds, by their scores."""
        return self.most_seeds is not None and self.most_seeds > len(self.seeds)

    def scored(self, space: Space) -> EvaluationConfig:
        """How every trained model is scored."""
        return space.scored(self.scale).override(self.evaluation)

    def recipe(self, space: Space) -> Recipe:
        """What every row starts from: the space's base, as the study's command changed it."""
        return space.recipe(self.scale, self.scored(space)).preferring(self.base)

    @property
    def scoring(self) -> Scoring:
        """Which evaluations of its trials a report takes."""
        return Scoring(EvaluationConfig.from_flat(self.evaluation).protocol, frozenset(self.evaluated_on))

    @property
    def commands(self) -> list[str]:
        """Every command line that worked on the study, as a person may type it."""
        return [Request.of(values).command for values in self.requests]

    @property
    def request(self) -> Request:
        """What the last command asked for; without one what asks for the space."""
        if self.requests:
            return Request.of(self.requests[-1])
        seeds = max(1, len(self.seeds))
        return Request(space=self.space_file or self.space, scale=self.scale, seeds=NumberRange(seeds, seeds))

    @property
    def searched_by(self) -> Request:
        """What the last command asked for that was not for some rows alone."""
        requests = map(Request.of, reversed(self.requests))
        whole = (request for request in requests if not (request.only and request.strategy == "paper"))
        return next(whole, self.request)

    def save(self, results: Path) -> Path:
        """Write `study.json` into the results folder, whole. The study alone does: readers write beside it."""
        path = results / STUDY
        write_json(path, self)
        return path

    @classmethod
    def load(cls, results: Path) -> StudyInfo:
        """Read it back; `UserError` where the folder is missing or is not a study's."""
        if not results.is_dir():
            what = "is a file" if results.exists() else "does not exist"
            raise UserError(f"the results folder {results} {what}")
        path = results / STUDY
        if not path.is_file():
            raise UserError(f"{results} is not a results folder: it holds no {STUDY}; give a folder that a study wrote")
        info = read_whole(cls, path, _WHAT)
        return dataclasses.replace(info, base=as_recipe(info.base), evaluation=as_recipe(info.evaluation))

    def code(self, results: Path) -> dict[str, str]:
        """The texts of its plugins, and then of its space file, by name within the folder: to be read, or passed on
        once it is trusted (`check_trusted`)."""
        return read_code(results, [*(f"{PLUGINS}/{name}" for name in self.plugins), *filter(None, [self.space_file])])

    def load_space(self, results: Path) -> Space:
        """The study's space, a registered one or the copy of a person's own file, with the domains and goals searched.

        The study's plugins are run first: the space may name what they add. `UserError` for code that is not trusted.
        """
        texts = self.code(results)
        check_trusted(results, texts)
        for name in self.plugins:
            run_source(texts[f"{PLUGINS}/{name}"], str(results / PLUGINS / name), "plugin")
        own = self.space_file and space_in(texts[self.space_file], results / self.space_file, self.space)
        self.check_names(results)
        with _of(results, "space or goals"):
            space = own or registered(self.space)
            goals = space.goals if self.goals is None else tuple(self.goals)
            searched = tuple(domain for domain in space.domains if domain.key in self.searched)
            if (searched, goals) == (space.domains, space.goals):
                return space
            return dataclasses.replace(space, domains=searched, goals=goals)

    def check_names(self, results: Path) -> None:
        """`UserError` for a base recipe or a limit that is none; to be asked once the study's plugins have run."""
        with _of(results, "base"):
            Recipe.from_flat(self.base)
        with _of(results, "evaluation"):
            EvaluationConfig.from_flat(self.evaluation)
        with _of(results, "limits"):
            of_trials(self.limits)
        with _of(results, "limited"):
            of_trials({self.limited["limit"]: 0.0} if self.limited else {})


@contextlib.contextmanager
def _of(results: Path, field: str) -> Iterator[None]:
    """A `UserError` names the file and the field."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{results / STUDY} is not {_WHAT} ({field}: {error})") from None
