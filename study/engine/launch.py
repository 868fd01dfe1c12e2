"""A study from its plan to its report: Ray Tune over Ray Train, with the ledger as the truth."""

from __future__ import annotations

import dataclasses
import logging
import shutil
import signal
import tempfile
import threading
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reports.ledger import LEDGER, Ledger
from reports.ledger.location import as_user_error
from search_spaces.limits import ended_in_words
from study.callbacks.dispatch import Dispatch
from study.callbacks.state import StudyState
from study.cli.terminal import say
from study.engine.cluster import Allotment, Cluster, hardware, scores_apart, start_cluster, wait_for_room
from study.plan import Plan, PlannedTrial
from study.results_folder.lock import locked
from study.results_folder.prepare import prepare_results, save_info, with_explored
from study.search.schedulers import SCHEDULERS, Scheduler, Setting
from study.trial import TrialSpec, to_config
from trainables.errors import UserError

if TYPE_CHECKING:
    from study.search.tune_searcher import TuneSearcher

PERFORM = "study.engine.worker:perform"
"""What a crew does with a task: train and evaluate."""

TERMINATED = threading.Event()
"""Set by SIGTERM, which every cluster manager sends before it kills."""


def stop_on_sigterm() -> None:
    """Have SIGTERM stop the study as ctrl-C does. Ray sets a handler of its own whenever it starts, so this is repeated
    after it."""

    def stop(number: int, frame: object) -> None:
        TERMINATED.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)


def run_study(plan: Plan, cluster: Cluster, allotment: Allotment, perform: str = PERFORM) -> int:
    """Run what the ledger does not hold yet. Returns the number of failed trials.

    `check_results` has already found the results folder to be this study's, or free. `perform` is `"module:function"`:
    what crews do with a task, so that a benchmark can measure the engine without the work.
    """
    with locked(plan):
        return _run_alone(plan, cluster, allotment, perform)


def _run_alone(plan: Plan, cluster: Cluster, allotment: Allotment, perform: str) -> int:
    info = prepare_results(plan, hardware(cluster))
    ledger = Ledger(plan.results / LEDGER)
    from study.search.tune_searcher import TuneSearcher

    def asked(hashes: list[str]) -> None:
        """A report has what Optuna asks for from then on, also if the study never comes to its end."""
        with_explored(info, hashes).save(plan.results)

    searcher = TuneSearcher(plan, ledger, asked)
    try:
        if not searcher.remaining or searcher.limited:
            return 0
        start_cluster(cluster)
        stop_on_sigterm()
        if cluster.joined:
            cluster = wait_for_room(cluster, allotment)
            info = dataclasses.replace(info, hardware=hardware(cluster))
        return _tune(plan, cluster, allotment, searcher, ledger, perform)
    finally:  # also where a person stops it: what is done is reported
        if searcher.limited:
            info = dataclasses.replace(info, limited=searcher.budget.ended(searcher.remaining))
            say(ended_in_words(info.limited, raced=plan.races or plan.first_decides))
        try:
            save_info(plan, info, searcher.explored, ledger)
        except OSError as error:  # what ended the study, such as a full disk, may hold on
            raise as_user_error(error, plan.place.shown) from None
        plan.place.push_changed()


