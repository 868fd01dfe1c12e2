"""The class `Space`: a base recipe, domains for a search, the paper's rows with published numbers, tables, claims.

A space is data, and every name in it is checked when the space is created. `search_spaces/__init__.py` finds the spaces
of this folder. A user's own space is one Python file outside the repository.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, get_args

from search_spaces.averages import AVERAGES, USUAL
from search_spaces.goals import Goal, kept_by, searched
from search_spaces.names import check_name, check_score, refuse_twice
from search_spaces.paper import Claim, Column, Figure, Need, Overrides, PremiseCount, Row, Table
from trainables.errors import UserError, shown
from trainables.evaluation_config import EvaluationConfig, split
from trainables.keys import Range
from trainables.recipe import Recipe, Value, deciding_keys, existing_keys, keys
from trainables.sections import KEEP_BY_KEY, SENTEVAL_KEY
from trainables.senteval.tasks import task_names
from trainables.typed_json import check_types

__all__ = ["Claim", "Column", "Domain", "Figure", "Need", "PremiseCount", "Row", "Scale", "Search", "Space", "Table"]

Scale = Literal["paper", "laptop"]
"""Whether a study uses the base recipe as it is, or with overrides that make it small."""
Search = Literal["paper", "grid", "optuna"]
"""What a study runs: the rows alone; the rows and the grid of the domains; the rows and Optuna's recipes."""


@dataclass(frozen=True)
class Domain:
    """The values that one recipe key may take in a search.

    Either `choices`, or a range `low` to `high` (whole numbers if both are ints; `log` for a log scale). Without both,
    the key's own search range (`search` in `trainables.keys`) is used. A search sets the key only if the recipe has it,
    so keys of an objective need no condition. `when` adds a condition: another key must have one of these values.
    `grid` lists the values that `--search grid` takes from a range.
    """

    key: str
    choices: tuple[Value, ...] = ()
    low: float | int | None = None
    high: float | int | None = None
    log: bool = False
    grid: tuple[Value, ...] = ()
    when: tuple[str, tuple[Value, ...]] | None = None

    def __post_init__(self) -> None:
        check_types(self, f"domain {shown(self.key)}")
        if not self.choices and self.low is None and self.high is None and self.key in keys():
            sound = keys()[self.key].search
            if isinstance(sound, Range):
                for name, value in vars(sound).items():
                    object.__setattr__(self, name, value)
            elif sound is not None:
                object.__setattr__(self, "choices", sound)
        if bool(self.choices) == (self.low is not None and self.high is not None):
            raise UserError(f"domain {self.key!r} needs either choices or both low and high")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise UserError(f"domain {self.key!r} needs low < high, not {self.low!r} and {self.high!r}")
        if self.log and (self.low is None or self.low <= 0):
            raise UserError(f"domain {self.key!r} has a log scale, so it needs a low above 0, not {self.low!r}")

    @property
    def grid_values(self) -> tuple[Value, ...]:
        """Values of a grid search: all choices, or the `grid` of a range; empty for a range without `grid`."""
        return self.choices or self.grid

    @property
    def decided_by(self) -> frozenset[str]:
        """The keys that decide whether a search sets this key."""
        return deciding_keys(self.key) | ({self.when[0]} if self.when else frozenset())

    def holds(self, recipe: Overrides) -> bool:
        """Return whether the domain's condition holds in this flat recipe."""
        return self.when is None or recipe.get(self.when[0]) in self.when[1]

    def is_asked(self, recipe: Overrides) -> bool:
        """Return whether a search sets the key in this flat recipe: the condition holds, and the recipe has the key."""
        return self.holds(recipe) and self.key in existing_keys(recipe)


