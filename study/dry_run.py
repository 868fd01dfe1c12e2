"""Preview of a study: its trials, its resources, and an estimate of its cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from reports.facts import recipe_names
from reports.ledger import fresh_seeds
from reports.ledger.finals import PART_SEED
from reports.words.markdown import count, duration
from search_spaces.goals import Goal
from search_spaces.limits import LIMITS, of_study
from study.cli.terminal import printable
from study.engine.cluster import Allotment, Cluster
from study.plan import Plan
from study.planned_power import gain_in_words
from study.search.budget import Budget, makespan
from study.trial import Resources, Trial
from trainables.recipe import SCENES, SCENES_ENCODER, Recipe

START_SECONDS = 15.0
"""Seconds from a study's start to the first step of its first trial, as measured; they count once per study."""
SCENES_SECONDS = 15.0
"""Seconds of a trial of the built-in encoder on the built-in corpus, on two cores."""


def preview(plan: Plan, cluster: Cluster, allotment: Allotment, *, brief: bool = False) -> str:
    """Return the text of `--dry-run`; if `brief`, the text that a run prints before it begins."""
    if brief and plan.explored and of_study(plan.limits):
        return _limited(plan, cluster, allotment)
    fixed = plan.fixed_trials()
    done = [trial for trial in fixed if plan.ledger.has(trial.recipe.hash, trial.seed)]
    total = len(fixed) + plan.explored * len(plan.seeds)
    perhaps = _more_by_racing(plan, fixed)
    ready = len(done) + _explored_done(plan)
    finals_lines, finals = _finals(plan)
    lines = [
        f"{plan.space.name}: {plan.space.title}",
        f"{count(total, 'trial')} ({_parts(plan, fixed)}), {ready} of them done; results in {plan.location.shown}",
        *_further_seeds(plan, perhaps),
        *finals_lines,
        *(gain_in_words(plan) if finals else []),
        f"{_in_words(allotment.resources)} on {cluster.describe()}; {allotment.concurrent} at once",
    ]
    lines += _not_run(plan)
    if plan.explored and plan.space.goals:
        lines.append(f"searched for {', '.join(map(_goal, plan.space.searched_goals))}")
    budget = Budget(plan.limits, plan.ledger.sift()[0] if plan.limits else (), allotment.concurrent)
    budget.expect([plan.base])
    usual = plan.base.hash if plan.explored else None  # the recipe whose trials give the guess
    lines += _limits(plan.limits, budget, usual)
    if brief:
        return "\n".join(lines)
    seconds, source = _estimate(plan, cluster)
    if seconds is None:
        lines.append(f"no estimate: {source}")
    elif plan.explored and of_study(plan.limits):  # the trials may cost less or more, and are not known yet
        room = count(int(_room(budget, usual, allotment.resources, seconds)), "training")
        begin = "; recipes begin on a part of the data" if plan.design.allows_parts else ""
        lines.append(f"estimate: {duration(seconds)} per whole training ({source}), room for about {room}{begin}")
    else:
        to_run = total - ready + finals
        coming = int(min(to_run, _room(budget, usual, allotment.resources, seconds)))
        left = makespan([seconds] * coming, allotment.concurrent) + (START_SECONDS if coming else 0.0)
        beyond = f" without {count(to_run - coming, 'trial')} beyond the limits" if to_run > coming else ""
        gpus = allotment.concurrent * allotment.resources.workers * allotment.resources.gpus
        cost = f", {left / 3600 * gpus:.1f} GPU-hours" if gpus else ""
        further = makespan([seconds] * perhaps, allotment.concurrent)
        longest = f", and up to {duration(further)} for further seeds" if perhaps else ""
        lines.append(
            f"estimate: {duration(seconds)} per trial ({source}), {duration(left)} in all{beyond}{cost}{longest}"
        )
    lines.append("")
    names = max((len(printable(trial.name)) for trial in fixed), default=0)
    base = plan.base.flat()
    for trial in fixed:
        state = "done" if trial in done else "to run"
        what = recipe_names.in_short(base, trial.recipe.flat())
        lines.append(
            f"  {printable(trial.name):<{names}}  seed {trial.seed}  {trial.recipe.hash}  {state}  {what}".rstrip()
        )
    if plan.explored:
        keys = ", ".join(domain.key for domain in plan.space.domains)
        lines.append(f"  then {count(plan.explored, 'recipe')} over {keys}")
    return "\n".join(lines)