def _tune(
    plan: Plan, cluster: Cluster, allotment: Allotment, searcher: TuneSearcher, ledger: Ledger, perform: str
) -> int:
    import ray
    from ray import tune

    from study.callbacks.live_page import show_live
    from study.engine.coordinator import open_desk
    from study.engine.result_writer import Keeper, StopFor
    from study.engine.trainable import Driver, resources
    from study.engine.transport import courier_for
    from study.engine.tune_actors import survive_full_memory
    from study.search.judge import Judge
    from study.search.tune_searcher import files_key

    name = f"desk-{uuid.uuid4().hex[:12]}"
    desk = open_desk(name, plan.results)
    desk.watch_machines.remote()
    courier = courier_for(plan.place.url, desk)
    state = StudyState(plan, ledger, allotment.concurrent, lambda: searcher.remaining, searcher.waiting, searcher.room)
    callbacks = Dispatch(state)
    keeper = Keeper(plan.place, desk, courier, callbacks, searcher.settle)

    machine = hardware(cluster)
    more = {"desk": name, "url": plan.place.url, "perform": perform, "hand_over": scores_apart(cluster, allotment)}

    def task_of(members: Sequence[PlannedTrial], together: bool) -> dict[str, Any] | None:
        """What Tune, the desk and a crew are told of trials that run together; None where the study must end."""
        done = [planned.key for planned in members if ledger.has(planned.recipe.hash, planned.seed)]
        specs = [spec_of(planned, plan, allotment, together, machine) for planned in members]
        config = to_config(files_key(members), specs, done) | more
        return config if keeper.begin(config) else None

    searcher.task_of, searcher.places, searcher.drain = task_of, allotment.concurrent, keeper.drain
    scratch = tempfile.mkdtemp(prefix="tune-")
    tuner = tune.Tuner(
        tune.with_resources(Driver, resources),
        tune_config=tune.TuneConfig(
            search_alg=searcher,
            scheduler=Judge(_scheduler(plan, ledger), desk.judge.remote) if plan.rungs else None,
            num_samples=-1,  # the searcher says when there is nothing left
            max_concurrent_trials=allotment.concurrent,
            reuse_actors=True,
            trial_name_creator=lambda trial: trial.config["key"],
            trial_dirname_creator=lambda trial: f"{trial.config['key']}-{trial.trial_id[-4:]}",
        ),
        run_config=tune.RunConfig(
            storage_path=scratch,  # nobody needs Tune's own files: the ledger is the truth
            callbacks=[keeper],
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),  # workers bring theirs themselves
            failure_config=tune.FailureConfig(max_failures=-1),  # the desk counts the attempts of each trial
            stop=StopFor(keeper),
            verbose=0,
        ),
    )
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)  # trials that die are begun again, and the console says so
    end_live = show_live(plan.results)
    survive_full_memory()
    try:
        tuner.fit()
        keeper.finish()
    except KeyboardInterrupt:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it stops already
        print("\nstopping: unfinished trials write a checkpoint ...", flush=True)
        keeper.halt()
        raise
    finally:
        callbacks.close()
        end_live()
        shutil.rmtree(scratch, ignore_errors=True)
    if isinstance(keeper.problem, OSError):
        raise as_user_error(keeper.problem, plan.place.shown) from keeper.problem
    if isinstance(keeper.problem, ray.exceptions.RayError):
        raise UserError(
            "the study lost its desk, a small process beside it that Ray ran; finished trials are kept: run the same "
            "command again"
        ) from keeper.problem
    if keeper.problem is not None:
        raise keeper.problem
    return keeper.failed


def _scheduler(plan: Plan, ledger: Ledger) -> Scheduler:
    """The scheduler, which has seen what earlier runs of the study measured at rungs."""
    assert plan.rungs is not None
    names = [measure.name for measure in plan.rungs.measures]
    scheduler = SCHEDULERS[plan.request.scheduler].build(Setting(plan.rungs.ladder, len(names)))
    for record in sorted(ledger.read(), key=lambda record: record.finished_at):
        for rung in record.training.get("rungs", ()):
            if set(names) <= set(rung["scores"]):
                scheduler.goes_on(record.key, rung["rung"], [rung["scores"][name] for name in names])
    return scheduler


def spec_of(planned: PlannedTrial, plan: Plan, allotment: Allotment, together: bool, machine: str) -> TrialSpec:
    """What a crew is told of a trial. A population (`together`), and a model that is only evaluated, would gain nothing
    by several workers."""
    several = planned.recipe.trains and not together
    return TrialSpec(
        recipe=planned.recipe.flat(),
        recipe_hash=planned.recipe.hash,
        seed=planned.seed,
        name=planned.name,
        per_worker=allotment.per_worker,
        workers=allotment.workers if several else 1,
        most_workers=allotment.most_workers if several else 1,
        rungs=plan.rungs if plan.may_stop(planned) else None,
        hardware=machine,
        sources=plan.draft.sources,
    )
