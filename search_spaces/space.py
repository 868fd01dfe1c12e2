"""What a space is: a base recipe, domains for Optuna, the paper's rows with their published numbers, tables, claims.

A space is data. `search_spaces/__init__.py` discovers every `SPACES` tuple in this folder; a person's own
space is one Python file outside the repository with the same tuple.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from trainables.errors import UserError, choices
from trainables.recipe import Recipe

Need = Literal["word_vectors", "checkpoint", "wordnet", "paraphraser"]
_NEED_KEYS = {
    "word_vectors": {"encoder.kind"},
    "checkpoint": {"encoder.kind", "encoder.name"},
    "wordnet": {"corpus.augmentation"},
    "paraphraser": {"corpus.augmentation"},
}
GOALS = ("sts", "transfer")
"""What a search may maximise at once: the averages over STS tasks and over transfer tasks."""


@dataclass(frozen=True)
class Domain:
    """The values that one recipe key may take in a search.

    Either `choices`, or a range `low` to `high` (whole numbers where both are ints; `log` for a log scale).
    `when` makes it conditional: it is asked for only if the other key has one of the values.
    `grid` lists the values that `--search grid` takes from a range.
    """

    key: str
    choices: tuple[Any, ...] = ()
    low: float | int | None = None
    high: float | int | None = None
    log: bool = False
    grid: tuple[Any, ...] = ()
    when: tuple[str, tuple[Any, ...]] | None = None

    def __post_init__(self) -> None:
        if bool(self.choices) == (self.low is not None and self.high is not None):
            raise UserError(f"domain {self.key!r} needs either choices or both low and high")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise UserError(f"domain {self.key!r} needs low < high, not {self.low!r} and {self.high!r}")
        if self.log and (self.low is None or self.low <= 0):
            raise UserError(f"domain {self.key!r} has a log scale, so it needs a low above 0, not {self.low!r}")

    @property
    def grid_values(self) -> tuple[Any, ...]:
        return self.choices or self.grid


@dataclass(frozen=True)
class Column:
    """A column of a table: a score of a finished trial, the plain mean of other columns, or one of a trial's averages.

    `score` is a path into a trial's scores, e.g. `("STS12", "spearman_wmean")`.
    `mean_of` names columns of the same table instead; it is None (a dash) where any of them is missing.
    `average` names an average of `trainables.senteval.averages`, for a table that does not show its parts.
    """

    name: str
    score: tuple[str, str] | None = None
    mean_of: tuple[str, ...] = ()
    average: str | None = None

    def __post_init__(self) -> None:
        if [self.score is not None, bool(self.mean_of), self.average is not None].count(True) != 1:
            raise UserError(
                f"column {self.name!r} needs either a score or the columns that it is the mean of or an average"
            )


@dataclass(frozen=True)
class Row:
    """One line of the paper: what it is called, how its recipe differs from the base, what was published.

    `published` maps a table's number to the printed figures, column name to number; a figure the paper
    does not print is left out. `minutes` is the printed time to train this row's model.

    `needs` names an input without which the row is a dash: `word_vectors` a file of them; `checkpoint` a model that
    is not the base recipe's, which the row evaluates (`optimisation.epochs` 0) or starts from, by hub id where
    `overrides` has an `encoder.name`, else only if a person gives one; `wordnet` the WordNet files; `paraphraser`
    a sequence-to-sequence model.
    """

    label: str
    overrides: Mapping[str, Any]
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    needs: Need | None = None
    note: str = ""
    minutes: float | None = None

    def __post_init__(self) -> None:
        if self.needs is not None and self.needs not in get_args(Need):
            raise UserError(
                f"row {self.label!r}: needs must be {choices(map(repr, get_args(Need)))}, not {self.needs!r}"
            )
        for need, keys in _NEED_KEYS.items():
            if self.needs == need and not keys & set(self.overrides):
                raise UserError(f"row {self.label!r} needs {need!r}, so it must override {choices(sorted(keys))}")


@dataclass(frozen=True)
class Table:
    """A table of the paper: which rows, under which names, with which columns and protocol.

    `rows` pairs the name printed in the table with a row's label.
    `curve` is the recipe key that the table varies, if it is an ablation over one number.
    `topic` is a word for what its columns measure; tables of one topic have the same columns.
    `baseline_table` is the table where the baseline row's figures stand, if they are not printed in this one.
    """

    number: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, str], ...]
    protocol: Literal["full", "fast"]
    aggregation: str
    curve: str | None = None
    footnotes: tuple[str, ...] = ()
    baseline_table: str | None = None
    topic: str = ""

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        _refuse_twice(f"table {self.number} has two columns called", names)
        _refuse_twice(f"table {self.number} has two rows called", [name for name, _ in self.rows])
        for column in self.columns:
            unknown = set(column.mean_of) - set(names)
            if unknown:
                raise UserError(
                    f"table {self.number}: {column.name!r} is the mean of unknown columns {sorted(unknown)}"
                )

    def column(self, name: str) -> Column:
        """The column of that name."""
        return next(column for column in self.columns if column.name == name)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that its numbers should show: every `better` row beats every `worse` row.

    Rows are labels; `table` and `column` say by which score. `chain` lists rows from best to worst instead,
    each of which beats the next. `quantifier="most"` asks for more than half of the comparisons.
    `stated` is the difference in points that the paper names, of a claim with one comparison.
    `smaller_in=(table, column)`: the one comparison's difference there is smaller than here.
    `contradicted` says why the paper's own figures do not show the sentence; empty where they do.
    """

    text: str
    table: str
    column: str
    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    quantifier: Literal["all", "most"] = "all"
    stated: float | None = None
    smaller_in: tuple[str, str] | None = None
    contradicted: str = ""

    def __post_init__(self) -> None:
        if bool(self.chain) == bool(self.better and self.worse):
            raise UserError(f"claim {self.text!r} needs either a chain or both better and worse rows")
        if (self.stated is not None or self.smaller_in) and len(self.comparisons) != 1:
            raise UserError(f"claim {self.text!r} states a difference, so it must compare one row with one other")

    @property
    def comparisons(self) -> tuple[tuple[str, str], ...]:
        """Pairs of labels, of which the first should beat the second."""
        if self.chain:
            return tuple(zip(self.chain, self.chain[1:], strict=False))
        return tuple((better, worse) for better in self.better for worse in self.worse)

    @property
    def labels(self) -> set[str]:
        """Every row that the claim speaks of."""
        return {*self.better, *self.worse, *self.chain}


