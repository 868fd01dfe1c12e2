"""The plan of a study, made of a request. It starts nothing, and writes nothing but data of `--train`.

draft = read_request(request)     # all that does not depend on the cluster: finds mistakes in names and values
plan = decide(draft, cluster.gpus)
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reports.facts.recipe_names import recipe_name
from reports.ledger import LEDGER, STUDY, Ledger, Scoring, StudyInfo, is_explored, is_fresh
from reports.ledger.finals import SHARE
from reports.ledger.location import ResultsLocation, open_location
from reports.ledger.request import Request
from search_spaces.goals import SELECTION, Goal, needed, searched
from search_spaces.limits import of_study, of_trials
from search_spaces.own_data import TF_IDF
from search_spaces.paper import NEED_KEYS
from search_spaces.space import Domain, Row, Scale, Search, Space
from study.engine.cluster import lasting
from study.one_recipe import read_recipe
from study.own.space import begin, own_space
from study.rows import chosen_rows, given_models, inputs_of
from study.search.design import StudyDesign
from study.search.finals import SearchFinals
from study.search.ladder import Ladder, can_run
from study.search.points import grid
from study.search.samplers import DEFAULT_SAMPLER, SAMPLERS
from study.search.schedulers import SCHEDULERS, SchedulerEntry
from study.subject import Subject, named_space, overrides
from study.trial import SourceFile, Trial
from trainables.encoders.kinds import ENCODERS
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig, parse_assignment, split
from trainables.recipe import Recipe, Value
from trainables.senteval import fingerprint, task_names
from trainables.senteval.tasks import TASKS
from trainables.training.rungs import DEFAULT_RUNGS, STS, Measure, RungPlan
from trainables.trial import population_key
from trainables.trial.data_requests import senteval_folder

LARGEST_GRID = 10_000


@dataclass(frozen=True)
class Draft:
    """A request that is read, checked and resolved as far as possible without the cluster."""

    request: Request
    """The request; later with options of the earlier study (`study.results_folder.check.continued`)."""
    plugins: tuple[SourceFile, ...]
    subject: Subject
    """The space as it is written, and its source code."""
    space: Space
    """The space with the goals of `--goals`, and without domains of keys that `--set` gives, as these are not searched.
    If `objective.dims` cuts the embeddings, domains of a head are left out, too, as these exclude each other."""
    limits: Mapping[str, float]
    """Values of `--limit`, by name."""
    fixed: Mapping[str, Value]
    """Values of `--set`, by key."""
    overrides: Mapping[str, Value]
    """Settings that every recipe has in place of the base's: `fixed`, and the options for data. Paths are absolute."""
    rows: tuple[Row, ...]
    """Rows that `--only` selects."""
    models: Mapping[str, str]
    """Models that `--evaluate` names, by row label."""

    @property
    def sources(self) -> tuple[SourceFile, ...]:
        """Source files that a worker runs before it builds a recipe."""
        return (*self.plugins, *filter(None, [self.subject.file]))


