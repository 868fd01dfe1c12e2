"""From what a person asked to the trials of the study. Pure: it starts nothing and writes nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from search_spaces import load_space
from search_spaces.space import Domain, Row, Space
from study.cluster import inside_job
from study.options import Request
from trainables.errors import UserError, choices
from trainables.recipe import SCENES, SCENES_ENCODER, Recipe, parse_assignment

LARGEST_GRID = 10_000


@dataclass(frozen=True)
class PlannedTrial:
    """A recipe and a seed, and what people call it."""

    recipe: Recipe
    seed: int
    name: str
    row: bool
    """Whether it is one of the paper's rows; those are never stopped early."""

    @property
    def key(self) -> str:
        """Names the trial's files."""
        return f"{self.recipe.hash}-{self.seed}"


@dataclass(frozen=True)
class Plan:
    """Everything that a study will do, decided before anything starts."""

    request: Request
    space: Space
    scale: str
    reason: str
    base: Recipe
    rows: Mapping[str, Recipe | None]
    """Label to recipe; None where an input that the row needs was not given."""
    grid: tuple[Recipe, ...]

    @property
    def results(self) -> Path:
        """The study's folder, absolute. A Ray job's working directory is thrown away, so there it is under home."""
        default = (Path.home() if inside_job() else Path()) / "results" / f"{self.space.name}-{self.scale}"
        return (self.request.results or default).expanduser().absolute()

    @property
    def seeds(self) -> range:
        return range(self.request.seeds)

    def fixed_trials(self) -> list[PlannedTrial]:
        """The rows, then the grid, each recipe once, all seeds of a recipe together."""
        named: dict[str, tuple[Recipe, str, bool]] = {}
        for label, recipe in self.rows.items():
            if recipe is not None:
                named.setdefault(recipe.hash, (recipe, label, True))
        for recipe in self.grid:
            named.setdefault(recipe.hash, (recipe, f"grid {recipe.hash[:6]}", False))
        return [PlannedTrial(recipe, seed, name, row) for recipe, name, row in named.values() for seed in self.seeds]

    @property
    def explored(self) -> int:
        """Recipes that Optuna will ask for."""
        return self.request.trials if self.request.search == "optuna" else 0


def make_plan(request: Request, gpus: float) -> Plan:
    """Decide the scale, the base recipe and every fixed trial. `gpus`: how many the cluster has."""
    space = load_space(request.space)
    scale, reason = _scale(request.scale, gpus)
    base = space.base.override(space.laptop if scale == "laptop" else {})
    base = base.override(_overrides(request))
    rows: dict[str, Recipe | None] = {}
    changed = dict(map(parse_assignment, request.set))
    for row in _chosen(space, request.only):
        overrides = dict(row.overrides)
        if row.needs == "word_vectors":
            if request.word_vectors is None:
                rows[row.label] = None
                continue
            overrides["encoder.name"] = str(Path(request.word_vectors).expanduser().absolute())
        clash = sorted(set(changed) & set(row.overrides))
        if clash:
            raise UserError(f"--set {clash[0]} would make every row alike: the row {row.label!r} varies it")
        rows[row.label] = base.override(overrides)
    if request.search == "optuna" and not space.domains:
        raise UserError(f"the space {space.name!r} has no domains, so there is nothing for Optuna to explore")
    grid = tuple(_grid(space, base)) if request.search == "grid" else ()
    return Plan(request, space, scale, reason, base, rows, grid)


def check_plan(plan: Plan) -> None:
    """Refuse, before anything starts, what cannot work: encoders, data and objectives that are not there."""
    from trainables.data import check_data
    from trainables.encoders import check_encoder
    from trainables.objectives import check_objective

    recipes = {recipe.hash: recipe for recipe in [plan.base, *plan.rows.values(), *plan.grid] if recipe is not None}
    encoders = {recipe.encoder for recipe in recipes.values()}
    for encoder in sorted(encoders, key=lambda config: config.name):
        check_encoder(encoder)
    for objective in {recipe.objective for recipe in recipes.values()}:
        check_objective(objective)
    for corpus, evaluation in {(recipe.corpus, recipe.evaluation) for recipe in recipes.values()}:
        check_data(Recipe(corpus=corpus, evaluation=evaluation))


def resolve(domain: Domain, chosen: Mapping[str, Any], base: Recipe) -> bool:
    """Whether a conditional domain is asked for, given the keys chosen before it."""
    if domain.when is None:
        return True
    key, values = domain.when
    return chosen.get(key, base.flat()[key]) in values


def _scale(wish: str, gpus: float) -> tuple[str, str]:
    if wish != "auto":
        return wish, f"asked for with --scale {wish}"
    if gpus:
        return "paper", f"auto: the cluster has {gpus:g} GPU{'s' if gpus > 1 else ''}"
    return "laptop", "auto: the cluster has no GPU"


def _overrides(request: Request) -> dict[str, Any]:
    named = {"corpus.nli": request.nli, "evaluation.senteval": request.senteval}
    overrides: dict[str, Any] = {key: value for key, value in named.items() if value is not None}
    for assignment in request.set:
        key, value = parse_assignment(assignment)
        overrides[key] = value
    for key in ("corpus.nli", "evaluation.senteval", "encoder.name"):
        if key in overrides:
            overrides[key] = _absolute(overrides[key])
    return overrides


def _absolute(text: str) -> str:
    """Workers run in other folders: a path that exists here is made absolute; ids and built-in names stay."""
    if text in (SCENES, SCENES_ENCODER):
        return text
    parts = [Path(part.strip()).expanduser() for part in text.split(",")]
    if all(part.exists() for part in parts):
        return ",".join(str(part.absolute()) for part in parts)
    return text


def _chosen(space: Space, only: tuple[str, ...]) -> list[Row]:
    unknown = [label for label in only if label not in {row.label for row in space.rows}]
    if unknown:
        raise UserError(
            f"--only {unknown[0]!r} is no row of {space.name!r}; its rows are {choices(r.label for r in space.rows)}"
        )
    return [row for row in space.rows if not only or row.label in only]


def _grid(space: Space, base: Recipe) -> list[Recipe]:
    """Every combination of the domains' grid values; a conditional key only where its condition holds."""
    domains = [domain for domain in space.domains if domain.grid_values]
    if not domains:
        raise UserError(f"the space {space.name!r} has no grid: none of its domains lists values")
    points = math.prod(len(domain.grid_values) for domain in domains)
    if points > LARGEST_GRID:
        raise UserError(
            f"the grid of {space.name!r} has {points:,} points, more than the {LARGEST_GRID:,} that anybody would run; "
            "take a smaller space, or --search optuna"
        )
    recipes: dict[str, Recipe] = {}
    for values in itertools.product(*(domain.grid_values for domain in domains)):
        chosen: dict[str, Any] = {}
        for domain, value in zip(domains, values, strict=True):
            if resolve(domain, chosen, base):
                chosen[domain.key] = value
        recipe = base.override(chosen)
        recipes.setdefault(recipe.hash, recipe)
    return list(recipes.values())
