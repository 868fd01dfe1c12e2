"""A paper's content as data: its rows, tables, claims, pictures and averages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal, get_args

from search_spaces.names import check_score, refuse_twice
from trainables.errors import UserError, choices
from trainables.recipe import Value

Overrides = Mapping[str, Value]
"""Recipe keys and their values."""
Scores = Mapping[str, Mapping[str, Any]]
"""Scores by task and by the number's name, as in a record."""
Cell = tuple[str, tuple[str, ...]]
"""The name of a task, and of the number that represents it. Several numbers represent it by their mean."""
Need = Literal["word_vectors", "checkpoint", "wordnet", "paraphraser"]
"""An input that a row may need; see `Row.needs`."""
NEED_KEYS = {
    "word_vectors": {"encoder.kind"},
    "checkpoint": {"encoder.kind", "encoder.name"},
    "wordnet": {"corpus.augmentation"},
    "paraphraser": {"corpus.augmentation"},
}
"""Maps a need to recipe keys. A row with that need overrides at least one of them."""

ACCURACY = "test accuracy in percent"
"""The text in `Table.aggregation` for a table of accuracies."""
ALL_PAIRS = "Spearman correlation x 100 by cosine, over all pairs of a year; no trained regressor"
"""The text in `Table.aggregation` for a table of STS tasks in which all pairs of a year are scored together."""


@dataclass(frozen=True)
class Average:
    """A paper's average over tasks: the plain mean of its cells and of its parts, which are averages themselves."""

    name: str
    cells: tuple[Cell, ...] = ()
    parts: tuple[Average, ...] = ()
    development: bool = False
    """Whether it is an average of development scores, which are no result of a recipe."""

    def __post_init__(self) -> None:
        for task, numbers in self.cells:
            for number in numbers:
                check_score(f"average {self.name!r}", task, number)

    def of(self, scores: Scores) -> float | None:
        """Return the average; None if one of its scores is missing."""
        return _mean(
            [
                *(_mean([scores.get(task, {}).get(number) for number in numbers]) for task, numbers in self.cells),
                *(part.of(scores) for part in self.parts),
            ]
        )


def _mean(values: list[float | None]) -> float | None:
    present = [value for value in values if value is not None]
    return fmean(present) if len(present) == len(values) else None


def cells(tasks: tuple[str, ...], number: str) -> tuple[Cell, ...]:
    """Return cells with the same number for several tasks."""
    return tuple((task, (number,)) for task in tasks)


