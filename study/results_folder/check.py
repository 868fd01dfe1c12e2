"""What a results folder holds already: whether it is this study's, and what of it the study goes on with."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from reports.ledger import LEDGER, PLUGINS, STUDY, Ledger, StudyInfo
from reports.ledger.folders import LOCK, OWN_DATA
from reports.ledger.location import is_unfinished
from reports.ledger.names import to_write
from reports.ledger.own_code import check_trusted, read_code
from search_spaces.limits import of_trials
from study.plan import Plan
from study.search.schedulers import SCHEDULERS
from trainables.errors import UserError, choices, shown
from trainables.evaluation_config import EvaluationConfig
from trainables.plugins import run_source
from trainables.recipe import Recipe
from trainables.senteval import fingerprint, task_names
from trainables.training.rungs import parse_rungs
from trainables.trial.data_requests import senteval_folder

TOLD_BY = ("evaluation.tasks", "evaluation.protocol", "evaluation.senteval")
"""Keys on which the scores rest that a search is told."""


def check_results(plan: Plan) -> None:
    """`UserError` where the results folder holds something else than this study."""
    results = plan.results
    nearest = next(place for place in (results, *results.parents) if place.exists())
    if not nearest.is_dir():
        raise UserError(f"--results {results}: {nearest} is a file; name a folder")
    for path in results.iterdir() if results.is_dir() else ():
        to_write(results, path.name)  # a link that leads out is found before anything has run
    if (results / STUDY).is_file():
        before = StudyInfo.load(results)
        if before.space != plan.space.name or before.scale != plan.scale:
            raise UserError(
                f"{results} holds another study ({before.space} at the scale {before.scale}, not "
                f"{plan.space.name} at {plan.scale}); give this one its own folder with --results"
            )
        _load_earlier_plugins(plan, before)
        before.check_names(results)
        base = Recipe.from_flat(before.base)  # what it lacks has its default
        known, ours = base.flat(), plan.base.flat()
        counted, now = base.counted(before.places), plan.base.counted({})  # what was moved is known by its content
        differing = [key for key in {**ours, **known} if counted.get(key) != now.get(key)]
        if differing:
            key = differing[0]
            same = known.get(key) == ours.get(key)
            raise UserError(
                f"{results} holds a study whose {key} is {known.get(key)!r}"
                f"{', which holds something else now' if same else f', not {ours.get(key)!r}'}; "
                "run that study's own command to continue it, or give this one its own folder with --results"
            )
        paused = before.stopping.get("rungs")
        if paused and plan.rungs and paused != str(plan.rungs):
            raise UserError(
                f"{results} holds a study whose trainings pause at {paused}, not {plan.rungs}, so their scores cannot "
                f"be compared; continue it with --rungs {paused}, or give this one its own folder with --results"
            )
        if before.search == "optuna":
            _check_search(plan, before)
    elif results.is_dir() and any(
        not is_unfinished(path.name) and path.name not in (LOCK, OWN_DATA) for path in results.iterdir()
    ):
        raise UserError(f"{results} is not empty and holds no study; give an empty or a new folder with --results")


def continued(plan: Plan) -> Plan:
    """With the search of the study that the results hold, where the command says nothing of one: its explored recipes
    stay part of it. `--only` is of rows alone. A study that has a learning curve keeps it, and finals whose finalists
    are known keep their size."""
    if not (plan.results / STUDY).is_file():
        return plan
    before = StudyInfo.load(plan.results)
    if before.finals is not None and before.finals.curve is not None:
        plan = plan.asking(dataclasses.replace(plan.request, learning_curve=True))
    finals = before.finals
    known = finals is not None and bool(finals.finalists or finals.chosen)
    if finals is not None and known and plan.request.finals_by == "default":
        kept = dataclasses.replace(plan.request, finals=(finals.recipes, finals.seeds), finals_by="study")
        plan = plan.asking(kept)
    asked = plan.request
    if asked.search != "paper" or asked.only or before.search == "paper":
        return plan
    print(f"the study in {plan.place.shown} goes on with its search ({before.search})", flush=True)
    request = dataclasses.replace(
        asked,
        search=before.search,
        trials=before.trials or len(before.explored) or asked.trials,
        finals=(before.finals.recipes, before.finals.seeds) if before.finals else None,
        finals_by="study" if known else "default",
        seeds=max(asked.seeds, len(before.seeds)),
        most_seeds=max(asked.most_seeds, len(before.seeds), before.most_seeds or 0),
    )
    scheduler, rungs = (before.stopping.get(name) for name in ("scheduler", "rungs"))
    if scheduler and scheduler not in SCHEDULERS:
        raise UserError(
            f"{plan.place.shown} holds a search with the scheduler {shown(scheduler)}, which there is not; go on with "
            f"another one: --search {before.search} --scheduler {choices(SCHEDULERS)}, and --rungs {rungs}"
        )
    if scheduler and rungs:
        request = dataclasses.replace(request, scheduler=scheduler, rungs=parse_rungs(rungs))
    return plan.asking(request)


def set_aside(plan: Plan) -> list[str]:
    """A sentence for each record of the results that cannot be right. Its trial counts as not done, and where the study
    asks for it, it runs again, and the new record takes the wrong one's place."""
    wrong = Ledger(plan.results / LEDGER).sift()[1]
    return [
        f"{plan.results / LEDGER / name} is set aside, and its trial counts as not done: {why}"
        for name, why in wrong.items()
    ]


def _check_search(plan: Plan, before: StudyInfo) -> None:
    """`UserError` where Optuna has been told of other goals or other scores, or of other limits of trials."""
    kept_to = EvaluationConfig.from_flat(before.evaluation).flat()
    data = fingerprint(senteval_folder(plan.evaluation.senteval), task_names(plan.evaluation.tasks))
    for key in TOLD_BY:
        now = plan.evaluation.flat()[key]
        known_by_content = key == "evaluation.senteval" and before.evaluated_on
        if (data not in before.evaluated_on) if known_by_content else kept_to[key] != now:
            raise UserError(
                f"{plan.results} holds a search that goes by scores of {key} {kept_to[key]!r}, not {now!r}; run that "
                "study's own command to continue it, or give this one its own folder with --results"
            )
    goals = plan.draft.own_goals if before.goals is None else before.goals
    asked = [", ".join(names) or "the selection score" for names in (goals, plan.space.goals)]
    limits = [of_trials(those) for those in (before.limits, plan.limits)]
    kept = [" ".join(f"--limit {name}={value:g}" for name, value in those.items()) or "no limit" for those in limits]
    for what, (earlier, now) in (("for", asked), ("under", kept)):
        if earlier != now:
            raise UserError(
                f"{plan.results} holds a study that searches {what} {earlier}, not {what} {now}; run that study's own "
                "command to continue it, or give this one its own folder with --results"
            )


def _load_earlier_plugins(plan: Plan, before: StudyInfo) -> None:
    """The report needs them too; two plugins that cannot go together are refused before a trial runs."""
    given = {Path(plugin.path).name for plugin in plan.draft.plugins}
    names = [f"{PLUGINS}/{name}" for name in before.plugins if name not in given]
    texts = read_code(plan.results, names)
    check_trusted(plan.results, texts)
    for name, text in texts.items():
        run_source(text, str(plan.results / name), "plugin")