@dataclass(frozen=True)
class Plan:
    """All that a study will do, decided before anything starts."""

    draft: Draft
    location: ResultsLocation
    scale: Scale
    reason: str
    """The reason for the scale, in words."""
    base: Recipe
    evaluation: EvaluationConfig
    """How a row's trained model is scored."""
    rows: Mapping[str, Recipe | None]
    """Recipes of rows, by label; None if an input that the row needs is not available."""
    missing: Mapping[str, str]
    """Reasons, by label, why rows have no recipe."""
    keeps_finals_size: bool = False
    """Whether the finals keep their size, because their finalists are known."""

    @property
    def request(self) -> Request:
        return self.draft.request

    @property
    def space(self) -> Space:
        return self.draft.space

    @property
    def results(self) -> Path:
        """The study's folder, absolute; for a URL, the folder of the working copy."""
        return self.location.folder

    @property
    def earlier_study(self) -> StudyInfo | None:
        """The facts of the study that the results folder contains; None if it contains none."""
        return StudyInfo.load(self.results) if (self.results / STUDY).is_file() else None

    @functools.cached_property
    def ledger(self) -> Ledger:
        """The ledger of the results folder, which also decides which trials are done."""
        return Ledger(self.results / LEDGER, self.scoring_of)

    @property
    def scheduler(self) -> SchedulerEntry:
        return _scheduler(self.request)

    @functools.cached_property
    def rungs(self) -> RungPlan | None:
        """The rungs of explored trials, with the measures that judge there; None if the scheduler stops no trial."""
        if not self.scheduler.stops:
            return None
        goals = self.space.searched_goals
        measures = (STS,) if goals == (SELECTION,) else tuple(map(_measure, goals))
        return dataclasses.replace(self.request.rungs or DEFAULT_RUNGS, measures=measures)

    def may_stop(self, trial: Trial) -> bool:
        """Whether the scheduler may stop the trial: only an explored recipe under its first seed, never a row, never in
        the finals. Other seeds run if the first one finished, and always to their end. So their scores measure the
        recipe, whereas the scores of the first seed were selected."""
        return self.rungs is not None and not trial.row and trial.seed == self.seeds[0]

    @property
    def first_decides(self) -> bool:
        """Whether explored recipes get their further seeds only if the first one was not stopped."""
        return self.rungs is not None and self.explored > 0 and len(self.seeds) > 1

    @property
    def limits(self) -> Mapping[str, float]:
        return self.draft.limits

    @property
    def seeds(self) -> range:
        """The seeds that every recipe gets."""
        return range(self.request.seeds.least)

    @property
    def most_seeds(self) -> int:
        """Largest number of seeds of a recipe."""
        return self.request.seeds.most

    @property
    def races(self) -> bool:
        """Whether recipes race: they get further seeds only where these can change an answer."""
        return self.request.seeds.most > self.request.seeds.least

    @property
    def trains_several(self) -> bool:
        """Whether more than one recipe trains: those of a search, or of several rows."""
        trained = {recipe.hash for recipe in self.rows.values() if recipe is not None and recipe.trains}
        return self.request.strategy != "paper" or len(trained) > 1

    @property
    def explored(self) -> int:
        """Number of recipes that Optuna will ask for."""
        return self.request.explored

    @functools.cached_property
    def scoring(self) -> Scoring:
        """The evaluation that a row's trial needs to count as done: the study's tasks and protocol, on the present data
        files.

        A fingerprint covers the files of one set of tasks. So one is taken for each set of tasks in the ledger.
        """
        tasks, folder = task_names(self.evaluation.tasks), senteval_folder(self.evaluation.senteval)
        records, _ = self.ledger.sift()
        scored = {tuple(sorted(evaluation.scores)) for record in records for evaluation in record.evaluations}
        task_sets = [names for names in scored if names and {*names} <= TASKS.keys()]
        data = frozenset(fingerprint(folder, names) for names in (tasks, task_names(self.exploring.tasks), *task_sets))
        return Scoring(self.evaluation.protocol, data, frozenset(tasks))

    @functools.cached_property
    def exploring(self) -> EvaluationConfig:
        """Scoring of an explored recipe: only on tasks that the goals need, and only on development splits.

        An explored recipe is scored like a row if a goal needs test splits, or if trials have limits: scoring is a part
        of a trial's cost, and costs are compared with those of rows and with the limits.
        """
        goals = self.space.searched_goals
        tasks = tuple(task for task in task_names(self.evaluation.tasks) if task in needed(goals))
        whole = self.evaluation.explored == "all" or of_trials(self.limits) or not tasks
        if whole or not all(goal.needs_no_test for goal in goals):
            return self.evaluation
        return dataclasses.replace(self.evaluation, tasks=tasks, parts="development", heat_map="none")

    def is_explored(self, recipe_hash: str, seed: int) -> bool:
        """Whether a trial only serves the search: it is neither a row under its own seeds nor one of the finals."""
        return not is_fresh(seed) and not (recipe_hash in self._row_hashes and is_explored(seed))

    @functools.cached_property
    def _row_hashes(self) -> frozenset[str]:
        return frozenset(recipe.hash for recipe in self.rows.values() if recipe is not None)

    def evaluation_of(self, recipe_hash: str, seed: int) -> EvaluationConfig:
        """Return how the model of this trial is scored."""
        return self.exploring if self.is_explored(recipe_hash, seed) else self.evaluation

    def scoring_of(self, recipe_hash: str, seed: int) -> Scoring:
        """Return the evaluation that this trial needs to count as done."""
        return self._scoring_exploring if self.is_explored(recipe_hash, seed) else self.scoring

    @functools.cached_property
    def _scoring_exploring(self) -> Scoring:
        tasks = frozenset(task_names(self.exploring.tasks))
        return dataclasses.replace(self.scoring, tasks=tasks, parts=self.exploring.parts)

    @functools.cached_property
    def grid(self) -> tuple[Recipe, ...]:
        """One recipe for each combination of the domains' grid values; empty without a grid search. A key with a
        condition is set only if the condition holds."""
        if self.request.strategy != "grid":
            return ()
        domains = _grid_domains(self.space)
        recipes = [self.base.override(chosen) for chosen in grid(domains, self.base.flat())]
        return tuple({recipe.hash: recipe for recipe in recipes}.values())

    @functools.cached_property
    def finals(self) -> SearchFinals | None:
        """The finals of the search; None if it has none."""
        size = self.request.finals_size
        if size is None:
            return None
        rows = {recipe.hash: label for label, recipe in reversed([*self.rows.items()]) if recipe is not None}
        return SearchFinals(
            *size,
            self.base,
            rows,
            self.rows.get(self.space.baseline or TF_IDF),
            keeps_size=self.keeps_finals_size,
            curve=self.request.learning_curve,
            soup=self.request.averages,
        )

    @functools.cached_property
    def design(self) -> StudyDesign:
        """The input of the study's agenda."""
        goals = self.space.searched_goals
        whole = bool(of_study(self.limits))
        parts = whole and self.explored > 0 and len(goals) == 1 and not goals[0].cost and self.rungs is None
        parts = parts and SHARE in self.base.flat() and population_key(self.base) is None and self.base.trains
        parts = parts and self.base.optimisation.max_steps is None  # else a part costs as much as the whole
        parts = parts and self.finals is not None  # only finals train the best recipes of a part on all data
        # The smallest part of small data may have no batch.
        parts = parts and can_run(self.base, self.evaluation, Ladder.PROBE)
        searches = SHARE in {domain.key for domain in self.space.domains}
        return StudyDesign(
            fixed=self.fixed_trials(),
            base=self.base,
            goals=goals,
            seeds=self.seeds,
            recipes=self.explored,
            finals=self.finals,
            allows_parts=parts and not searches and self.most_seeds == 1,
            first_decides=self.first_decides,
            limits=self.limits,
        )

    def fixed_trials(self) -> list[Trial]:
        """Return the trials of rows, then of the grid. Each recipe occurs once, with all its seeds, or only with seed 0
        if it uses no seed."""
        named: dict[str, tuple[Recipe, str, bool]] = {}
        for label, recipe in self.rows.items():
            if recipe is not None:
                named.setdefault(recipe.hash, (recipe, label, True))
        for number, recipe in enumerate(self.grid, start=1):
            name = recipe_name(number, recipe.flat(), self.base.flat(), self.space.domains)
            named.setdefault(recipe.hash, (recipe, name, False))
        return [
            Trial(recipe, seed, name, row)
            for recipe, name, row in named.values()
            for seed in (self.seeds if recipe.uses_seed else [0])
        ]