@dataclass(frozen=True)
class Space:
    """The trials that a study may run, and their layout in a report.

    `title` is the report's title, `paper` the source of the rows. `base` is the paper's recipe, `evaluation` how its
    models are scored. `laptop` overrides both, so that they run on two cores without a network (built-in corpus and
    encoder). `rows` always run first. `domains` are the keys that a search may change after the rows. `first` are
    changes of the base that the search tries first, if they are in the domains. `baseline` is the label of the row that
    differences refer to. `tolerance` is how far, in points, a reproduced number may be from the published one.
    `oddities` are sentences on odd published numbers. `training_pairs` is the number of labelled pairs in the paper's
    recipe. `notes` are sentences that a reader must know before any number. `goals` (see
    `search_spaces.goals.searched`) are searched for at once, and the report shows a Pareto front; without goals it is
    `SELECTION`. `premise_counts` are compared with our counts of the training data. `figures` are plotted as pictures.
    `shown` are labels and names of the averages in a finished trial's console line. `trial_seconds` is an estimated
    time of one trial on one GPU, used until a trial is measured, and `trial_seconds_source` its source.

    A name that refers to nothing (a task, a number, an average, a goal, a key, a row, a column) raises `UserError`.
    """

    name: str
    title: str
    paper: str
    base: Recipe
    laptop: Overrides = field(default_factory=dict)
    evaluation: EvaluationConfig = EvaluationConfig()
    rows: tuple[Row, ...] = ()
    domains: tuple[Domain, ...] = ()
    first: tuple[Overrides, ...] = ()
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
    baseline: str | None = None
    tolerance: float = 1.0
    oddities: tuple[str, ...] = ()
    training_pairs: int | None = None
    notes: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    premise_counts: tuple[PremiseCount, ...] = ()
    figures: tuple[Figure, ...] = ()
    shown: tuple[tuple[str, str], ...] = USUAL
    trial_seconds: float | None = None
    trial_seconds_source: str = ""

    def __post_init__(self) -> None:
        where = f"space {shown(self.name)}"
        check_types(self, where)
        refuse_twice(f"{where} names a row twice:", [row.label for row in self.rows])
        refuse_twice(f"{where} has two tables numbered", [table.number for table in self.tables])
        refuse_twice(f"{where} has two figures numbered", [figure.number for figure in self.figures])
        refuse_twice(f"{where} has two domains for", [domain.key for domain in self.domains])
        refuse_twice(f"{where} shows two averages as", [label for label, _ in self.shown])
        if self.goals:
            object.__setattr__(self, "goals", tuple(goal.name for goal in self.searched_goals))
        for label, average in self.shown:
            check_name(f"{where}, shown {label!r}", "average", average, AVERAGES)
        if self.baseline is not None:
            check_name(f"{where}, baseline", "row", self.baseline, self.labels)
        if (self.trial_seconds is None) != (not self.trial_seconds_source):
            raise UserError(f"{where} needs both trial_seconds and trial_seconds_source, or neither")
        self._check_recipe(f"{where}, base", {})
        recipes = []
        for scale in get_args(Scale):
            with _locate_errors(f"{where}, {scale}"):
                task_names(self.scored(scale).tasks)
                recipes.append(self.recipe(scale))
        for row in self.rows:
            with _locate_errors(f"{where}, row {row.label!r}"):
                for recipe in recipes:
                    recipe.override(row.overrides)
        for domain in self.domains:
            self._check_domain(domain)
        for changes in self.first:
            self._check_recipe(f"{where}, first", changes)
        for table in self.tables:
            self._check_table(table)
        for claim in self.claims:
            self._check_claim(claim)
        for figure in self.figures:
            self._check_figure(figure)

    def recipe(self, scale: Scale, evaluation: EvaluationConfig | None = None) -> Recipe:
        """Return the base recipe at a scale. Its training reads SentEval from the folder of the evaluation, else of the
        scale. The goals choose a training's best weights, unless the space sets how they are chosen."""
        senteval = (evaluation or self.scored(scale)).senteval
        laptop = split(self.laptop)[0] if scale == "laptop" else {}
        followed: Overrides = {SENTEVAL_KEY: senteval, KEEP_BY_KEY: kept_by(self.searched_goals)}
        return Recipe({**followed, **self.base.settings, **laptop})

    def scored(self, scale: Scale) -> EvaluationConfig:
        """Return how models are scored at a scale."""
        return self.evaluation.override(split(self.laptop)[1] if scale == "laptop" else {})

    @functools.cached_property
    def searched_goals(self) -> tuple[Goal, ...]:
        """The goals of a search: those of `goals`, or `SELECTION` if there are none."""
        return searched(self.goals, f"space {shown(self.name)}")

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(row.label for row in self.rows)

    def row(self, label: str) -> Row:
        """Return the row of that label."""
        return next(row for row in self.rows if row.label == label)

    def table(self, number: str) -> Table:
        """Return the table of that number."""
        return next(table for table in self.tables if table.number == number)

    def published(self, table: str, label: str, column: str) -> float | None:
        """Return the published number of a table's row and column; None if the paper does not print it."""
        return self.row(label).published.get(table, {}).get(column)

    def _check_recipe(self, where: str, overrides: Overrides) -> None:
        """Check keys, values and registered names (objectives, layouts, ...) of the base with the overrides."""
        with _locate_errors(where):
            self.base.preferring(overrides)

    def _check_domain(self, domain: Domain) -> None:
        where = f"space {self.name!r}, domain {domain.key!r}"
        check_name(where, "key of a recipe", domain.key, keys())
        for value in (*domain.grid_values, *(end for end in (domain.low, domain.high) if end is not None)):
            self._check_recipe(where, {domain.key: value})
        if domain.when is not None:
            key, values = domain.when
            check_name(f"{where}, when", "key of a recipe", key, keys())
            for value in values:
                self._check_recipe(f"{where}, when", {key: value})

    def _check_table(self, table: Table) -> None:
        where = f"space {self.name!r}, table {table.number}"
        names = [column.name for column in table.columns]
        for column in table.columns:
            which = f"{where}, column {column.name!r}"
            if column.score is not None:
                check_score(which, *column.score)
            if column.average is not None:
                check_name(which, "average", column.average, AVERAGES)
            for name in column.mean_of:
                check_name(which, "column", name, names)
        for _, label in table.rows:
            check_name(where, "row", label, self.labels)
            for name in self.row(label).published.get(table.number, {}):
                check_name(f"{where}, published figures of {label!r}", "column", name, names)
        if table.curve is not None:
            check_name(f"{where}, curve", "key of a recipe", table.curve, keys())
        if table.baseline_table is not None and self.baseline is not None:
            numbers = self.row(self.baseline).published
            check_name(f"{where}, baseline_table", "table with the baseline's figures", table.baseline_table, numbers)

    def _check_column(self, where: str, number: str, column: str) -> None:
        check_name(where, "table", number, [table.number for table in self.tables])
        check_name(f"{where}, table {number}", "column", column, [c.name for c in self.table(number).columns])

    def _check_claim(self, claim: Claim) -> None:
        where = f"space {self.name!r}, claim {claim.text!r}"
        for label in sorted(claim.labels):
            check_name(where, "row", label, self.labels)
        self._check_column(where, claim.table, claim.column)
        if claim.smaller_in is not None:
            self._check_column(where, *claim.smaller_in)

    def _check_figure(self, figure: Figure) -> None:
        where = f"space {self.name!r}, figure {figure.number}"
        self._check_column(where, figure.table, figure.column)
        for key in (*figure.keys, *(key for _, values in figure.points() for key in values)):
            check_name(where, "key of a recipe", key, keys())
        rows = [self.row(label) for _, label in self.table(figure.table).rows]
        flats = [self.base.override(row.overrides).flat() for row in rows]
        across = [flat[figure.keys[0]] for flat in flats if figure.keys[0] in flat]  # rows without training lack it
        if figure.kind == "lines" and not all(isinstance(value, int | float) for value in across):
            raise UserError(f"{where}: lines run over a number, and {figure.keys[0]!r} is not one in every row")


@contextlib.contextmanager
def _locate_errors(where: str) -> Iterator[None]:
    """Put `where` before the message of a `UserError` that the code inside raises."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
