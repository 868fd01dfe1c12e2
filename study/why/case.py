"""The study that `--why` examines: its recipe, training rows, items and encoder."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from reports.facts.answer import Answer
from reports.facts.quantity import Quantity
from reports.facts.results import Results
from reports.ledger.request import Request
from reports.words.commands import results_location
from search_spaces.goals import Goal
from study.own.leaks import splits_of
from study.rows import as_it_came
from trainables.corpora.own.held_out import HELD_OUT, rows_of
from trainables.corpora.own.split import DEV, TEST
from trainables.corpora.own.training_files import training_files
from trainables.corpora.own_rows import Normal
from trainables.encoders.contract import for_documents
from trainables.encoders.embedding_store import EmbeddingStore
from trainables.encoders.module_files import modules, own_pooling
from trainables.encoders.own_modules import own_settings
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig, Parts
from trainables.files import expanded
from trainables.recipe import Recipe, Value
from trainables.senteval.evaluation import SentEvalResult, evaluate
from trainables.senteval.examples import Split
from trainables.senteval.kinds import KINDS
from trainables.senteval.kinds.contract import TaskKind
from trainables.senteval.tasks import TASKS
from trainables.trial.data_requests import senteval_folder

MOST_ROWS = 4000
"""Largest number of training rows that are examined; they are drawn at random."""


@dataclass(frozen=True)
class Cause:
    """A possible reason why training gains too little."""

    name: str
    """Name of the check or of the changed setting that found this cause."""
    points: float
    """Points of score that the cause may take away; causes are ordered by these."""
    measured: bool = False
    """Whether `points` were measured by trainings or scores; otherwise they are an estimate."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    mend: Mapping[str, Any] = field(default_factory=dict)
    """Options of a command that removes the cause, where they differ from the study's; `set` has the changed keys."""
    rows: tuple[int, ...] = ()
    """Numbers of suspect training rows, from 0, the worst first."""


@dataclass(frozen=True)
class PairRow:
    """A row with an anchor."""

    number: int
    """Position in the file, from 0."""
    anchor: str
    positives: tuple[str, ...]
    negatives: tuple[str, ...]


