"""A study from its plan to its report: Ray Tune over Ray Train, with the ledger as the truth."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import fcntl
import logging
import os
import shlex
import shutil
import signal
import socket
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reports.ledger import FAILURES, LEDGER, PLUGINS, STUDY, Ledger, StudyInfo
from reports.ledger.folders import LOCK
from reports.ledger.location import as_user_error, is_unfinished
from reports.ledger.names import to_write
from search_spaces.limits import ended_in_words, of_trials
from study.callbacks.base import Outlook
from study.callbacks.dispatch import Audience
from study.cli.terminal import say
from study.engine.cluster import Allotment, Cluster, hardware, scores_apart, start_cluster, wait_for_room
from study.plan import Plan, PlannedTrial
from study.results_folder.redact import redacted
from study.results_folder.versions import versions
from study.search.schedulers import SCHEDULERS, Scheduler, Setting
from study.trial import TrialSpec, to_config
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.files import write_whole
from trainables.plugins import load_plugin
from trainables.recipe import Recipe
from trainables.training.rungs import parse_rungs

if TYPE_CHECKING:
    from study.search.tune_searcher import StudySearcher

PERFORM = "study.engine.worker:perform"
"""What a crew does with a task: train and evaluate."""


TOLD_BY = ("evaluation.senteval", "evaluation.tasks", "evaluation.protocol")
"""Keys on which the scores rest that a search is told."""

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
    with alone(plan):
        return _run_alone(plan, cluster, allotment, perform)


def _run_alone(plan: Plan, cluster: Cluster, allotment: Allotment, perform: str) -> int:
    info = prepare_results(plan, hardware(cluster))
    ledger = Ledger(plan.results / LEDGER, plan.asked)
    from study.search.tune_searcher import StudySearcher

    def asked(hashes: list[str]) -> None:
        """A report has what Optuna asks for from then on, also if the study never comes to its end."""
        _with_explored(info, hashes).save(plan.results)

    searcher = StudySearcher(plan, ledger, asked)
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


@contextlib.contextmanager
def alone(plan: Plan) -> Iterator[None]:
    """Keep other studies out of the results folder: two at once would run the same trials, and write the same files.

    The lock is the operating system's, so one that was killed leaves the folder free. It does not reach a URL.
    `UserError` where another study has it.
    """
    if plan.place.url is not None:  # what is locked here is this process's own working copy
        yield
        return
    try:
        plan.results.mkdir(parents=True, exist_ok=True)
        handle = os.open(to_write(plan.results, LOCK), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise as_user_error(error, plan.place.shown) from None
    try:
        _lock(handle, plan.results)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, results: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        who = os.pread(handle, 200, 0).decode(errors="replace") or "it does not say which"
        raise UserError(
            f"another study writes into {results} now ({who}); wait until it has ended, or give this one its own "
            "folder with --results"
        ) from None
    except OSError as error:  # some shared file systems lock nothing
        print(f"warning: {results} cannot be locked ({error.strerror}): start no second study there", flush=True)
    try:  # for the sentence above
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}".encode(), 0)
    except OSError as error:
        raise as_user_error(error, results) from None


def prepare_results(plan: Plan, machine: str) -> StudyInfo:
    """Make the results folder, or go on with the one there, and write what is known before the first trial.

    `UserError` where it cannot be written.
    """
    own = plan.draft.space_file
    plugins = {Path(plugin.path).name: plugin for plugin in plan.draft.plugins}
    info = StudyInfo(
        space=plan.space.name,
        space_file="space.py" if own else None,
        scale=plan.scale,
        scale_reason=plan.reason,
        search=plan.request.search,
        trials=plan.explored or None,
        seeds=list(plan.seeds),
        most_seeds=plan.most_seeds if plan.races else None,
        base=plan.base.flat(),
        evaluation=plan.evaluation.flat(),
        evaluated_on=sorted(plan.asked.data),
        row_hashes={label: recipe.hash if recipe else None for label, recipe in plan.rows.items()},
        missing=dict(plan.missing),
        searched=[domain.key for domain in plan.space.domains],
        goals=list(plan.space.goals),
        limits=dict(plan.limits),
        explored=[recipe.hash for recipe in plan.grid],
        versions=versions(plan.draft.plugins),
        hardware=machine,
        notes=_notes(plan),
        commands=[redacted(shlex.join(["python", "study/run.py", *sys.argv[1:]]))],
        plugins=list(plugins),
        stopping={"scheduler": plan.request.scheduler, "rungs": str(plan.rungs)} if plan.rungs else {},
        created_at=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    if (plan.results / STUDY).is_file():
        before = StudyInfo.load(plan.results)
        rows = {**info.row_hashes, **before.row_hashes}
        rows |= {label: value for label, value in info.row_hashes.items() if value}
        missing = {label: why for label, why in {**before.missing, **info.missing}.items() if rows[label] is None}
        explored = list(dict.fromkeys([*before.explored, *info.explored]))
        seeds = sorted({*before.seeds, *info.seeds})
        most = max(before.most_seeds or 0, info.most_seeds or 0) or None
        search = info.search if info.search != "paper" else before.search
        trials = max(before.trials or 0, info.trials or 0) or None
        info = dataclasses.replace(
            info,
            created_at=before.created_at,
            row_hashes=rows,
            missing=missing,
            explored=explored,
            seeds=seeds,
            most_seeds=most,
            search=search,
            trials=trials,
            notes=list(dict.fromkeys([*before.notes, *info.notes])),
            stopping=info.stopping or before.stopping,
            commands=list(dict.fromkeys([*before.commands, *info.commands])),
            plugins=list(dict.fromkeys([*before.plugins, *info.plugins])),
        )
    try:
        plan.results.mkdir(parents=True, exist_ok=True)
        if own is not None:
            write_whole(plan.results / "space.py", own.text)
        for name, plugin in plugins.items():
            write_whole(to_write(plan.results, f"{PLUGINS}/{name}"), plugin.text)
        info.save(plan.results)
        plan.place.sweep()
        plan.place.push_changed()
    except OSError as error:
        raise as_user_error(error, plan.place.shown) from None
    return info


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
        known = Recipe.from_flat(before.base).flat()  # a key that the recipe did not have then has its default
        differing = [key for key, value in plan.base.flat().items() if known[key] != value]
        if differing:
            key = differing[0]
            raise UserError(
                f"{results} holds a study whose {key} is {known[key]!r}, not {plan.base.flat()[key]!r}; "
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
    elif results.is_dir() and any(not is_unfinished(path.name) and path.name != LOCK for path in results.iterdir()):
        raise UserError(f"{results} is not empty and holds no study; give an empty or a new folder with --results")


def continued(plan: Plan) -> Plan:
    """With the search of the study that the results hold, where the command says nothing of one: its explored recipes
    stay part of it. `--only` is of rows alone."""
    asked = plan.request
    if asked.search != "paper" or asked.only or not (plan.results / STUDY).is_file():
        return plan
    before = StudyInfo.load(plan.results)
    if before.search == "paper":
        return plan
    print(f"the study in {plan.place.shown} goes on with its search ({before.search})", flush=True)
    request = dataclasses.replace(
        asked, search=before.search, trials=before.trials or len(before.explored) or asked.trials
    )
    scheduler, rungs = (before.stopping.get(name) for name in ("scheduler", "rungs"))
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
    for key in TOLD_BY:
        if kept_to[key] != (now := plan.evaluation.flat()[key]):
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
    for name in before.plugins:
        if name not in given:
            load_plugin(plan.results / PLUGINS / name)


def save_info(plan: Plan, info: StudyInfo, explored: list[str], ledger: Ledger) -> None:
    """`study.json` as it stands at the end."""
    records, _ = ledger.sift()
    counts = {
        "finished": sum(record.status == "finished" for record in records),
        "pruned": sum(record.status == "pruned" for record in records),
        "failed": len(list((plan.results / FAILURES).glob("*.json"))),
    }
    data = next((record.data for record in records if record.data.get("corpus")), {})
    dataclasses.replace(_with_explored(info, explored), status_counts=counts, data=data).save(plan.results)


def _with_explored(info: StudyInfo, explored: list[str]) -> StudyInfo:
    return dataclasses.replace(info, explored=list(dict.fromkeys([*info.explored, *explored])))


def _tune(
    plan: Plan, cluster: Cluster, allotment: Allotment, searcher: StudySearcher, ledger: Ledger, perform: str
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
    outlook = Outlook(plan, ledger, allotment.concurrent, lambda: searcher.remaining, searcher.waiting, searcher.room)
    audience = Audience(outlook)
    keeper = Keeper(plan.place, desk, courier, audience, searcher.settle)

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
        audience.close()
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
        evaluation=plan.evaluation.flat(),
        seed=planned.seed,
        name=planned.name,
        per_worker=allotment.per_worker,
        workers=allotment.workers if several else 1,
        most_workers=allotment.most_workers if several else 1,
        rungs=plan.rungs if plan.may_stop(planned) else None,
        hardware=machine,
        sources=plan.draft.sources,
    )


def _notes(plan: Plan) -> list[str]:
    """What a reader must know about the encoder, and which studies the search learnt from."""
    notes = [
        f"the search tried the best of {len(source.chosen)} recipes of another study, {source.name}, as long as that "
        "one agreed with what was found here"
        for source in plan.sources
    ]
    name = plan.base.encoder.name
    if (Path(name) / "modules.json").is_file() or name.startswith("sentence-transformers/"):
        notes.append(
            "the encoder is a finished sentence-transformers model, already tuned on sentence pairs (NLI may be among "
            "them), so rows differ less than they would from a plain language model"
        )
    return notes