@dataclass(frozen=True)
class PremiseCount:
    """A cell of SupMPN's Table 1: how many premises of a corpus have so many entailments and contradictions.

    `source` is the part of `corpus.nli` that is counted, `name` how the paper calls it. `entailments` and
    `contradictions` are the fewest and the most; None leaves the upper end open.
    """

    source: str
    name: str
    entailments: tuple[int, int | None]
    contradictions: tuple[int, int | None]
    published: int

    def __post_init__(self) -> None:
        for low, high in (self.entailments, self.contradictions):
            if low < 0 or (high is not None and high < low):
                raise UserError(f"premise count of {self.name}: no number lies between {low} and {high}")
        if self.published < 0:
            raise UserError(f"premise count of {self.name}: {self.published} is not a number of premises")


@dataclass(frozen=True)
class Figure:
    """A figure of the paper over a grid of recipes, drawn from the rows of one of the space's tables.

    `table` and `column` say which rows and which score. `kind="distribution"`: for each of the `keys` a panel with
    the distribution of the score for each of the key's values, over all recipes that have it. `kind="lines"`: the
    first key, a number, runs along the x axis; of two or more others the last makes the panels, the rest together
    name the lines. `lines` gives lines names of their own: the first whose values a recipe has. `note` is a sentence
    under the picture.
    """

    number: str
    title: str
    kind: Literal["distribution", "lines"]
    keys: tuple[str, ...]
    table: str
    column: str
    note: str = ""
    lines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _refuse_twice(f"figure {self.number} has a key twice:", self.keys)
        if self.kind not in ("distribution", "lines"):
            raise UserError(f"figure {self.number}: kind must be 'distribution' or 'lines', not {self.kind!r}")
        fewest = 2 if self.kind == "lines" else 1
        if len(self.keys) < fewest:
            raise UserError(f"figure {self.number}: {self.kind} need at least {fewest} key{'s' * (fewest > 1)}")