def _limited(plan: Plan, cluster: Cluster, allotment: Allotment) -> str:
    """Return the brief preview of a search with a limit: its number of trials is unknown before some have run."""
    limits = " ".join(f"{name}={number:g}" for name, number in plan.limits.items())
    where = f"{count(allotment.concurrent, 'place')} on {cluster.describe()}, {_in_words(allotment.resources)}"
    line = f"{plan.space.title}; limit {limits}: {where}; results in {plan.location.shown}"
    return "\n".join([line, *_not_run(plan)])


def _not_run(plan: Plan) -> list[str]:
    """Return lines such as `not run, because …: SBERT baseline`, one for each reason."""
    rows: dict[str, list[str]] = {}
    for label, reason in plan.missing.items():
        rows.setdefault(reason, []).append(label)
    return [f"not run, because {reason}: {printable(', '.join(labels))}" for reason, labels in rows.items()]


def in_short(plan: Plan, cluster: Cluster) -> str:
    """Return the last lines of `--dry-run` for own data: budget, training cost, stages, and location of results."""
    spent = [f"{number:g} {LIMITS[name].meaning}" for name, number in plan.limits.items()]
    seconds, source = _estimate(plan, cluster)
    parts = ", on a part of the data first" if plan.design.allows_parts else ""
    search = (
        f"a search of {_by_optuna(plan)}{parts}" if plan.explored else f"{count(len(plan.fixed_trials()), 'trial')}"
    )
    finals = "" if plan.finals is None else f", then finals: {printable(plan.finals.in_words())}"
    lines = {
        "budget": ", ".join(spent) or "no limit; --limit minutes=60 sets one",
        "training": f"one takes {duration(seconds)} ({source})"
        if seconds is not None
        else "how long one takes is not known before the first has ended; the console says it then",
        "stages": f"{search}{finals}",
        "results": f"{plan.location.shown}: report.md begins with the answer; models/ and data/ lie beside it. Nothing "
        "is written before the study runs",
    }
    width = max(map(len, lines))
    return "\n".join(["in short:", *(f"  {head:<{width}}  {words}" for head, words in lines.items())])


def _parts(plan: Plan, fixed: Sequence[Trial]) -> str:
    """Return the planned trials in words, such as `18 rows, 2 recipes from Optuna, 1 seed`; `36 of 18 rows` if several
    seeds make 36 trials of 18 rows."""
    rows = [trial.recipe.hash for trial in fixed if trial.row]
    grid = [trial.recipe.hash for trial in fixed if not trial.row]
    parts = [
        (len(rows), count(len(set(rows)), "row"), len(set(rows))),
        (len(grid), count(len(set(grid)), "recipe") + " of the grid", len(set(grid))),
        (plan.explored * len(plan.seeds), _by_optuna(plan), plan.explored),
    ]
    words = [what if trials == recipes else f"{trials:,} of {what}" for trials, what, recipes in parts if trials]
    return ", ".join([*words, count(len(plan.seeds), "seed")])


def _by_optuna(plan: Plan) -> str:
    """Return `3 recipes from Optuna`; with ` at most` if some of these recipes, or of their seeds, may not run."""
    most = plan.first_decides or bool(of_study(plan.limits))
    return f"{count(plan.explored, 'recipe')} from Optuna{' at most' if most else ''}"


def _more_by_racing(plan: Plan, fixed: Sequence[Trial]) -> int:
    """Return how many trials the race may add at most by further seeds; trials that are done already count, too."""
    recipes = len({trial.recipe.hash for trial in fixed if trial.recipe.uses_seed}) + plan.explored
    return recipes * (plan.most_seeds - len(plan.seeds))


def _further_seeds(plan: Plan, perhaps: int) -> list[str]:
    """Return the line `up to 162 more trials: …` on a race; empty if `perhaps`, the number of these trials, is 0."""
    if not perhaps:
        return []
    return [
        f"up to {count(perhaps, 'more trial')}: further seeds, {plan.most_seeds} of a recipe at most, only where they "
        "can change which recipe is best, or whether a row is above the baseline"
    ]


