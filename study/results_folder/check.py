"""Checks of a results folder: whether it belongs to this study, and how the study continues with its contents."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from reports.ledger import PLUGINS, Ledger, StudyInfo
from reports.ledger.folders import LOCK, OWN_DATA
from reports.ledger.location import is_unfinished
from reports.ledger.names import writable_path
from reports.ledger.option_values import FinalsSize
from reports.ledger.own_code import check_trusted, read_code
from reports.ledger.request import merge
from search_spaces.limits import of_trials
from study.plan import Plan
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.plugins import run_source
from trainables.recipe import Recipe
from trainables.senteval import fingerprint, task_names
from trainables.trial.data_requests import senteval_folder

TOLD_BY = ("evaluation.tasks", "evaluation.protocol", "evaluation.senteval")
"""Keys that affect the scores from which a search learns."""

WAY_OUT = "run that study's own command to continue it, or give this one its own folder with --results"
"""Advice for a folder with results of another study."""


def check_results(plan: Plan) -> None:
    """Raise `UserError` if the results folder contains anything other than this study."""
    results = plan.results
    nearest = next(folder for folder in (results, *results.parents) if folder.exists())
    if not nearest.is_dir():
        raise UserError(f"--results {results}: {nearest} is a file; name a folder")
    for path in results.iterdir() if results.is_dir() else ():
        writable_path(results, path.name)  # refuses a link that leads out, before anything has run
    if before := plan.earlier_study:
        if before.space != plan.space.name or before.scale != plan.scale:
            raise UserError(
                f"{results} holds another study ({before.space} at the scale {before.scale}, not "
                f"{plan.space.name} at {plan.scale}); give this one its own folder with --results"
            )
        _load_earlier_plugins(plan, before)
        before.check_names(results)
        base = Recipe.from_flat(before.base)  # missing keys have their defaults
        theirs, ours = base.flat(), plan.base.flat()
        counted, now = base.hashed_keys(before.places), plan.base.hashed_keys({})  # moved files are compared by content
        differing = [key for key in {**ours, **theirs} if counted.get(key) != now.get(key)]
        if differing:
            key = differing[0]
            same = theirs.get(key) == ours.get(key)
            raise UserError(
                f"{results} holds a study whose {key} is {theirs.get(key)!r}"
                f"{', which holds something else now' if same else f', not {ours.get(key)!r}'}; {WAY_OUT}"
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
    """Return the plan with the search options of the study that the results contain (`merge`). Finals keep their size
    if their finalists are known."""
    before, now = plan.earlier_study, plan.request
    if before is None:
        return plan
    request, finals = merge(before.searched_by, now), before.finals
    size = FinalsSize(finals.recipes, finals.seeds) if finals and (finals.finalists or finals.chosen) else None
    if size is not None and now.finals is None and request.finals_size is not None:
        request = dataclasses.replace(request, finals=size)
    goes_on = now.search is None and request.strategy == "optuna" and not now.of_own_data
    if goes_on and request.trials is None and before.trials:
        request = dataclasses.replace(request, trials=before.trials)
    if request.strategy != now.strategy:
        print(f"the study in {plan.location.shown} goes on with its search ({request.strategy})", flush=True)
    draft = dataclasses.replace(plan.draft, request=request)
    return dataclasses.replace(plan, draft=draft, keeps_finals_size=size is not None and size == request.finals)


def set_aside(ledger: Ledger) -> list[str]:
    """Return a message for each record of the results that cannot be right. Its trial counts as not done. If the study
    runs the trial again, the new record replaces the wrong one."""
    return [
        f"{ledger.folder / name} is set aside, and its trial counts as not done: {why}"
        for name, why in ledger.sift()[1].items()
    ]


def _check_search(plan: Plan, before: StudyInfo) -> None:
    """Raise `UserError` if Optuna's results are of other goals, other settings of scores, or other limits of trials."""
    kept_to = EvaluationConfig.from_flat(before.evaluation).flat()
    data = fingerprint(senteval_folder(plan.evaluation.senteval), task_names(plan.evaluation.tasks))
    for key in TOLD_BY:
        now = plan.evaluation.flat()[key]
        known_by_content = key == "evaluation.senteval" and before.evaluated_on
        if (data not in before.evaluated_on) if known_by_content else kept_to[key] != now:
            raise UserError(
                f"{plan.results} holds a search that goes by scores of {key} {kept_to[key]!r}, not {now!r}; {WAY_OUT}"
            )
    goals = plan.draft.subject.space.goals if before.goals is None else before.goals
    goals_in_words = [", ".join(names) or "the selection score" for names in (goals, plan.space.goals)]
    limits = [of_trials(chosen) for chosen in (before.limits, plan.limits)]
    limits_in_words = [
        " ".join(f"--limit {name}={value:g}" for name, value in chosen.items()) or "no limit" for chosen in limits
    ]
    for what, (earlier, now) in (("for", goals_in_words), ("under", limits_in_words)):
        if earlier != now:
            raise UserError(f"{plan.results} holds a study that searches {what} {earlier}, not {what} {now}; {WAY_OUT}")


def _load_earlier_plugins(plan: Plan, before: StudyInfo) -> None:
    """Run the plugins of earlier commands, which the report needs, too. Plugins that conflict are refused at once."""
    current = {Path(plugin.path).name for plugin in plan.draft.plugins}
    names = [f"{PLUGINS}/{name}" for name in before.plugins if name not in current]
    texts = read_code(plan.results, names)
    check_trusted(plan.results, texts)
    for name, text in texts.items():
        run_source(text, str(plan.results / name), "plugin")