@dataclass(frozen=True)
class Space:
    """Which trials a study may run, and how they are laid out.

    `base` is the paper's recipe; `laptop` are the overrides that make it small enough for two cores without
    a network (built-in corpus and encoder). `baseline` is the label that differences are taken against.
    `tolerance` is how far, in points, a reproduced figure may lie from the published one.
    `training_pairs` is how many labelled pairs the paper's recipe trains on.
    `goals` are maximised at once, with a Pareto front in the report; without any there is one score.
    `premise_counts` are set beside our own counts of the training data.
    """

    name: str
    title: str
    paper: str
    base: Recipe
    laptop: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[Row, ...] = ()
    domains: tuple[Domain, ...] = ()
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
    baseline: str | None = None
    tolerance: float = 1.0
    oddities: tuple[str, ...] = ()
    training_pairs: int | None = None
    goals: tuple[str, ...] = ()
    premise_counts: tuple[PremiseCount, ...] = ()
    figures: tuple[Figure, ...] = ()

    def __post_init__(self) -> None:
        where = f"space {self.name!r}"
        _refuse_twice(f"{where} names a row twice:", [row.label for row in self.rows])
        _refuse_twice(f"{where} has two tables numbered", [table.number for table in self.tables])
        _refuse_twice(f"{where} has two domains for", [domain.key for domain in self.domains])
        _refuse_twice(f"{where} names a goal twice:", self.goals)
        for goal in self.goals:
            if goal not in GOALS:
                raise UserError(f"{where}: a goal is {choices(map(repr, GOALS))}, not {goal!r}")
        known = {row.label for row in self.rows}
        for table in self.tables:
            missing = {label for _, label in table.rows} - known
            if missing:
                raise UserError(f"{where}, table {table.number}: no row is called {sorted(missing)}")
            for _, label in table.rows:
                stray = set(self.row(label).published.get(table.number, {})) - {c.name for c in table.columns}
                if stray:
                    raise UserError(f"{where}, row {label!r}: table {table.number} has no column {sorted(stray)}")
        for claim in self.claims:
            self._check_claim(claim)
        _refuse_twice(f"{where} has two figures numbered", [figure.number for figure in self.figures])
        for figure in self.figures:
            self._check_figure(figure)
        if self.baseline is not None and self.baseline not in known:
            raise UserError(f"{where}: the baseline {self.baseline!r} is not one of its rows")
        for row in self.rows:
            self.base.override(row.overrides)
        self.base.override(self.laptop)
        for domain in self.domains:
            for value in (*domain.grid_values, *(v for v in (domain.low, domain.high) if v is not None)):
                self.base.override({domain.key: value})
            if domain.when is not None:
                for value in domain.when[1]:
                    self.base.override({domain.when[0]: value})

    def row(self, label: str) -> Row:
        """The row of that label."""
        return next(row for row in self.rows if row.label == label)

    def table(self, number: str) -> Table:
        """The table of that number."""
        return next(table for table in self.tables if table.number == number)

    def published(self, table: str, label: str, column: str) -> float | None:
        """The printed figure, or None."""
        return self.row(label).published.get(table, {}).get(column)

    def _check_claim(self, claim: Claim) -> None:
        where = f"space {self.name!r}, claim {claim.text!r}"
        missing = claim.labels - {row.label for row in self.rows}
        if missing:
            raise UserError(f"{where}: no row is called {sorted(missing)}")
        for number, column in [(claim.table, claim.column), *([claim.smaller_in] if claim.smaller_in else [])]:
            if number not in [table.number for table in self.tables]:
                raise UserError(f"{where}: there is no table {number}")
            if column not in [c.name for c in self.table(number).columns]:
                raise UserError(f"{where}: table {number} has no column {column!r}")

    def _check_figure(self, figure: Figure) -> None:
        where = f"space {self.name!r}, figure {figure.number}"
        if figure.table not in [table.number for table in self.tables]:
            raise UserError(f"{where}: there is no table {figure.table}")
        if figure.column not in [column.name for column in self.table(figure.table).columns]:
            raise UserError(f"{where}: table {figure.table} has no column {figure.column!r}")
        base = self.base.flat()
        for key in figure.keys:
            if key not in base:
                raise UserError(f"{where}: {key!r} is not a key of a recipe")
        rows = [self.row(label) for _, label in self.table(figure.table).rows]
        across = [row.overrides.get(figure.keys[0], base[figure.keys[0]]) for row in rows]
        if figure.kind == "lines" and not all(isinstance(value, int | float) for value in across):
            raise UserError(f"{where}: lines run over a number, and {figure.keys[0]!r} is not one in every row")


def _refuse_twice(what: str, names: Iterable[str]) -> None:
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise UserError(f"{what} {', '.join(map(repr, twice))}")
