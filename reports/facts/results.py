"""A results folder as a report reads it: the records of each row, and our figures beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from reports.facts.cached import cached
from reports.facts.predictions import Predictions
from reports.facts.quantity import Quantity, average_quantity, goals_quantity, quantity
from reports.facts.standings import Standings, in_study_order
from reports.ledger import LEDGER, Ledger, Record, StudyInfo, read_failures
from reports.ledger.finals import PART_SEED, group_records, is_explored, is_fresh, is_soup, recipe_on_all_data
from reports.ledger.looks import look_names
from reports.statistics import Measured
from search_spaces.averages import AVERAGES, averages
from search_spaces.goals import Goal
from search_spaces.space import Column, Space, Table
from trainables.corpora.layouts import LAYOUTS
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig, all_keys
from trainables.recipe import SCENES, Recipe, Value

MAX_NAMED_RECORDS = 3
"""Largest number of unusable records that an error names."""


@dataclass(frozen=True)
class Difference:
    """A key in which this study's base recipe differs from the paper's, with both values."""

    key: str
    paper: Value
    ours: Value


@dataclass(frozen=True)
class Results(Standings):
    """A study, its space and its records, with the order of its recipes."""

    folder: Path
    info: StudyInfo
    space: Space
    records: list[Record]
    """Usable records of rows and explored recipes, in the study's order (`in_order`); without those of the finals."""
    finals: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    """By recipe hash, the records of the finals, by seed. For a row that no seed changes, its only record."""
    parts: Sequence[Record] = ()
    """Records of recipes on a part of their data, which decided what to explore further: they are in no figure."""
    soups: Sequence[Record] = ()
    """Averages of the finals' models: they are in no figure but their own."""
    set_aside: Mapping[str, str] = field(default_factory=dict)
    """Unusable files of the ledger, by name, with the reason."""
    differently_evaluated: Sequence[Record] = ()
    """Finished records that were evaluated under another protocol or on other data: they are in no figure."""
    looks: Sequence[str] = ()
    """Names of the recorded looks, sets of trials that reports have judged, in order (`reports.facts.looks`)."""
    goals: tuple[Goal, ...] = field(init=False)
    """Goals of the search: those of the space, or else the score that it selects by."""
    limits: Mapping[str, float] = field(init=False)
    several_seeds: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "goals", self.space.searched_goals)
        object.__setattr__(self, "limits", self.info.limits)
        object.__setattr__(self, "several_seeds", len(self.info.seeds) > 1)

    @classmethod
    def load(cls, folder: Path) -> Results:
        """Load a results folder. `UserError` if the folder is no study's, or if no trial is finished."""
        info = StudyInfo.load(folder)
        return cls.of(folder, info, info.load_space(folder))  # runs the plugins, whose names recipes may have

    @classmethod
    def of(cls, folder: Path, info: StudyInfo, space: Space) -> Results:
        """Read the records in the folder's ledger. `UserError` if no trial is finished."""
        records, set_aside = Ledger(folder / LEDGER).sift()
        if not any(record.status == "finished" for record in records):
            raise UserError(
                f"no trial in {folder / LEDGER} is finished yet, so there is nothing to report"
                if not set_aside
                else f"no trial in {folder / LEDGER} can be used: "
                + "; ".join(f"{name} {reason}" for name, reason in list(set_aside.items())[:MAX_NAMED_RECORDS])
            )
        records_here = [record.filter_evaluations(info.scoring) for record in records]
        differently_evaluated = [
            whole
            for whole, own in zip(records, records_here, strict=True)
            if whole.status == "finished" and whole.evaluations and not own.evaluations
        ]
        missed = {record.key for record in differently_evaluated}
        scored = (record for record in records_here if record.key not in missed)
        kinds = group_records(scored, info.row_hashes.values(), info.finals)
        own, looks = in_order(info, space, kinds.own), look_names(folder)
        return cls(
            folder, info, space, own, kinds.finals, kinds.parts, kinds.soups, set_aside, differently_evaluated, looks
        )

    # Records

    def of_hash(self, recipe_hash: str | None) -> list[Record]:
        """Return the finished records of a recipe, by seed."""
        return self.recipes.get(recipe_hash or "", [])

    def of_row(self, label: str) -> list[Record]:
        """Return the finished records of a row, by seed."""
        return self.of_hash(self.info.row_hashes.get(label))

    @property
    def of_all_trials(self) -> list[Record]:
        """Records of the search, of parts and of finals, each once; without soups, which trained nothing."""
        finals = [record for records in self.finals.values() for record in records]
        return list({record.key: record for record in [*self.records, *self.parts, *finals]}.values())

    def trials_of(self, recipe_hash: str) -> list[Record]:
        """Return all finished trials of a recipe, including parts and finals."""
        trials = (record for record in self.of_all_trials if record.status == "finished")
        return [record for record in trials if record.recipe_hash == recipe_hash]

    @property
    def trials_and_soups(self) -> list[Record]:
        """All records of this study."""
        return [*self.of_all_trials, *self.soups]

    @cached_property
    def whole_recipes(self) -> dict[str, tuple[float, Recipe]]:
        """By the hash of a recipe on a part of its data: the share, and the recipe on all of the data."""
        by_hash = {record.recipe_hash: recipe_on_all_data(record.recipe, self.base.flat()) for record in self.parts}
        return {key: whole for key, whole in by_hash.items() if whole}

    @cached_property
    def predictions(self) -> Predictions:
        """Predictions of the trials; files are read when needed."""
        return Predictions(self.folder)

    @cached_property
    def base(self) -> Recipe:
        """The recipe that every row of this study starts from."""
        return self.info.recipe(self.space)

    @cached_property
    def evaluation(self) -> EvaluationConfig:
        """The evaluation of every trained model in this study."""
        return self.info.scored(self.space)

    @cached_property
    def followed(self) -> dict[str, Recipe]:
        """By recipe hash, the recipe that its trials followed."""
        return {key: Recipe.from_flat(records[0].recipe) for key, records in self.recipes.items()}

    @property
    def baseline_hash(self) -> str | None:
        """Hash of the space's baseline row; None if there is none, or if it cannot run."""
        return self.info.row_hashes.get(self.space.baseline or "")

    @property
    def counted_first(self) -> list[str | None]:
        """Hash of the baseline, then of the rows: copies of these recipes count as these recipes."""
        return [self.baseline_hash, *self.labels]

    @cached_property
    def fixed(self) -> set[str]:
        """Hashes of the recipes that score the same under every seed."""
        return {key for key, recipe in self.followed.items() if not recipe.uses_seed}

    @cached_property
    def trained(self) -> set[str]:
        """Hashes of the recipes that train anything."""
        return {key for key, recipe in self.followed.items() if recipe.trains}

    @property
    def protocol(self) -> str:
        """Name of the evaluation protocol of the study's scores."""
        return self.info.scoring.protocol

    @cached_property
    def paper_settings(self) -> dict[str, Value]:
        """The paper's base recipe and its evaluation, flat."""
        return {**self.space.base.flat(), **self.space.evaluation.flat()}

    @cached_property
    def settings(self) -> dict[str, Value]:
        """This study's base recipe and its evaluation, flat."""
        return {**self.base.flat(), **self.evaluation.flat()}

    @cached_property
    def labels(self) -> dict[str, str]:
        """By recipe hash, the label of the row."""
        return {recipe_hash: label for label, recipe_hash in self.info.row_hashes.items() if recipe_hash}

    @cached_property
    def explored(self) -> list[str]:
        """Hashes of the recipes that the search asked for, except the rows, in the order in which it asked."""
        return [recipe_hash for recipe_hash in dict.fromkeys(self.info.explored) if recipe_hash not in self.labels]

    @cached_property
    def asked_rows(self) -> list[str]:
        """Labels of the rows that the study set out to run, in the space's order."""
        return [row.label for row in self.space.rows if row.label in self.info.row_hashes]

    @cached_property
    def failures(self) -> dict[str, str]:
        """By recipe hash, why a trial of the recipe failed; without parts and finals."""
        own = [failure for failure in read_failures(self.folder) if is_explored(failure.seed)]
        return {failure.recipe_hash: f"failed: {failure.reason}" for failure in own}

    @cached_property
    def failed_parts(self) -> set[str]:
        """Hashes of explored recipes with a failed trial on a part of the data."""
        own = [failure.recipe for failure in read_failures(self.folder) if failure.seed == PART_SEED]
        whole_recipes = [recipe_on_all_data(recipe, self.base.flat()) for recipe in own]
        return {whole.hash for _, whole in filter(None, whole_recipes)} & {*self.info.explored}

    @cached_property
    def failed_finals(self) -> set[str]:
        """Hashes of recipes with a failed trial of the finals."""
        failures = read_failures(self.folder)
        return {each.recipe_hash for each in failures if is_fresh(each.seed) and not is_soup(each.seed)}

    def is_foreign(self, label: str) -> bool:
        """Whether the row is other people's model, which the study evaluates but does not train."""
        row = self.space.row(label)
        return row.needs == "checkpoint" and row.overrides.get("optimisation.epochs") == 0

    def is_untrained(self, label: str) -> bool:
        """Whether the row was evaluated, but not trained here."""
        return any(record.recipe["optimisation.epochs"] == 0 for record in self.of_row(label))

    def is_complete(self, label: str) -> bool:
        """Whether all seeds that can change the row's scores have run."""
        seeds = {record.seed for record in self.of_row(label)}
        return seeds >= set(self.info.seeds) or (bool(seeds) and self.info.row_hashes[label] in self.fixed)

    def why_missing(self, label: str) -> str:
        """Return the reason why a row has no figures."""
        row = self.space.row(label)
        if label not in self.info.row_hashes:
            return "not asked for in this study"
        recipe_hash = self.info.row_hashes[label]
        if recipe_hash is None:
            if row.needs == "word_vectors":
                return "no word vectors were given (--word-vectors)"
            reason = self.info.missing.get(label) or "an input is missing"
            return reason.replace(f"'{label}=", "'ROW=")  # so that rows with one reason are named together
        other = next((record for record in self.differently_evaluated if record.recipe_hash == recipe_hash), None)
        if other is not None:
            return "measured " + (
                f"under another protocol than {self.protocol}" if other.protocol != self.protocol else "on other data"
            )
        stopped = next((record for record in self.records if record.recipe_hash == recipe_hash), None)
        if stopped is not None:
            return str(stopped.training.get("stopped") or "stopped early")
        aside = next((why for name, why in self.set_aside.items() if name.startswith(f"{recipe_hash}-")), None)
        if aside is not None:
            return f"its record was set aside: {aside}"
        return self.failures.get(recipe_hash, "not finished")

    # Figures

    def of_figure(self, records: Sequence[Record], figure: Quantity) -> Measured | None:
        """Return the mean and spread of a figure over the seeds of one recipe; None without values."""
        return self.over_seeds(records, lambda record: figure.of(record.scores))

    def cell(self, table: Table, label: str, column: str) -> Measured | None:
        """Return our figure for one row and column of a table of the paper."""
        return self.of_figure(self.of_row(label), quantity(table, table.column(column)))

    def published(self, table: Table, label: str, column: str) -> float | None:
        """Return the paper's figure; the baseline's comes from `baseline_table` if this table does not print it."""
        figure = self.space.published(table.number, label, column)
        if figure is None and label == self.space.baseline and table.baseline_table is not None:
            return self.space.published(table.baseline_table, label, column)
        return figure

    def published_gain(self, table: Table, label: str, column: str) -> float | None:
        """Return the paper's difference to its baseline row."""
        if self.space.baseline is None:
            return None
        ours, base = self.published(table, label, column), self.published(table, self.space.baseline, column)
        return None if ours is None or base is None else ours - base

    @cached_property
    def topics(self) -> list[tuple[Table, Column]]:
        """The columns that sum the study up: for each topic, its first table and the average column of that table."""
        by_topic: dict[str, tuple[Table, Column]] = {}
        for table in self.space.tables:
            by_topic.setdefault(table.topic or f"Table {table.number}", (table, average_column(table)))
        return list(by_topic.values())

    @cached_property
    def own_figure(self) -> Quantity | None:
        """The test numbers that judge the goals; None if averages judge all goals, and if nothing was scored."""
        return self._by_goals if any(goal.is_own for goal in self.goals) else None

    @property
    def _by_goals(self) -> Quantity | None:
        """The figure that judges the goals, on the tasks that were scored."""
        return goals_quantity(self.goals, {task for record in self.of_all_trials for task in record.scores})

    @cached_property
    def figures(self) -> list[Quantity]:
        """Figures that sum the study up: `own_figure`, and the topics' averages. Without tables, the averages that the
        space shows of a trial; if no trial has one, every test average that a trial has, or else the goals' figure."""
        own = [self.own_figure] if self.own_figure else []
        if self.topics:
            return [*own, *(quantity(table, column, topic_name(table, column)) for table, column in self.topics)]
        computed = [averages(record.scores).items() for record in self.records]
        names = sorted({name for items in computed for name, value in items if value is not None})
        usual = [average_quantity(name, f"{label} Avg.") for label, name in self.space.shown if name in names]
        others = [average_quantity(name) for name in names if not AVERAGES[name].development]
        goals = [self._by_goals] if self._by_goals and not own else []
        return [*own, *(usual or others or goals)]

    # How far this study is from the paper's

    @cached_property
    def differences(self) -> list[Difference]:
        """Keys of the base recipe in which this study measures something else than the paper."""
        paper, ours = self.paper_settings, self.settings
        return [
            Difference(key, paper[key], ours[key])
            for key in paper
            if key in ours and ours[key] != paper[key] and not self._is_alike(key, paper[key], ours[key])
        ]

    def _is_alike(self, key: str, paper: Value, ours: Value) -> bool:
        """Whether the study measures the same as the paper, although this key of the base recipe differs."""
        if not all_keys()[key].changes_results:
            return ours != SCENES
        if all_keys()[key].is_path and _same_names(paper, ours):
            return True
        sources = {layout.reads for layout in LAYOUTS.values()}
        if self.sources_read and key in sources - self.sources_read:
            return True
        if key == "corpus.nli":  # the same pairs in local files, judged by their number
            pairs = max((int(record.training.get("pairs") or 0) for record in self.records), default=0)
            published = (self.space.training_pairs or 0) * int(self.info.base.get("optimisation.epochs", 1))
            return ours != SCENES and published > 0 and abs(pairs - published) <= 0.01 * published
        return False

    @cached_property
    def sources_read(self) -> set[str]:
        """The recipe keys that name the data which the trained trials read."""
        layouts = {r.recipe.get("corpus.layout", "rows") for r in self.records if r.recipe["optimisation.epochs"]}
        return {LAYOUTS[layout].reads for layout in layouts}

    @property
    def comparable(self) -> bool:
        """Whether scores themselves, and not only their differences, are comparable with the paper's."""
        return not self.differences

    @cached_property
    def has_published(self) -> bool:
        """Whether any of our figures has a published figure beside it."""
        return any(
            self.cell(table, label, column.name) is not None and self.published(table, label, column.name) is not None
            for table in self.space.tables
            for _, label in table.rows
            for column in table.columns
        )

    @property
    def has_paper(self) -> bool:
        """Whether the base recipe is a paper's: the space contains published figures, claims or pictures."""
        return any(row.published for row in self.space.rows) or bool(self.space.claims or self.space.figures)

    @cached
    def recipe(self, label: str) -> Mapping[str, Any]:
        """Return a row's flat recipe in this study: as its trials ran it, or, without trials, as it would run."""
        records = self.of_row(label)
        return records[0].recipe if records else self.base.preferring(self.space.row(label).overrides).flat()


def in_order(info: StudyInfo, space: Space, records: Sequence[Record]) -> list[Record]:
    """Sort records by the study's order of their recipes, rows first."""
    return in_study_order(records, [*(info.row_hashes.get(row.label) for row in space.rows), *info.explored])


def _same_names(paper: Value, ours: Value) -> bool:
    """Whether our values are local folders, or files, of the paper's names: `/data/snli` for `stanfordnlp/snli`."""
    named = [[Path(part.strip()).name for part in str(value).split(",")] for value in (paper, ours)]
    return named[0] == named[1]


def average_column(table: Table) -> Column:
    """Return the column that sums a table up: its last mean of other columns, else its last column."""
    return ([column for column in table.columns if column.mean_of] or table.columns)[-1]


def topic_name(table: Table, column: Column) -> str:
    """Return the name of a topic's column outside its table."""
    topic = table.topic or f"Table {table.number}"
    return topic if topic == column.name else f"{topic} {column.name}"