def read_request(request: Request) -> Draft:
    """Run plugins, load or make the space, read assignments. `UserError` for a mistake in names and values."""
    plugins, limits = begin(request)
    SAMPLERS.get(request.sampler or DEFAULT_SAMPLER)  # `UserError` for an unknown name
    scheduler = _scheduler(request)
    subject = _subject(request)
    own = {Path(plugin.path).name for plugin in plugins}
    plugins = (*plugins, *(source for source in subject.plugins if Path(source.path).name not in own))
    names = [Path(plugin.path).name for plugin in plugins]
    if len(set(names)) < len(names):
        raise UserError(f"two plugins have the same file name ({', '.join(names)}); rename one of them")
    space = subject.space
    fixed = dict(map(parse_assignment, request.set))
    goals = space.goals
    if request.goals is not None:
        goals = tuple(goal.name for goal in searched(request.goals.split(","), f"--goals {request.goals}"))
    changes = overrides(request, fixed, subject.options)
    of_recipe, of_evaluation = split(changes)
    base = space.base.preferring(of_recipe)  # `UserError` for a value that no recipe can have
    settled = (*fixed, "head.kind", "head.dim") if base.flat().get("objective.dims") else (*fixed,)
    space = dataclasses.replace(space, domains=tuple(d for d in space.domains if d.key not in settled), goals=goals)
    space.evaluation.override(of_evaluation)
    _check_search(request.strategy, scheduler, space)
    return Draft(
        request,
        plugins,
        subject,
        space,
        limits,
        fixed,
        changes,
        chosen_rows(space, request.only),
        given_models(space, request.evaluate),
    )


