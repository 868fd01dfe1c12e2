"""`RESULTS/study.json`: the request and state of a study. Reports are made from this file and the ledger alone."""

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
    """The limit that ended a run of the study; empty if none did."""

    limit: str
    number: float
    spent: float
    left_out: Count
    a_trial: float | None  # seconds of a trial, if known
    least: float | None  # if the limit left no room for a search: a limit that leaves enough


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
    """The request, space and state of a study."""

    space: str
    space_file: Literal["space.py"] | None = None
    """The name of the copy of a person's own space file in the results folder; None for a registered space."""
    plugins: list[PluginFile] = field(default_factory=list)
    """The copies of `--plugin` files, in the folder `plugins`."""
    scale: Scale = "laptop"
    scale_reason: str = ""
    search: Search = "paper"
    trials: Annotated[int, at_least(1)] | None = None
    """Largest number of recipes that Optuna explores; None without such a search."""
    seeds: list[Count] = field(default_factory=lambda: [0])
    """The seeds that every recipe has."""
    most_seeds: Annotated[int, at_least(1)] | None = None
    """Largest number of seeds of a recipe if further seeds run where they can change an answer (`--seeds 1:10`)."""
    base: Annotated[dict[str, Any], named_by(keys)] = field(default_factory=dict)
    """The flat base recipe, with the changes of scale and `--set`."""
    evaluation: Annotated[dict[str, Any], named_by(evaluation_keys)] = field(default_factory=dict)
    """The flat evaluation settings of the last command."""
    evaluated_on: list[str] = field(default_factory=list)
    """Fingerprints of the evaluation's data, one for each set of tasks that trials were scored on; empty if they were
    not recorded."""
    places: dict[str, str] = field(default_factory=dict)
    """Maps the paths of local files and folders in recipes to digests of their content (`Recipe.places`)."""
    row_hashes: dict[str, Hash | None] = field(default_factory=dict)
    """Maps the label of every requested row to its recipe's hash; None if the row cannot run as an input is missing."""
    missing: dict[str, str] = field(default_factory=dict)
    """Maps the labels of rows to the missing input and the reason."""
    searched: Annotated[list[str], named_by(keys)] = field(default_factory=list)
    """Keys of the domains that may be searched: all domains of the space except those that `--set` fixes."""
    goals: list[str] | None = None
    """Names of the search's goals (`search_spaces.goals`). If empty, the search maximises the space's one score; if
    None, as in older files, it has the space's own goals."""
    limits: dict[str, Annotated[float, above(0.0)]] = field(default_factory=dict)
    """The limits on study and trials from the last command, by name (`search_spaces.limits`)."""
    limited: Annotated[Limited, _whole] = field(default_factory=Limited)
    """The limit that ended the last run."""
    explored: list[Hash] = field(default_factory=list)
    """Hashes of the recipes that Optuna or the grid chose, in the order in which they were chosen."""
    finals: Finals | None = None
    """The plan of the finals; None if the search has none."""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions of Python and packages, and digests of code, as in a record."""
    hardware: str = ""
    """Description of the cluster, one line for the report."""
    data: Trained = field(default_factory=Trained)
    """Description of the data that the first trained record read. Reports take descriptions from the records
    instead."""
    notes: list[str] = field(default_factory=list)
    """Sentences that a reader must see before any number, for example what the encoder was already trained on."""
    requests: list[Annotated[dict[str, Any], _request]] = field(default_factory=list)
    """The request of every command that worked on the study (`Request.values`), sorted by last use."""
    created_at: str = ""
    """When the study was created: UTC in ISO format."""
    across: list[str] = field(default_factory=list)
    """The guards (`reports.facts.guards`) whose flags the reader chose to ignore in verdicts."""
    stopping: dict[str, str] = field(default_factory=dict)
    """The last `scheduler` that stopped explored trials early, and its `rungs` (as for `--rungs`); empty if there was
    none, and in studies of older versions."""
    status_counts: dict[str, Count] = field(default_factory=dict)
    """How many trials are `finished`, `pruned` and `failed`, as counted at the end of a run."""
    schema: int = SCHEMA
    """The schema of the results folder (`reports.ledger.folders`)."""

    @property
    def raced(self) -> bool:
        """Whether recipes may have different numbers of seeds, depending on their scores."""
        return self.most_seeds is not None and self.most_seeds > len(self.seeds)

    def scored(self, space: Space) -> EvaluationConfig:
        """Return the evaluation settings with which every trained model is scored."""
        return space.scored(self.scale).override(self.evaluation)

    def recipe(self, space: Space) -> Recipe:
        """Return the base recipe, which every row changes: the space's, with the changes of the study's command."""
        return space.recipe(self.scale, self.scored(space)).preferring(self.base)

    @property
    def scoring(self) -> Scoring:
        """The evaluations that a report of the study accepts."""
        return Scoring(EvaluationConfig.from_flat(self.evaluation).protocol, frozenset(self.evaluated_on))

    @property
    def commands(self) -> list[str]:
        """Every command line that worked on the study, as a user may type it."""
        return [Request.of(values).command for values in self.requests]

    @property
    def request(self) -> Request:
        """The request of the last command; if none was recorded, a request of the study's space."""
        if self.requests:
            return Request.of(self.requests[-1])
        seeds = max(1, len(self.seeds))
        return Request(space=self.space_file or self.space, scale=self.scale, seeds=NumberRange(seeds, seeds))

    @property
    def searched_by(self) -> Request:
        """The request of the last command that was for more than single rows."""
        requests = map(Request.of, reversed(self.requests))
        whole = (request for request in requests if not (request.only and request.strategy == "paper"))
        return next(whole, self.request)

    def save(self, results: Path) -> Path:
        """Write `study.json` as a whole file. Only the study writes this file; readers write other files."""
        path = results / STUDY
        write_json(path, self)
        return path

    @classmethod
    def load(cls, results: Path) -> StudyInfo:
        """Read `study.json`. Raise `UserError` if the folder is missing or is not a study's."""
        if not results.is_dir():
            what = "is a file" if results.exists() else "does not exist"
            raise UserError(f"the results folder {results} {what}")
        path = results / STUDY
        if not path.is_file():
            raise UserError(f"{results} is not a results folder: it holds no {STUDY}; give a folder that a study wrote")
        info = read_whole(cls, path, _WHAT)
        return dataclasses.replace(info, base=as_recipe(info.base), evaluation=as_recipe(info.evaluation))

    def code(self, results: Path) -> dict[str, str]:
        """Return the texts of the plugins and then of the space file, by name within the folder. `check_trusted` must
        pass before they run."""
        return read_code(results, [*(f"{PLUGINS}/{name}" for name in self.plugins), *filter(None, [self.space_file])])

    def load_space(self, results: Path) -> Space:
        """Return the study's space, registered or from the user's own file, with only the searched domains and goals.

        The study's plugins are run first, as the space may need them. Raise `UserError` for code that is not trusted.
        """
        texts = self.code(results)
        check_trusted(results, texts)
        for name in self.plugins:
            run_source(texts[f"{PLUGINS}/{name}"], str(results / PLUGINS / name), "plugin")
        own = self.space_file and space_in(texts[self.space_file], results / self.space_file, self.space)
        self.check_names(results)
        with _add_field_to_errors(results, "space or goals"):
            space = own or registered(self.space)
            goals = space.goals if self.goals is None else tuple(self.goals)
            searched = tuple(domain for domain in space.domains if domain.key in self.searched)
            if (searched, goals) == (space.domains, space.goals):
                return space
            return dataclasses.replace(space, domains=searched, goals=goals)

    def check_names(self, results: Path) -> None:
        """Raise `UserError` for an invalid base recipe, evaluation or limit. Call it after the study's plugins ran."""
        with _add_field_to_errors(results, "base"):
            Recipe.from_flat(self.base)
        with _add_field_to_errors(results, "evaluation"):
            EvaluationConfig.from_flat(self.evaluation)
        with _add_field_to_errors(results, "limits"):
            of_trials(self.limits)
        with _add_field_to_errors(results, "limited"):
            of_trials({self.limited["limit"]: 0.0} if self.limited else {})


@contextlib.contextmanager
def _add_field_to_errors(results: Path, field: str) -> Iterator[None]:
    """Add the file and the field to the message of a `UserError`."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{results / STUDY} is not {_WHAT} ({field}: {error})") from None
