"""A study from its plan to its report: Ray Tune over Ray Train, with the ledger as the truth."""

from __future__ import annotations

import dataclasses
import functools
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reports.ledger import LEDGER, MODELS, Finals, split_key
from reports.ledger.finals import SoupVariant
from reports.ledger.location import as_user_error
from reports.words.markdown import duration
from search_spaces.limits import LIMITS, ended_in_words
from study.callbacks.dispatch import Dispatch
from study.callbacks.live_page import show_live
from study.callbacks.state import StudyState
from study.cli.terminal import last_words, say
from study.engine.cluster import Allotment, Cluster, hardware, scores_apart, start_cluster, wait_for_room
from study.engine.messages import WorkerTask
from study.engine.models_kept import ModelsKept
from study.plan import Plan
from study.results_folder.lock import locked
from study.results_folder.prepare import prepare_results, save_info, with_search
from study.search.budget import Budget
from study.search.outlook import outlook
from study.search.schedulers import SCHEDULERS, Scheduler, Setting
from study.signals import deferred, stops_already
from study.trial import Trial
from trainables.errors import UserError

if TYPE_CHECKING:
    from study.search.tune_searcher import TuneSearcher

PERFORM = "study.engine.worker:perform"
"""What a worker does with a task: train and evaluate."""
NOTICED_SECONDS = 10.0
"""A wait for a cluster from which on it is told that the study's clock began after it."""

KILLED = (
    "error: the study was killed, or the head of its Ray was, without which it cannot go on; finished trials are kept: "
    "run the same command again"
)


def run_study(plan: Plan, cluster: Cluster, allotment: Allotment, perform: str = PERFORM) -> int:
    """Run what the ledger does not hold yet, in a folder that `check_results` has passed. Returns the number of failed
    trials.

    `perform`: `"module:function"`, what workers do with a task; a benchmark gives one without the work.
    """
    with locked(plan.place):
        return _run_alone(plan, cluster, allotment, perform)


def _run_alone(plan: Plan, cluster: Cluster, allotment: Allotment, perform: str) -> int:
    info = prepare_results(plan, hardware(cluster))
    from study.search.tune_searcher import TuneSearcher

    def save_search(explored: list[str], finals: Finals | None) -> None:
        """A report has what Optuna asks for from then on, and who is in the finals, also if the study never comes to
        its end."""
        with_search(info, explored, finals).save(plan.results)

    searcher = TuneSearcher(plan, plan.ledger, save_search, allotment.concurrent)
    try:
        if not searcher.has_next():
            _drop_models(searcher)
            return 0
        start_cluster(cluster)
        with last_words(KILLED):
            if cluster.joined:
                cluster = wait_for_room(cluster, allotment)
                info = dataclasses.replace(info, hardware=hardware(cluster))
                _begin_clock(searcher.budget)
            failed = _run_trials(plan, cluster, allotment, searcher, perform)
        _drop_models(searcher)
        return failed
    finally:  # also where a person stops it: what is done is reported
        if limited := searcher.limited:
            info = dataclasses.replace(info, limited=limited)
            say(ended_in_words(limited, raced=plan.races or plan.first_decides))
        try:
            with deferred():
                save_info(plan, info, searcher.explored, searcher.finals)
        except OSError as error:  # what ended the study, such as a full disk, may hold on
            raise as_user_error(error, plan.place.shown) from None
        plan.place.push_changed()


