"""Run a study from its plan to its results, with Ray Tune over Ray Train. The ledger alone decides which trials are
done."""

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
from study.cli.terminal import say, say_if_killed
from study.engine.cluster import Allotment, Cluster, hardware, scores_apart, start_cluster, wait_for_room
from study.engine.messages import WorkerTask
from study.engine.models_kept import ModelsKept
from study.plan import Plan
from study.results_folder.lock import locked
from study.results_folder.prepare import prepare_results, save_info, with_search
from study.search.budget import Budget
from study.search.outlook import outlook
from study.search.schedulers import SCHEDULERS, Scheduler, Setting
from study.signals import defer_signals, ignore_sigterm
from study.trial import Trial
from trainables.errors import UserError

if TYPE_CHECKING:
    from study.search.tune_searcher import TuneSearcher

PERFORM = "study.engine.worker:perform"
"""The function that a worker runs for a task: train and evaluate."""
NOTICED_SECONDS = 10.0
"""If the wait for a cluster takes longer, a message says that the study's clock began after the wait."""

KILLED = (
    "error: the study was killed, or the head of its Ray was, without which it cannot go on; finished trials are kept: "
    "run the same command again"
)


def run_study(plan: Plan, cluster: Cluster, allotment: Allotment, perform: str = PERFORM) -> int:
    """Run the trials that the ledger does not have yet, in a folder that `check_results` has passed. Return the number
    of failed trials.

    `perform`: `"module:function"`, which workers call for each task. A benchmark passes a function that trains nothing.
    """
    with locked(plan.location):
        return _run_alone(plan, cluster, allotment, perform)


def _run_alone(plan: Plan, cluster: Cluster, allotment: Allotment, perform: str) -> int:
    info = prepare_results(plan, hardware(cluster))
    from study.search.tune_searcher import TuneSearcher

    def save_search(explored: list[str], finals: Finals | None) -> None:
        """Write the explored recipes and the finalists to the results at once: a report then has them even if the study
        is killed."""
        with_search(info, explored, finals).save(plan.results)

    searcher = TuneSearcher(plan, plan.ledger, save_search, allotment.concurrent)
    try:
        if not searcher.has_next():
            _drop_models(searcher)
            return 0
        start_cluster(cluster)
        with say_if_killed(KILLED):
            if cluster.joined:
                cluster = wait_for_room(cluster, allotment)
                info = dataclasses.replace(info, hardware=hardware(cluster))
                _begin_clock(searcher.budget)
            failed = _run_trials(plan, cluster, allotment, searcher, perform)
        _drop_models(searcher)
        return failed
    finally:  # also if the user stops the study: finished trials are reported
        if limited := searcher.limited:
            info = dataclasses.replace(info, limited=limited)
            say(ended_in_words(limited, raced=plan.races or plan.first_decides))
        try:
            with defer_signals():
                save_info(plan, info, searcher.explored, searcher.finals)
        except OSError as error:  # the cause of the study's end, such as a full disk, may persist
            raise as_user_error(error, plan.location.shown) from None
        plan.location.push_changed()


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
    transport = transport_for(plan.location.url, coordinator)
    agenda, left = searcher.agenda, searcher.budget.seconds_left
    ahead = functools.partial(outlook, agenda)
    state = StudyState(plan, plan.ledger, allotment.concurrent, lambda: agenda.remaining, agenda.waiting, ahead, left)
    to_halt = functools.partial(agenda.seconds_to_halt, state.trained)
    callbacks = Dispatch(state)
    models = _models(searcher)
    scheduler = _scheduler(plan)
    settle, step = searcher.settle, agenda.step
    writer = ResultWriter(plan.location, coordinator, transport, scheduler, callbacks, settle, models, to_halt, step)
    machine, apart = hardware(cluster), scores_apart(cluster, allotment)

    def begin(members: Sequence[Trial], together: bool) -> dict[str, Any] | None:
        """Return Ray Tune's config of trials that run together; None if the study must end."""
        trials = [to_run(trial, plan, allotment, models, together, machine) for trial in members]
        done = frozenset(trial.key for trial in trials if plan.ledger.has(trial.recipe_hash, trial.seed))
        task = WorkerTask(
            files_key(trials),
            tuple(trials),
            sources=plan.draft.sources,
            done=done,
            url=plan.location.url,
            hand_over=apart,
        )
        return config_of(task, name, perform) if writer.begin(task) else None

    searcher.begin, searcher.drain = begin, writer.drain
    end_live = show_live(plan.results)
    try:
        run_tune(searcher, writer, allotment.concurrent)
        writer.finish()
    except KeyboardInterrupt:
        ignore_sigterm()
        print("\nstopping: unfinished trials write a checkpoint ...", flush=True)
        writer.halt()
        raise
    finally:
        callbacks.close()
        end_live()
    if isinstance(writer.problem, OSError):
        raise as_user_error(writer.problem, plan.location.shown) from writer.problem
    if isinstance(writer.problem, ray.exceptions.RayError):
        raise UserError(
            "the study lost its coordinator, a small process beside it that Ray ran; finished trials are kept: run the "
            "same command again"
        ) from writer.problem
    if writer.problem is not None:
        raise writer.problem
    return writer.failed


def _begin_clock(budget: Budget) -> None:
    """Start the study's clock, so that the wait for the cluster does not count. Print a message after a long wait."""
    waited = budget.begin()
    for name, number in budget.limits.items():
        if LIMITS[name].clock and waited >= NOTICED_SECONDS:
            say(f"the cluster has room after {duration(waited)}; the limit {name}={number:g} counts from now on")


def _scheduler(plan: Plan) -> Scheduler:
    """Return the scheduler, with the rung scores of earlier runs of the study."""
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
    """Return the trial with its evaluation, resources and rungs, and with whether its model is kept. A population
    (`together`), and a model that is only evaluated, get one worker: more would not be faster."""
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
    """Return whether the trial's model may be of use. It is not for a learning curve, or for a soup that leaves out a
    seed."""
    return not trial.part and not (trial.averaged and SoupVariant.of(trial.seed).without is not None)


def _models(searcher: TuneSearcher) -> ModelsKept:
    plan = searcher.plan
    averages = plan.finals is not None and plan.finals.soup
    return ModelsKept(plan.request.keep_models, searcher.goals, plan.ledger.sift()[0], averages)


def _drop_models(searcher: TuneSearcher) -> None:
    """Remove models kept for soups, once all soups are scored. `UserError` if the results cannot be written."""
    plan = searcher.plan
    if not searcher.agenda.soups_settled:
        return
    try:
        for key in _models(searcher).after_soups(searcher.shipped()):
            if record := plan.ledger.get(*split_key(key)):  # the record first: no record may name a missing model
                plan.ledger.write(dataclasses.replace(record, checkpoint=None))
                plan.location.push(f"{LEDGER}/{key}.json")
            plan.location.remove(f"{MODELS}/{key}")
    except OSError as error:
        raise as_user_error(error, plan.location.shown) from error