def decide(draft: Draft, gpus: float) -> Plan:
    """Decide the scale, the base recipe and the recipe of every row. `gpus`: number of the cluster's GPUs."""
    request, space = draft.request, draft.space
    scale, reason = _scale(draft, gpus)
    of_recipe, of_evaluation = split(draft.overrides)
    evaluation = space.scored(scale).override(of_evaluation)
    base = space.recipe(scale, evaluation).preferring(of_recipe)
    rows: dict[str, Recipe | None] = {}
    missing: dict[str, str] = {}
    for row in draft.rows:
        inputs = inputs_of(row, base, draft.models.get(row.label), request.word_vectors, scale)
        if isinstance(inputs, str):
            rows[row.label], missing[row.label] = None, inputs
            continue
        recipe = rows[row.label] = base.preferring({**row.overrides, **inputs})
        own_kind = "encoder.kind" in {**row.overrides, **inputs}
        if recipe.encoder.adapter == "lora" and own_kind and not ENCODERS[recipe.encoder.kind].lora:
            raise UserError(
                f"encoder.adapter=lora cannot be put into the row {row.label!r}, whose encoder.kind is "
                f"{recipe.encoder.kind!r}; leave out --word-vectors, or choose rows with --only"
            )
        # A given model is not a key that the row varies. A row that is only evaluated stays as it is.
        own = set(row.overrides) - (NEED_KEYS["checkpoint"] if row.needs == "checkpoint" else set())
        clash = sorted(set(draft.fixed) & own) if recipe.trains else []
        if clash:
            raise UserError(
                f"--set {clash[0]}: the row {row.label!r} of {space.name!r} sets this key itself; leave it out, choose "
                "rows with --only, or take a space whose rows do not vary it"
            )
    return Plan(draft, _results_location(draft, scale), scale, reason, base, evaluation, rows, missing)


def _scheduler(request: Request) -> SchedulerEntry:
    return SCHEDULERS[request.scheduler or "none"]


def _subject(request: Request) -> Subject:
    if request.train:
        return own_space(request)
    return named_space(request.space) if request.recipe is None else read_recipe(request)


def _results_location(draft: Draft, scale: Scale) -> ResultsLocation:
    """Return the location of the results. `UserError` for a URL that cannot be reached."""
    results = draft.request.results or draft.subject.results
    location = open_location(results, Path("results") / f"{draft.space.name}-{scale}")
    return dataclasses.replace(location, folder=lasting(location.folder))


def _check_search(strategy: Search, scheduler: SchedulerEntry, space: Space) -> None:
    """Raise `UserError` if the space cannot be searched as requested."""
    if strategy == "optuna" and not space.domains:
        raise UserError(f"the space {space.name!r} has no domains left, so there is nothing for Optuna to explore")
    late = [goal for goal in space.searched_goals if goal.cost]
    if late and scheduler.stops:
        raise UserError(
            f"--scheduler {scheduler.name} judges trials by scores in the midst of their training, and the goal "
            f"{late[0].name} is known at their end; leave it out"
        )
    if len(space.goals) > 1 and not scheduler.several_goals:
        raise UserError(
            f"--scheduler {scheduler.name} judges by one score, and {space.name!r} has several goals; leave it out"
        )
    if strategy == "grid":
        points = math.prod(len(domain.grid_values) for domain in _grid_domains(space))
        if points > LARGEST_GRID:
            raise UserError(
                f"the grid of {space.name!r} has up to {points:,} points, more than the {LARGEST_GRID:,} that anybody "
                "would run; take a smaller space, or --search optuna"
            )


def _measure(goal: Goal) -> Measure:
    """Return the goal as the measure by which rungs judge trials."""
    parts = tuple((_measure(part), weight) for part, weight in goal.weighted)
    return Measure(goal.name, goal.tasks, goal.number, parts)


def _grid_domains(space: Space) -> list[Domain]:
    domains = [domain for domain in space.domains if domain.grid_values]
    if not domains:
        raise UserError(f"the space {space.name!r} has no grid: none of its domains lists values")
    return domains


def _scale(draft: Draft, gpus: float) -> tuple[Scale, str]:
    request = draft.request
    if draft.subject.scale is not None:
        return draft.subject.scale, f"as {request.recipe}"
    if request.scale != "auto":
        return request.scale, f"asked for with --scale {request.scale}"
    if request.of_own_data:
        return "paper", "your encoder and your data as they are, whatever the machine"
    if gpus:
        return "paper", f"auto: the cluster has {gpus:g} GPU{'s' if gpus > 1 else ''}"
    return "laptop", "auto: the cluster has no GPU"