@dataclass(frozen=True)
class Column:
    """A column of a table: a score of a finished trial, the plain mean of other columns, or one of a trial's averages.

    `score` is a path into a trial's scores, e.g. `("STS12", "spearman_wmean")`. `mean_of` names columns of the same
    table; the value is None (a dash) if any of them is missing. `average` names an average of `search_spaces.averages`,
    for a table that does not show its parts.
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
    """One line of the paper: its label, its changes to the base recipe, its published numbers.

    `published` maps a table's number to the published numbers by column; numbers that the paper does not print are left
    out. `minutes` is the printed training time of this row's model.

    `needs` names an input. Without it the row cannot run, and its cells are dashes. `word_vectors`: a file of them.
    `checkpoint`: a model other than the base recipe's, which the row evaluates (`optimisation.epochs` 0) or starts
    from. It is loaded by hub id if `overrides` has an `encoder.name`; otherwise the user must give it. `wordnet`: the
    WordNet files. `paraphraser`: a sequence-to-sequence model.

    `as_it_came`: the row trains nothing (`optimisation.epochs` 0) and is the recipe's original encoder, run through
    the encoder's own pipeline if needed.
    """

    label: str
    overrides: Overrides
    published: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    needs: Need | None = None
    note: str = ""
    minutes: float | None = None
    as_it_came: bool = False

    def __post_init__(self) -> None:
        if self.needs is not None and self.needs not in get_args(Need):
            raise UserError(
                f"row {self.label!r}: needs must be {choices(map(repr, get_args(Need)))}, not {self.needs!r}"
            )
        for need, keys in NEED_KEYS.items():
            if self.needs == need and not keys & set(self.overrides):
                raise UserError(f"row {self.label!r} needs {need!r}, so it must override {choices(sorted(keys))}")


@dataclass(frozen=True)
class Table:
    """A table of the paper: its rows, their printed names, columns and protocol.

    `rows` pairs each printed name with a row's label. `curve` is the recipe key that the table varies, if it is an
    ablation over one number. `protocol` is SentEval's protocol in the paper. `aggregation` is a text under the title
    that describes the numbers. `topic` names what the columns measure; the first table of a topic sums up the study.
    `baseline_table` is the number of the table that prints the baseline row, if this table does not.
    """

    number: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, str], ...]
    aggregation: str
    protocol: Literal["full", "fast"] = "full"
    curve: str | None = None
    footnotes: tuple[str, ...] = ()
    baseline_table: str | None = None
    topic: str = ""

    def __post_init__(self) -> None:
        refuse_twice(f"table {self.number} has two columns called", [column.name for column in self.columns])
        refuse_twice(f"table {self.number} has two rows called", [name for name, _ in self.rows])

    def column(self, name: str) -> Column:
        """Return the column of that name."""
        return next(column for column in self.columns if column.name == name)


Relation = Literal["above", "slightly above", "not below", "equal"]
MARGINS: Mapping[Relation, float] = {"above": 0.0, "slightly above": 1.0, "not below": 0.5, "equal": 0.5}
"""The margin of each relation, in points, unless a claim sets its own."""


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that its numbers should show: every `better` row beats every `worse` row.

    Rows are labels; `table` and `column` name the compared score. `chain` lists rows from best to worst instead; each
    row beats the next. `quantifier="most"` requires more than half of the comparisons.

    `relation` is the asserted difference of the better row minus the worse row. `above`: more than 0, and at least the
    margin if the sentence names a least difference. `slightly above`: more than 0 and less than the margin. `not
    below`: more than minus the margin, if the paper says that the `worse` row is no better. `equal`: less than the
    margin either way. Words without a number, such as "significant", are judged by direction.

    `stated` is the difference in points that the paper names, for a claim with one comparison. `smaller_in=(table,
    column)`: the difference of that comparison is smaller there than here. `contradicted` is the reason why the paper's
    own numbers do not show the sentence; empty if they do.
    """

    text: str
    table: str
    column: str
    better: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    chain: tuple[str, ...] = ()
    quantifier: Literal["all", "most"] = "all"
    relation: Relation = "above"
    margin: float | None = None
    stated: float | None = None
    smaller_in: tuple[str, str] | None = None
    contradicted: str = ""

    def __post_init__(self) -> None:
        if bool(self.chain) == bool(self.better and self.worse):
            raise UserError(f"claim {self.text!r} needs either a chain or both better and worse rows")
        if (self.stated is not None or self.smaller_in) and len(self.comparisons) != 1:
            raise UserError(f"claim {self.text!r} states a difference, so it must compare one row with one other")
        if self.relation not in MARGINS:
            raise UserError(
                f"claim {self.text!r}: relation must be {choices(map(repr, MARGINS))}, not {self.relation!r}"
            )
        if self.relation != "above" and self.points <= 0:
            raise UserError(f"claim {self.text!r}: {self.relation!r} needs a margin above 0, not {self.points:g}")
        if self.relation != "above" and self.stated is not None:
            raise UserError(f"claim {self.text!r} states a difference, so its relation must be 'above'")

    @property
    def points(self) -> float:
        return MARGINS[self.relation] if self.margin is None else self.margin

    def holds(self, gap: float) -> bool:
        """Return whether the gap, better row minus worse row in points, satisfies the relation, where the gap is taken
        as exact."""
        if self.relation == "above":
            return gap > 0 and gap >= self.points - 1e-9
        if self.relation == "slightly above":
            return 0 < gap < self.points
        return gap > -self.points and (self.relation == "not below" or gap < self.points)

    @property
    def comparisons(self) -> tuple[tuple[str, str], ...]:
        """Pairs of labels; the first should beat the second."""
        if self.chain:
            return tuple(zip(self.chain, self.chain[1:], strict=False))
        return tuple((better, worse) for better in self.better for worse in self.worse)

    @property
    def labels(self) -> set[str]:
        """Labels of all rows in the claim."""
        return {*self.better, *self.worse, *self.chain}


@dataclass(frozen=True)
class PremiseCount:
    """A cell of SupMPN's Table 1: the number of premises of a corpus with these numbers of entailments and
    contradictions.

    `source` is the corpus of `corpus.nli` that is counted, `name` is that corpus's name in the paper. `entailments` and
    `contradictions` are the least and the largest number; None means no upper bound.
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
    """A picture in the paper of a grid of recipes. It is plotted again from the rows of one of the space's tables.

    `table` and `column` name the rows and the score. `kind="distribution"`: one panel per key of `keys`, with the
    distribution of the score for each value of the key, over all recipes that have it. `kind="lines"`: the first key, a
    number, is the x axis. Of the other keys, if two or more, the last one has a panel for each value, and the rest
    together name the lines. `lines` names the lines by their values, or by several points (sets of values): a recipe
    gets the first name of which its values match, or match one point. `note` is a sentence under the picture.
    """

    number: str
    title: str
    kind: Literal["distribution", "lines"]
    keys: tuple[str, ...]
    table: str
    column: str
    note: str = ""
    lines: Mapping[str, Overrides | tuple[Overrides, ...]] = field(default_factory=dict)

    def points(self) -> Iterator[tuple[str, Overrides]]:
        """Yield the name of a line and the values of one of its points, for every point of every line."""
        for name, values in self.lines.items():
            for point in values if isinstance(values, tuple) else (values,):
                yield name, point

    def __post_init__(self) -> None:
        refuse_twice(f"figure {self.number} has a key twice:", self.keys)
        if self.kind not in ("distribution", "lines"):
            raise UserError(f"figure {self.number}: kind must be 'distribution' or 'lines', not {self.kind!r}")
        fewest = 2 if self.kind == "lines" else 1
        if len(self.keys) < fewest:
            raise UserError(f"figure {self.number}: {self.kind} need at least {fewest} key{'s' * (fewest > 1)}")
