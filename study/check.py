"""What cannot work is refused before anything starts: data, encoders and objectives that are not there or do not go
together, keys that nothing reads, and goals and rungs that no training comes to."""

from __future__ import annotations

from collections.abc import Sequence

from reports.ledger import STUDY, StudyInfo
from reports.markdown import count
from search_spaces.goals import searched
from search_spaces.space import Domain
from study.plan import Plan, recipes_of
from study.search.points import changes_nothing
from trainables.errors import UserError
from trainables.evaluation_config import split
from trainables.keys import Value
from trainables.recipe import Recipe
from trainables.senteval import task_names
from trainables.training.rungs import RungPlan
from trainables.trial import check_recipes
from trainables.trial.check import check_development, comes_to

DATA_KEYS = ("corpus.", "spans.", "objective.name", "objective.positives", "objective.negatives")
"""How keys begin that decide how many batches a corpus gives."""


def check_plan(plan: Plan) -> None:
    """Refuse, before anything starts, what cannot work: encoders, data and objectives that are not there."""
    recipes = recipes_of(plan)
    if not recipes:
        reasons = "; ".join(f"{label}: {reason}" for label, reason in plan.missing.items())
        raise UserError(f"nothing can run: {reasons or 'the space has no rows; explore it with --search optuna'}")
    _check_idle(plan)
    check_recipes(recipes, plan.evaluation)
    if plan.explored or plan.races:
        _check_goals(plan)
        _ = plan.sources
    judged = f"--scheduler {plan.request.scheduler} judges trials"
    for measure in plan.rungs.measures if plan.rungs else ():
        check_development(plan.evaluation, measure, judged, "leave --scheduler out")
    if plan.rungs:
        _check_reach(plan.rungs, plan.base, plan.space.domains)


def _check_idle(plan: Plan) -> None:
    """`UserError` for a key that was given, and that nothing in any trial reads. A study that was begun with it, by an
    older version, goes on."""
    begun = StudyInfo.load(plan.results).base if (plan.results / STUDY).is_file() else {}
    fixed = [recipe.flat() for recipe in (*plan.rows.values(), *plan.grid) if recipe is not None]
    for key, value in split(plan.draft.overrides)[0].items():
        why = changes_nothing(key, fixed, plan.base.flat(), plan.space.domains if plan.explored else None)
        if why and not (key in begun and begun[key] == value):
            option = f"--set {key}" if key in plan.draft.fixed else f"--{key.partition('.')[2]}"
            raise UserError(f"{option} changes nothing in this study: {why}; leave it out")


def _check_goals(plan: Plan) -> None:
    """`UserError` where no task asked for has a development score that Optuna would maximise."""
    asked = set(task_names(plan.evaluation.tasks))
    if any(goal.needs and not goal.needs & asked for goal in searched(plan.space.goals)):
        raise UserError(
            "Optuna, and a race over seeds, go by development scores, and evaluation.tasks has no task that gives "
            "them; add STSBenchmark or a transfer task, such as CR"
        )


def _check_reach(rungs: RungPlan, base: Recipe, domains: Sequence[Domain]) -> None:
    """`UserError` where even the longest training ends before the first rung, as far as that is known by now."""
    longest = None if rungs.unit == "share" else _longest(base, domains)
    found = None if longest is None else comes_to(rungs, longest)
    if found is not None and not found[0]:
        raise UserError(
            f"--rungs {rungs}: no training comes to the first of them, for the longest has {count(found[1], 'step')}; "
            "take smaller amounts, or leave it out"
        )


def _longest(base: Recipe, domains: Sequence[Domain]) -> Recipe | None:
    """The recipe of the longest training that a search may ask for; None where it may ask for other data, too."""
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