def _run_trials(plan: Plan, cluster: Cluster, allotment: Allotment, searcher: TuneSearcher, perform: str) -> int:
    import ray

    from study.engine.coordinator import open_coordinator
    from study.engine.result_writer import ResultWriter
    from study.engine.trainable import config_of
    from study.engine.transport import transport_for
    from study.engine.tune_loop import run_tune
    from study.search.populations import files_key

    name = f"coordinator-{uuid.uuid4().hex[:12]}"
    coordinator = open_coordinator(name, plan.results)
    coordinator.watch_machines.remote()
    transport = transport_for(plan.place.url, coordinator)
    agenda, left = searcher.agenda, searcher.budget.seconds_left
    ahead = functools.partial(outlook, agenda)
    state = StudyState(plan, plan.ledger, allotment.concurrent, lambda: agenda.remaining, agenda.waiting, ahead, left)
    to_halt = functools.partial(agenda.seconds_to_halt, state.trained)
    callbacks = Dispatch(state)
    models = _models(searcher)
    scheduler = _scheduler(plan)
    settle = searcher.settle
    writer = ResultWriter(plan.place, coordinator, transport, scheduler, callbacks, settle, models, to_halt)
    machine, apart = hardware(cluster), scores_apart(cluster, allotment)

    def begin(members: Sequence[Trial], together: bool) -> dict[str, Any] | None:
        """Ray Tune's config of trials that run together; None where the study must end."""
        trials = [to_run(trial, plan, allotment, models, together, machine) for trial in members]
        done = frozenset(trial.key for trial in trials if plan.ledger.has(trial.recipe_hash, trial.seed))
        task = WorkerTask(
            files_key(trials),
            tuple(trials),
            sources=plan.draft.sources,
            done=done,
            url=plan.place.url,
            hand_over=apart,
        )
        return config_of(task, name, perform) if writer.begin(task) else None

    searcher.begin, searcher.drain = begin, writer.drain
    end_live = show_live(plan.results)
    try:
        run_tune(searcher, writer, allotment.concurrent)
        writer.finish()
    except KeyboardInterrupt:
        stops_already()
        print("\nstopping: unfinished trials write a checkpoint ...", flush=True)
        writer.halt()
        raise
    finally:
        callbacks.close()
        end_live()
    if isinstance(writer.problem, OSError):
        raise as_user_error(writer.problem, plan.place.shown) from writer.problem
    if isinstance(writer.problem, ray.exceptions.RayError):
        raise UserError(
            "the study lost its coordinator, a small process beside it that Ray ran; finished trials are kept: run the "
            "same command again"
        ) from writer.problem
    if writer.problem is not None:
        raise writer.problem
    return writer.failed


def _begin_clock(budget: Budget) -> None:
    """To wait for a cluster's room is no time of the study; a wait that a person notices is told."""
    waited = budget.begin()
    for name, number in budget.limits.items():
        if LIMITS[name].clock and waited >= NOTICED_SECONDS:
            say(f"the cluster has room after {duration(waited)}; the limit {name}={number:g} counts from now on")


def _scheduler(plan: Plan) -> Scheduler:
    """The scheduler, which has seen what earlier runs of the study measured at rungs."""
    if plan.rungs is None:
        return SCHEDULERS["none"].build(Setting(()))
    names = [measure.name for measure in plan.rungs.measures]
    scheduler = plan.scheduler.build(Setting(plan.rungs.ladder, len(names)))
    for record in sorted(plan.ledger.read(), key=lambda record: record.finished_at):
        for rung in record.training.get("rungs", ()):
            if set(names) <= set(rung["scores"]):
                scheduler.goes_on(record.key, rung["rung"], [rung["scores"][name] for name in names])
    return scheduler


def to_run(trial: Trial, plan: Plan, allotment: Allotment, models: ModelsKept, together: bool, machine: str) -> Trial:
    """The trial with how it is scored, whether its model is kept, and what it runs on. A population (`together`), and a
    model that is only evaluated, would gain nothing by several workers."""
    resources = dataclasses.replace(allotment.resources, hardware=machine)
    if together or not trial.trains:
        resources = dataclasses.replace(resources, workers=1, most_workers=1)
    return dataclasses.replace(
        trial,
        evaluation=plan.evaluation_of(trial.recipe_hash, trial.seed),
        saves_model=_saves(trial) and models.saves(plan.is_explored(trial.recipe_hash, trial.seed)),
        resources=resources,
        rungs=plan.rungs if plan.may_stop(trial) else None,
    )


def _saves(trial: Trial) -> bool:
    """Whether anybody may want its model: nobody that of a learning curve, or of a soup that lacks a seed."""
    return not trial.part and not (trial.averaged and SoupVariant.of(trial.seed).without is not None)


def _models(searcher: TuneSearcher) -> ModelsKept:
    plan = searcher.plan
    averages = plan.finals is not None and plan.finals.soup
    return ModelsKept(plan.request.keep_models, searcher.goals, plan.ledger.sift()[0], averages)


def _drop_models(searcher: TuneSearcher) -> None:
    """Remove what was kept for soups, once these are all scored. `UserError` where the results cannot be written."""
    plan = searcher.plan
    if not searcher.agenda.soups_settled:
        return
    try:
        for key in _models(searcher).after_soups(searcher.shipped()):
            if record := plan.ledger.get(*split_key(key)):  # a record first, so that none names a model that is gone
                plan.ledger.write(dataclasses.replace(record, checkpoint=None))
                plan.place.push(f"{LEDGER}/{key}.json")
            plan.place.remove(f"{MODELS}/{key}")
    except OSError as error:
        raise as_user_error(error, plan.place.shown) from error