def _finals(plan: Plan) -> tuple[list[str], int]:
    """Return the line `then the finals, up to 40 trials: 3 recipes x 5 fresh seeds, beside …`, and how many of these
    trials are not done yet."""
    if plan.finals is None:
        return [], 0
    before = plan.earlier_study
    chosen = before.finals.finalists if before is not None and before.finals is not None else []
    grid = {recipe.hash for recipe in plan.grid}
    stays = before is not None and plan.explored <= (before.trials or 0) and grid <= {*before.explored}
    finalists = [(key, seed) for key in chosen for seed in fresh_seeds(plan.finals.seeds)] if stays else []
    references = [(entrant.recipe.hash, seed) for entrant in plan.finals.references for seed in entrant.seeds]
    trials = (
        plan.finals.most_curve_trials + len(references) + (len(finalists) or plan.finals.recipes * plan.finals.seeds)
    )
    done = sum(plan.ledger.has(key, seed) for key, seed in (*references, *finalists))
    ready = f", {done} of them done" if done else ""
    after = f"; a learning curve of {plan.finals.most_curve_trials}" if plan.finals.curve else ""
    what = f"{printable(plan.finals.in_words())}{after}"
    return [f"then the finals, up to {count(trials, 'trial')}{ready}: {what}"], trials - done


def _explored_done(plan: Plan) -> int:
    """Return the number of done trials of recipes that Optuna asked for earlier."""
    before = plan.earlier_study
    if not plan.explored or before is None:
        return 0
    rows = {recipe.hash for recipe in plan.rows.values() if recipe is not None}
    explored = [key for key in before.explored if key not in rows][: plan.explored]
    return sum(plan.ledger.has(key, seed) for key in explored for seed in plan.seeds)


def _goal(goal: Goal) -> str:
    """Return a goal in words, `queries (dev_ndcg@10 of queries; higher is better)`."""
    direction = f"{'lower' if goal.lower_is_better else 'higher'} is better"
    return f"{goal.label[:-1]}; {direction})" if goal.label.endswith(")") else f"{goal.label} ({direction})"


def _limits(limits: Mapping[str, float], budget: Budget, usual: str | None) -> list[str]:
    """Return a line for each limit: its meaning, and, if it is on the whole study, the spent amount."""
    lines = []
    for name, number in limits.items():
        limit = LIMITS[name]
        line = f"limit {name}={number:g} ({limit.meaning})"
        if limit.whole:
            line += f": {round(budget.spent(name), 2):.3g} {limit.unit} spent"
            a_trial = budget.guess(name, usual)
            line += f", room for about {count(int(budget.left(name) / a_trial), 'trial')}" if a_trial else ""
        lines.append(line)
    return lines


def _room(budget: Budget, usual: str | None, on: Resources, seconds: float) -> float:
    """Return how many trials the limits have room for. `seconds`: guess for one, used until a trial has ended."""
    cost = {"seconds": seconds, "workers": on.workers, "gpu_seconds": seconds * on.workers * on.gpus}
    a_trial = {name: budget.guess(name, usual) or LIMITS[name].of(cost) for name in budget.limits}
    rooms = [max(0.0, budget.left(name)) / amount for name, amount in a_trial.items() if amount]
    return min(rooms, default=math.inf) + 1e-9  # rounding must not cost a trial


def _in_words(resources: Resources) -> str:
    gpus = f" and {resources.gpus:g} GPU" if resources.gpus else ""
    return f"{count(resources.workers, 'worker')} per trial, {resources.cpus} CPU{gpus} each"


def _estimate(plan: Plan, cluster: Cluster) -> tuple[float | None, str]:
    """Return the seconds of a trial that trains on all of the data (None: unknown), and the source of that number:
    trials of this study if some are done, else an earlier measurement."""
    done = [record for record in plan.ledger.sift()[0] if record.cost.get("seconds") and record.seed != PART_SEED]
    trained = [record for record in done if Recipe.from_flat(record.recipe).trains]
    if measured := trained or done:
        return fmean(record.cost["seconds"] for record in measured), f"mean of {count(len(measured), 'finished trial')}"
    base = plan.base
    built_in = base.encoder.name == SCENES_ENCODER and base.encoder.adapter != "lora"
    if plan.evaluation.senteval == SCENES and built_in:
        return SCENES_SECONDS, "as measured for the built-in encoder and corpus on two cores"
    if plan.space.trial_seconds is not None and plan.scale == "paper" and cluster.gpus:
        return plan.space.trial_seconds, plan.space.trial_seconds_source
    return None, "nothing is known of such trials here; there is one once a trial has finished"