@dataclass(frozen=True)
class StudyCase:
    """A study, in which `--why` looks for causes of a small gain."""

    recipe: Recipe
    """The recipe that the answer recommends, or the base settings."""
    base: Recipe
    evaluation: EvaluationConfig
    goal: Goal
    request: Request
    folder: Path
    """The results folder, where files of suspect rows are written."""
    location: str = ""
    """The results folder or URL, as a person writes it in a command."""
    shared: Path | None = None
    """Folder for embeddings of frozen encoders, which trainings share."""
    answer: Answer | None = None

    @classmethod
    def of(cls, results: Results, shared: Path | None = None) -> StudyCase:
        """Return the case of a study with these results; `UserError` if it does not use a person's own data."""
        goal = next((goal for goal in results.goals if not goal.cost), None)
        if goal is None or not Path(str(results.base.flat().get("corpus.nli"))).is_file():
            raise UserError(f"{results.folder} is no study of --train, whose rows --why could look at")
        answer = Answer.of(results)
        recipe, used = results.base, answer.to_train
        if used and used.recipe in results.finals:
            recipe = Recipe.from_flat(results.finals[used.recipe][0].recipe)
        info = results.info
        location = results_location(info)
        return cls(
            recipe, results.base, results.evaluation, goal, info.request, results.folder, location, shared, answer
        )

    # --- rows and items

    @cached_property
    def rows(self) -> list[Normal]:
        """All training rows."""
        return [*rows_of(self.train)]

    def row_locations(self, numbers: Sequence[int]) -> list[str]:
        """Return the file and line of each row: in the person's own file, or in the prepared file if the own one is
        gone or lacks the row."""
        locations = {number: f"{self.train}, line {number + 1}" for number in numbers}
        equal: dict[str, list[int]] = {json.dumps(self.rows[number]): [] for number in numbers}
        for number, row in enumerate(self.rows):
            equal.get(json.dumps(row), []).append(number)
        request = self.request
        if all(expanded(source).exists() for source in request.train):  # data sets of the hub are not fetched again
            with contextlib.suppress(UserError):
                source = training_files(request.train, request.columns, request.labels, request.max_rows)
                for where, row in source.located(Counter()):
                    if left := equal.get(json.dumps(row)):
                        locations[left.pop(0)] = where
        return [locations[number] for number in numbers]

    @property
    def train(self) -> Path:
        """File of the training rows."""
        return Path(str(self.recipe.flat()["corpus.nli"]))

    @property
    def held_out_files(self) -> dict[str, tuple[str, ...]]:
        """Files of rows that the study put aside of its training data, by option. Other training data must not alter
        them."""
        paths = {part: self.train.with_name(HELD_OUT[number]) for part, number in (("dev", DEV), ("test", TEST))}
        files = {part: path if path.is_dir() else path.with_suffix(".jsonl") for part, path in paths.items()}
        return {part: (str(path),) for part, path in files.items() if path.exists()}

    @property
    def dev_is_held_out(self) -> bool:
        """Whether the development items were put aside of the training data, and so have the same faults."""
        return "dev" in self.held_out_files

    @cached_property
    def pairs(self) -> list[PairRow]:
        """Training rows with an anchor and a positive, at most `MOST_ROWS`."""
        pairs = [pair for number, row in enumerate(self.rows) if (pair := _pair(number, row)) and pair.positives]
        chosen = np.random.default_rng(0).permutation(len(pairs))[:MOST_ROWS]
        return [pairs[index] for index in sorted(chosen.tolist())]

    @property
    def tasks(self) -> list[str]:
        """Names of the goal's tasks that are made of a person's own data."""
        return [name for name in sorted(self.goal.needs) if TASKS[name].of_own_data]

    def splits(self, part: str) -> list[Split]:
        """Return the examples of all `tasks` that are scored as `part`, `dev` or `test`."""
        return [split for name in self.tasks for split in splits_of(TASKS[name], part)]

    @property
    def items_vary(self) -> float:
        """The largest `TaskKind.least_deviation` of the tasks, in points: how much the items' values vary."""
        return max((KINDS[TASKS[name].kind].least_deviation for name in self.tasks), default=TaskKind.least_deviation)

    # --- the encoder and its scores

    @cached_property
    def own_keys(self) -> dict[str, Value]:
        """Settings of the encoder's own configuration that are keys of the recipe; empty for a plain transformer."""
        name, flat = self.recipe.encoder.name, self.recipe.flat()
        if not modules(name) or self.recipe.encoder.kind != "transformer":
            return {}
        others = {"encoder.name", *(() if own_pooling(name) else ("pooling.mode",))}
        return {key: value for key, value in own_settings(name).items() if key in flat and key not in others}

    @property
    def not_as_configured(self) -> dict[str, Value]:
        """The `own_keys` for which the recipe has another value, with the configuration's values. An adapter keeps one
        embedding for each text, so documents get the query's prompt."""
        flat, own = self.recipe.flat(), self.own_keys
        if "encoder.query_prompt" in own and flat["encoder.adapter"] == "mlp":
            own = {**own, "encoder.document_prompt": own["encoder.query_prompt"]}
        return {key: value for key, value in own.items() if key in flat and flat[key] != value}

    @cached_property
    def untrained(self) -> Recipe:
        """The original encoder, with the settings of its own configuration."""
        return as_it_came(self.recipe.preferring(self.own_keys))

    def embedded(self, texts: Sequence[str], documents: bool = False) -> np.ndarray:  # (texts, dim) of length 1
        """Embed texts with the original encoder."""
        vectors = self._encoders[documents].encode(texts)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    @cached_property
    def _encoders(self) -> tuple[EmbeddingStore, EmbeddingStore]:
        return self._stores(self.untrained)

    def _stores(self, recipe: Recipe) -> tuple[EmbeddingStore, EmbeddingStore]:
        """Return the embedding stores for queries and for documents; each text is embedded once."""
        from trainables.trial.build import load_base

        encoder = load_base(recipe, 0)
        own = for_documents(encoder)
        queries = EmbeddingStore(encoder, self.shared)
        return queries, queries if own is None else EmbeddingStore(own, self.shared)

    @property
    def development_quantity(self) -> Quantity:
        """The development score of the goal."""
        return Quantity(self.goal.short, self.goal.development_weights)

    @property
    def test_quantity(self) -> Quantity:
        """The test score of the goal."""
        return Quantity(self.goal.short, self.goal.test_weights)

    def scored(self, recipe: Recipe, parts: Parts = "development") -> SentEvalResult:
        """Score the encoder of a recipe without training it."""
        queries, documents = self._stores(recipe)
        config, tasks = self.evaluation, [*self.goal.needs]
        apart = None if documents is queries else documents.encode
        folder = senteval_folder(config.senteval)
        return evaluate(queries.encode, folder, tasks, config.protocol, parts=parts, encode_documents=apart)

    @cached_property
    def untrained_score(self) -> float | None:
        """The test score of the original encoder, from the finals if they have it."""
        encoder = self.answer.references.get("encoder") if self.answer else None
        if encoder is not None and encoder.figure is not None:
            return encoder.figure.gain
        return self.test_quantity.of(self.scored(self.untrained, "all").tasks)


def _pair(number: int, row: Normal) -> PairRow | None:
    if "anchor" in row:
        return PairRow(number, row["anchor"], tuple(row.get("positive", ())), tuple(row.get("negative", ())))
    if row.get("label") == "entailment" and "premise" in row:
        return PairRow(number, row["premise"], (row["hypothesis"],), ())
    return None
