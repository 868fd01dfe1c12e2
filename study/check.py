"""Checks of a plan before anything starts. Refused are data, encoders and objectives that do not exist or do not fit
together, keys that no recipe has, and goals and rungs that no training reaches. Notes and warnings are on settings that
work differently than expected, or slowly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from reports.words.markdown import count
from search_spaces.space import Domain
from study.plan import Plan
from study.search.after_finals import check_curve
from study.search.points import reachable
from trainables.errors import UserError, choices
from trainables.evaluation_config import split
from trainables.keys import Value
from trainables.recipe import FIDELITY, Recipe
from trainables.senteval import task_names
from trainables.training.rungs import RungPlan
from trainables.trial import check_recipes, remarks, task_remarks
from trainables.trial.check import check_development, forecast_rungs

DATA_KEYS = ("corpus.", "spans.", "objective.name", "objective.positives", "objective.negatives")
"""Prefixes of the keys that decide how many batches a corpus has."""


def check_plan(plan: Plan) -> None:
    """Raise `UserError` for a plan that cannot work, such as one with missing encoders, data or objectives."""
    recipes = recipes_of(plan)
    if not recipes:
        reasons = "; ".join(f"{label}: {reason}" for label, reason in plan.missing.items())
        raise UserError(f"nothing can run: {reasons or 'the space has no rows; explore it with --search optuna'}")
    _check_keys(plan)
    if plan.finals is not None and plan.finals.curve:
        check_curve(plan.base)
    check_recipes(recipes, plan.evaluation)
    if plan.explored or plan.races:
        _check_goals(plan)
    judged = f"--scheduler {plan.request.scheduler} judges trials"
    for measure in plan.rungs.measures if plan.rungs else ():
        for leaf in measure.leaves:
            check_development(plan.evaluation, leaf, judged, "leave --scheduler out")
    if plan.rungs:
        _check_reach(plan.rungs, plan.base, plan.space.domains)


def notes(plan: Plan) -> list[str]:
    """Return notes on a checked plan: how its corpora are read, and by which seeds its search chooses."""
    first = (
        f"--scheduler {plan.scheduler.name} judges an explored recipe under its first seed; the others run where that "
        "one came to its end, and alone say how good the recipe is"
    )
    tasks = [] if plan.request.of_own_data else task_remarks(plan.evaluation)  # own data: the space names its tasks
    return [*remarks(recipes_of(plan)), *tasks, *([first] if plan.first_decides else [])]


def warnings(plan: Plan, on_gpu: bool) -> list[str]:
    """Return warnings of settings that work, but slowly. Each begins with a recipe's key.

    `on_gpu`: whether trials use a GPU. It is checked only if this machine has one, as the head node of a cluster may
    not.
    """
    recipes = [plan.base, *(recipe for recipe in plan.rows.values() if recipe is not None)]
    keys = {
        key
        for recipe in recipes
        for key in ("optimisation.precision", "encoder.precision", "encoder.dtype")
        if recipe.flat().get(key) == "bf16"
    }
    if not keys:
        return []
    import torch

    if on_gpu and not torch.cuda.is_available():
        return []
    from trainables.encoders.precision import slow_bf16

    slow = [slow_bf16("bf16", "cuda" if on_gpu else "cpu", key) for key in sorted(keys)]
    return [warning for warning in slow if warning]


def recipes_of(plan: Plan) -> list[Recipe]:
    """Return all recipes that are sure to run, each once. If Optuna explores, the base recipe is among them, also with
    the largest batch that Optuna may choose."""
    base = _extremes(plan) if plan.explored else []
    base += [entrant.recipe for entrant in plan.finals.references] if plan.finals else []
    recipes = {recipe.hash: recipe for recipe in [*base, *plan.rows.values(), *plan.grid] if recipe is not None}
    return list(recipes.values())


def _extremes(plan: Plan) -> list[Recipe]:
    """Return the base recipe, and the base recipe with the largest batch that Optuna may choose."""
    domain = next((domain for domain in plan.space.domains if domain.key == "optimisation.batch_size"), None)
    if domain is None:
        return [plan.base]
    largest = max(value for value in (*domain.choices, domain.high) if isinstance(value, int))
    return [plan.base, plan.base.override({domain.key: largest})]


def _check_keys(plan: Plan) -> None:
    """Raise `UserError` for a key of the command, such as one of `--set`, that no trial of the study has."""
    fixed = [recipe for recipe in (*plan.rows.values(), *plan.grid) if recipe is not None]
    domains = plan.space.domains if plan.explored else ()
    for key in split(plan.draft.overrides)[0]:
        if key == FIDELITY or any(key in recipe.flat() for recipe in fixed):
            continue
        if not (plan.explored and reachable(key, plan.base.flat(), domains)):
            option = f"--set {key}" if key in plan.draft.fixed else f"--{key.partition('.')[2]}"
            recipes = [recipe for recipe in fixed if recipe.trains] or fixed or [plan.base]
            [(why, _)] = Counter(recipe.why_not(key) for recipe in recipes).most_common(1)
            raise UserError(f"{option} changes nothing in this study: {why}")


def _check_goals(plan: Plan) -> None:
    """Raise `UserError` if no chosen task has the development scores of a goal, or the test scores that judge it."""
    scored = set(task_names(plan.evaluation.tasks))
    for goal in plan.space.searched_goals:
        needed = [part.needs for part in goal.parts] if goal.weights else [goal.needs]
        needed += [frozenset({task}) for task, _ in goal.judged_by]
        for tasks in needed:
            if tasks and not tasks & scored:
                own = (*plan.evaluation.tasks, sorted(tasks)[0])
                raise UserError(
                    f"the goal {goal.name} looks at {choices(sorted(tasks))}, and evaluation.tasks has no task that "
                    f"gives it ({', '.join(plan.evaluation.tasks)}); add it with --set evaluation.tasks={','.join(own)}"
                )


def _check_reach(rungs: RungPlan, base: Recipe, domains: Sequence[Domain]) -> None:
    """Raise `UserError` if even the longest training, as far as it is known yet, ends before the first rung."""
    longest = None if rungs.unit == "share" else _longest(base, domains)
    reach = None if longest is None else forecast_rungs(rungs, longest)
    if reach is not None and not reach[0]:
        raise UserError(
            f"--rungs {rungs}: no training comes to the first of them, for the longest has {count(reach[1], 'step')}; "
            "take smaller amounts, or leave it out"
        )


def _longest(base: Recipe, domains: Sequence[Domain]) -> Recipe | None:
    """Return the recipe of the longest training that a search may choose; None if a search may change the data, too."""
    chosen: dict[str, Value] = {}
    for domain in domains:
        if domain.key.startswith(DATA_KEYS):
            return None
        numbers = [value for value in (*domain.choices, domain.low, domain.high) if isinstance(value, int)]
        if domain.key == "optimisation.batch_size":
            chosen[domain.key] = min(numbers)
        elif domain.key in ("optimisation.epochs", "optimisation.max_steps"):  # none: no bound
            chosen[domain.key] = None if None in domain.choices else max(numbers)
    return base.override(chosen)
