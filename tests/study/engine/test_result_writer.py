"""The study's loop with a real coordinator, in one process without Ray: what workers tell is written and shown."""

from __future__ import annotations

import copy
import dataclasses
import errno
import gc
import io
import itertools
import json
import sys
import tracemalloc
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ray.exceptions import ActorDiedError, RayTaskError
from ray.tune.experiment import Trial

import study.engine.result_writer as module
from reports.ledger import FAILURES, LEDGER, MODELS, PREDICTIONS, Ledger, Record, read_failures
from reports.ledger.folders import POPULATIONS, TRAIN
from reports.ledger.location import ResultsLocation
from reports.ledger.storage import storage
from reports.testing import changed, made_record
from search_spaces.goals import STS
from study.callbacks import Callback, CallbackEntry, dispatch
from study.callbacks.dispatch import Dispatch
from study.engine.coordinator import HALT, Coordinator
from study.engine.messages import (
    DiskFull,
    Done,
    Event,
    Failed,
    HandedOver,
    Rung,
    Scored,
    Started,
    Step,
    TrialsInterrupted,
    WorkerTask,
)
from study.engine.models_kept import ModelsKept
from study.engine.result_writer import ResultWriter
from study.engine.starts import STARTS
from study.engine.trainable import config_of
from study.engine.tune_loop import StudyLoop
from study.testing import callbacks as followed
from study.trial import Trial as StudyTrial
from tests.conftest import slow_case
from tests.in_one_process import InOneProcess, LostError, Reference, Remote
from trainables.errors import UserError
from trainables.files import write_whole
from trainables.recipe import Recipe
from trainables.registry import Registry

GROUP = "group"


class Witness(Callback):
    """Remembers what it is told, and whether the record was there then."""

    def __init__(self, results: Path) -> None:
        self.results, self.events = results, list[tuple[Any, ...]]()

    def handle(self, event: Event, trials: Sequence[StudyTrial]) -> None:
        if isinstance(event, Scored):
            assert (self.results / LEDGER / f"{event.key}.json").is_file()
        facts = [each for each in event.arguments(trials)[1:] if not isinstance(each, Record)]
        self.events.append((event.callback_method, *(trial.key for trial in trials), *facts))


class Better:
    """A scheduler that lets the trials go on that have more than 50, and remembers whom it was asked of."""

    def __init__(self) -> None:
        self.questions: list[tuple[str, int]] = []

    def goes_on(self, trial: str, rung: int, values: Any) -> bool:
        self.questions.append((trial, rung))
        return bool(values[0] > 50)


class Stage:
    """A result writer and a coordinator, with all that they work with."""

    def __init__(self, location: ResultsLocation, witness: Witness, process: InOneProcess) -> None:
        self.location, self.witness, self.process = location, witness, process
        self.removed: list[str] = []
        self.settled: dict[str, Record | None] = {}
        self.scheduler = Better()
        self.coordinator = Coordinator(location.folder)
        self.actor = process.actor(self.coordinator)
        transport: Any = SimpleNamespace(remove=self.removed.append)
        callbacks = Dispatch(followed.study_state(location.folder / "followed-study"))
        self.steps: list[tuple[str, int, int]] = []
        settle, models = self.settled.__setitem__, ModelsKept("rows", [STS])
        self.writer = ResultWriter(
            location,
            self.actor,
            transport,
            self.scheduler,
            callbacks,
            settle,
            models,
            on_step=lambda *step: self.steps.append(step),
        )

    def begin(self, *trials: StudyTrial, key: str | None = None, done: tuple[str, ...] = ()) -> WorkerTask:
        """Also what a worker sends before it tells of a record: the model."""
        for trial in trials:
            write_whole(self.location.folder / MODELS / trial.key / "config.json", "{}")
        task = WorkerTask(key or trials[0].key, tuple(trials), done=frozenset(done))
        self.writer.begin(task)
        return task

    def begun(self, number: int = 0) -> StudyTrial:
        """One of `made`."""
        self.begin(trial := made(number))
        return trial

    def train(self, trial: StudyTrial) -> None:
        """A worker group takes the trial, and is in the midst of it."""
        self.process.get(self.actor.assign.remote(GROUP, trial.key, None))
        self.process.get(self.actor.take.remote(GROUP, 0, "life", "node", -1))
        self.say(Step((trial.key,), 1, 9, {}))

    def say(self, *events: Event) -> None:
        for event in events:
            self.process.get(self.actor.tell.remote(GROUP, event))

    def tell(self, *events: Event) -> None:
        self.say(*events)
        self.writer.drain()

    def end_actor(self, trial: StudyTrial, error: Exception) -> None:
        """Tune's actor of the trial ends by that error."""
        tunes = Trial("trainable", config={"key": trial.key}, stub=True)
        tunes.storage = SimpleNamespace(trial_driver_staging_path=str(self.location.folder.parent))
        tunes.handle_error(error)
        StudyLoop(self.writer).on_trial_recover(1, [tunes], tunes)

    def files(self) -> set[str]:
        """Of the results, without those of the study that callbacks follow."""
        folder = self.location.folder
        paths = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        return {name for name in paths if not name.startswith("followed-study")}


def made(number: int = 0, name: str | None = None) -> StudyTrial:
    return StudyTrial(Recipe().override({"optimisation.max_steps": number + 1}), 0, name or f"row {number}")


def result(trial: StudyTrial, card: str | None = "a card") -> Scored:
    content = io.BytesIO()
    np.savez_compressed(content, MR=np.zeros(3))
    record = made_record(
        trial.recipe.flat(),
        trial.recipe_hash,
        trial.seed,
        checkpoint=f"models/{trial.key}",
        predictions=f"predictions/{trial.key}.npz",
    )
    return Scored(trial.key, record, content.getvalue(), card)


def failure(trial: StudyTrial, reason: str = "no such file", details: str = "a trace") -> Failed:
    return Failed(trial.key, reason, details)


@pytest.fixture
def location(request: pytest.FixtureRequest, tmp_path: Path) -> ResultsLocation:
    """A folder; or a URL, too, for what is brought there and taken from there."""
    url = f"memory://{uuid.uuid4().hex}/results" if getattr(request, "param", "folder") == "url" else None
    return ResultsLocation(tmp_path / "results", url)


also_at_a_url = pytest.mark.parametrize("location", ["folder", slow_case("url")], indirect=True)


@pytest.fixture
def stage(location: ResultsLocation, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    process = InOneProcess(monkeypatch)
    monkeypatch.setattr(module, "ray", process)
    monkeypatch.setattr(module, "HALT_SECONDS", 0.1)  # no group here is asked for a checkpoint
    witness = Witness(location.folder)
    seen = CallbackEntry("seen", lambda state: witness, "for this test")
    monkeypatch.setattr(dispatch, "CALLBACKS", Registry("callback", seen))
    yield Stage(location, witness, process)
    process.close()


def written(monkeypatch: pytest.MonkeyPatch, stage: Stage) -> list[str]:
    """The names of files in the order in which they are written or brought to the URL."""
    order: list[str] = []
    push, write = ResultsLocation.push, Ledger.write

    def note_write(path: Path, content: Any) -> None:
        order.append(path.relative_to(stage.location.folder).as_posix())
        write_whole(path, content)

    def note_push(self: ResultsLocation, name: str) -> None:
        order.append(f"push {name}")
        push(self, name)

    def note_record(self: Ledger, record: Record) -> Path:
        order.append(f"{LEDGER}/{record.key}.json")
        return write(self, record)

    monkeypatch.setattr(module, "write_whole", note_write)
    monkeypatch.setattr("reports.ledger.location.write_whole", note_write)
    monkeypatch.setattr(ResultsLocation, "push", note_push)
    monkeypatch.setattr(Ledger, "write", note_record)
    return order


@pytest.mark.parametrize("location", ["folder", "url"], indirect=True)
def test_a_record_is_written_last_and_only_then_shown(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = stage.begun()
    order = written(monkeypatch, stage)
    stage.tell(Started((trial.key,)), result(trial))
    assert stage.writer.problem is None
    assert order == [
        f"{PREDICTIONS}/{trial.key}.npz",
        f"push {PREDICTIONS}/{trial.key}.npz",
        f"{MODELS}/{trial.key}/README.md",
        f"push {MODELS}/{trial.key}",
        f"{LEDGER}/{trial.key}.json",
        f"push {LEDGER}/{trial.key}.json",
    ]
    assert stage.witness.events == [("started", trial.key), ("finished", trial.key)]
    record = stage.settled[trial.key]
    assert record.key == trial.key
    assert stage.coordinator._settled == {trial.key}
    stage.writer.finish()  # checkpoints are removed on a thread
    assert stage.removed == [f"{TRAIN}/{trial.key}", f"{TRAIN}/{trial.key}.second"]
    if stage.location.url:
        remote = storage(stage.location.url)
        assert [name for name in stage.files() if remote.read(name) is None] == []


def seeds_of_a_row(stage: Stage, *scores: float) -> tuple[list[StudyTrial], list[Scored]]:
    """The trials of a row under so many seeds, and what is told of them."""
    trials = [StudyTrial(made().recipe, seed, "row") for seed in range(len(scores))]
    orders = []
    for trial, score in zip(trials, scores, strict=True):
        stage.begin(trial)
        event = result(trial)
        record = changed(event.record, scores={"STSBenchmark": {"dev_spearman_cosine": score}})
        orders.append(dataclasses.replace(event, record=record))
    return trials, orders


@also_at_a_url
def test_a_better_seed_s_record_is_whole_before_the_other_model_goes(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, second, third), orders = seeds_of_a_row(stage, 60.0, 61.0, 59.0)
    order = written(monkeypatch, stage)
    monkeypatch.setattr(stage.writer, "_remove", lambda name: order.append(f"remove {name}"))
    stage.tell(*orders)
    assert stage.writer.problem is None
    of_models = [name for name in order if name.startswith((LEDGER, f"remove {MODELS}"))]
    assert of_models == [
        f"{LEDGER}/{first.key}.json",
        f"{LEDGER}/{second.key}.json",
        f"{LEDGER}/{first.key}.json",
        f"remove {MODELS}/{first.key}",
        f"{LEDGER}/{third.key}.json",
        f"remove {MODELS}/{third.key}",
    ]
    records = {record.seed: record for record in stage.writer.ledger.read()}
    assert [records[seed].checkpoint for seed in range(3)] == [None, f"{MODELS}/{second.key}", None]
    assert all(records[seed].scores for seed in range(3))
    last = stage.settled[third.key]
    assert last.checkpoint is None


def test_a_study_that_dies_between_has_lost_nothing(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed once the better record is whole: both name their models, and both models are there."""
    (first, second), orders = seeds_of_a_row(stage, 60.0, 61.0)
    stage.tell(orders[0])
    write = Ledger.write

    def dies(self: Ledger, record: Record) -> Path:
        if record.seed == 0:
            raise OSError(errno.EIO, "a broken disk")
        return write(self, record)

    monkeypatch.setattr(Ledger, "write", dies)
    stage.tell(orders[1])
    assert isinstance(stage.writer.problem, OSError)
    assert {record.checkpoint for record in stage.writer.ledger.read()} == {
        f"{MODELS}/{trial.key}" for trial in (first, second)
    }
    assert not [name for name in stage.removed if name.startswith(MODELS)]


@also_at_a_url
@pytest.mark.parametrize("broken", ["predictions", "card"])
def test_without_what_it_promises_there_is_no_record_and_the_study_ends(
    broken: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = stage.begun(0), stage.begun(1)
    tried = []

    def full(*arguments: Any) -> None:
        tried.append(arguments)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(*((module, "write_whole") if broken == "predictions" else (ResultsLocation, "add")), full)
    stop = StudyLoop(stage.writer)
    assert not stop.stop_all()
    stage.tell(result(first))
    assert isinstance(stage.writer.problem, OSError)
    assert stop.stop_all()
    stage.tell(result(second))
    stage.writer.finish()  # waits for nothing any more
    assert len(tried) == 1
    assert not [name for name in stage.files() if name.startswith(LEDGER)]
    assert stage.settled == {}
    assert stage.removed == []
    assert stage.coordinator._settled == set()
    assert stage.witness.events == []


def test_a_record_that_is_told_twice_is_kept_once(stage: Stage) -> None:
    trial = stage.begun()
    stage.tell(result(trial), result(trial))
    stage.tell(result(trial), failure(trial))
    assert [event[0] for event in stage.witness.events] == ["finished"]
    assert stage.coordinator._settled == {trial.key}
    assert stage.writer.failed == 0
    assert read_failures(stage.location.folder) == []


def test_a_failure_tells_no_secret_in_a_short_line(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_planted0token1")
    trial = stage.begun()
    stage.tell(failure(trial, "401 for hf_planted0token1\n" + "and so on \x1b[31m" * 1000, "Bearer hf_planted0token1"))
    (written,) = (stage.location.folder / FAILURES).iterdir()
    assert "planted" not in written.read_text()
    (failed,) = read_failures(stage.location.folder)
    assert failed.reason.startswith("401 for [HF_TOKEN] and so on")
    assert failed.reason.isprintable()
    assert len(failed.reason) < 1100
    assert stage.witness.events[-1] == ("failed", trial.key, failed.reason)


@also_at_a_url
def test_a_failure_is_written_and_goes_away_when_it_is_tried_again(stage: Stage) -> None:
    trial = stage.begun()
    stage.tell(failure(trial), failure(trial), result(trial))
    assert stage.settled == {trial.key: None}
    assert stage.writer.failed == 1
    (failed,) = read_failures(stage.location.folder)
    assert (failed.key, failed.name, failed.reason) == (trial.key, "row 0", "no such file")
    assert failed.recipe == dict(trial.recipe.flat())
    assert json.loads((stage.location.folder / FAILURES / f"{trial.key}.json").read_text())["details"] == "a trace"
    assert stage.witness.events == [("failed", trial.key, "no such file")]
    assert stage.removed == []  # its checkpoint serves the next try
    stage.begin(trial)
    assert read_failures(stage.location.folder) == []


@pytest.mark.parametrize("location", ["folder", "url"], indirect=True)
def test_a_population_keeps_its_checkpoint_until_its_last_member(stage: Stage) -> None:
    trials = [made(number) for number in range(3)]
    stage.begin(*trials, key="population-1", done=(trials[0].key,))
    members = stage.location.folder / POPULATIONS / "population-1.json"
    assert json.loads(members.read_text()) == [trial.key for trial in trials]
    stage.tell(result(trials[1]))
    assert stage.removed == []
    assert members.is_file()
    stage.tell(result(trials[2]))
    stage.writer.finish()  # checkpoints are removed on a thread
    assert stage.removed == [f"{TRAIN}/population-1", f"{TRAIN}/population-1.second"]
    assert not members.exists()
    if stage.location.url:
        assert not storage(stage.location.url).has(f"{POPULATIONS}/population-1.json")


def test_each_member_is_told_its_own_loss(stage: Stage) -> None:
    trials = [made(number) for number in range(3)]
    stage.begin(*trials, key="population-1")
    keys = [trial.key for trial in trials]
    stage.tell(Step((*keys,), 1, 2, {"loss/0": 1.0, "loss/2": 3.0}), Step((keys[0],), 2, 2, {"loss": 0.5}))
    assert stage.steps == [(keys[0], 2, 2)]  # of what trains alone
    stage.tell(Rung(keys[0], 1, {"sts": 60.0}))
    assert stage.witness.events == [
        ("step", keys[0], 1, 2, {"loss": 1.0}),
        ("step", keys[2], 1, 2, {"loss": 3.0}),
        ("step", keys[0], 2, 2, {"loss": 0.5}),
        ("rung", keys[0], 1, {"sts": 60.0}),
    ]


def test_a_worker_is_told_the_scheduler_s_verdict_which_is_asked_for_once(stage: Stage) -> None:
    """Also where its trial is begun again, and comes to the rung again. Callbacks hear of it as well."""
    trial = stage.begun()
    stage.train(trial)
    waiting = [stage.actor.wait_for_verdict.remote(trial.key, rung) for rung in (1, 2)]
    stage.tell(Rung(trial.key, 1, {"sts": 60.0}))
    assert stage.process.get(waiting[0]) is True
    assert not waiting[1].done()
    stage.tell(Rung(trial.key, 1, {"sts": 40.0}), Rung(trial.key, 2, {"sts": 40.0}))
    assert stage.process.get(waiting[1]) is False
    assert stage.scheduler.questions == [(trial.key, 1), (trial.key, 2)]
    assert [event[2:] for event in stage.witness.events if event[0] == "rung"] == [
        (1, {"sts": 60.0}),
        (1, {"sts": 40.0}),
        (2, {"sts": 40.0}),
    ]
    stage.tell(result(trial))
    stage.process.get(stage.actor.finish.remote(GROUP, 0))
    assert stage.process.get(stage.actor.outcome.remote(GROUP)) == Done()  # only once its record is kept


ENDS = "no worker of the study starts any more: the last 4 starts failed with no progress of any trial between them, "


def test_a_study_whose_groups_cannot_start_ends_with_their_error(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is finished is kept, and no trial has failed."""
    monkeypatch.setenv("HF_TOKEN", "hf_planted0token1")
    done, trial = made(0), made(1)
    stage.begin(done)
    stage.train(done)
    stage.tell(result(done))
    stage.begin(trial)
    for number in range(STARTS):
        assert stage.writer.problem is None
        name = f"group {number}"
        stage.process.get(stage.actor.assign.remote(name, trial.key, None))
        stage.process.get(stage.actor.ended.remote(name, "ImportError: no hf_planted0token1", True))
        stage.process.get(stage.actor.outcome.remote(name))
        stage.writer.drain()
        assert stage.witness.events[-1] == ("not_started", trial.key, number + 1, "ImportError: no [HF_TOKEN]")
    assert str(stage.writer.problem).startswith(ENDS + "the last one by 'ImportError: no [HF_TOKEN]'")
    assert isinstance(stage.writer.problem, UserError)
    assert StudyLoop(stage.writer).stop_all()
    assert stage.writer.failed == 0
    assert [record.key for record in stage.writer.ledger.sift()[0]] == [done.key]


RAISED = RayTaskError("__init__", "Traceback ...\nImportError: no\n", ImportError("no"))


@pytest.mark.parametrize(
    ("error", "node", "begun", "reason"),
    [
        pytest.param(ActorDiedError(RAISED), None, False, "ImportError: no", id="it raises"),
        pytest.param(ActorDiedError(), None, False, None, id="nobody knows of what it died"),
        pytest.param(ActorDiedError(), "head", False, "process 7 died", id="its process dies"),
        pytest.param(ActorDiedError(), "lost", False, None, id="its machine is lost"),
        pytest.param(ActorDiedError(), "head", True, None, id="its process dies after the trial has begun"),
    ],
)
def test_an_actor_of_tune_s_that_ends_again_and_again_ends_the_study_where_it_never_starts(
    stage: Stage, error: Exception, node: str | None, begun: bool, reason: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "death_of", lambda error: (node, "process 7 died") if node else None)
    monkeypatch.setattr(module, "machines_that_stay", lambda: {"head"})
    monkeypatch.setattr(module, "_own_machine", lambda: "head")
    monkeypatch.setattr("study.engine.starts.OUTLIVED_SECONDS", 0.0)
    trial = stage.begun()
    for _ in range(STARTS):
        assert stage.writer.problem is None
        if begun:
            stage.tell(Started((trial.key,)), Step((trial.key,), 1, 9, {}))
        stage.end_actor(trial, error)
        stage.writer.drain()
    assert [event[2] for event in stage.witness.events if event[0] == "not_started"] == [1, 2, 3, 4] * bool(reason)
    if reason:
        assert str(stage.writer.problem).startswith(ENDS + f"the last one by {reason!r}")
    else:
        assert stage.writer.problem is None
    assert stage.process.get(stage.actor.assign.remote("next", trial.key, None)) is None
    assert stage.coordinator._reasons == ({trial.key: "process 7 died"} if node else {})


def test_callbacks_hear_of_an_actor_that_died(stage: Stage) -> None:
    """Of those of its task that are still open."""
    first, second = made(0), made(1)
    stage.begin(first, second, key="both")
    stage.tell(result(first))
    trial = SimpleNamespace(config={"key": "both"})
    StudyLoop(stage.writer).on_trial_recover(1, [trial], trial)
    assert stage.witness.events[-1] == ("interrupted", second.key)
    stage.tell(TrialsInterrupted((first.key, second.key)))  # of several workers the coordinator tells
    assert stage.witness.events[-2:] == [("interrupted", second.key)] * 2


@pytest.mark.slow
def test_trials_that_were_take_little_memory(stage: Stage) -> None:
    """Those of Tune's included: it keeps every one, with what it was given and what it told last."""
    kept: list[Trial] = []

    def run(number: int) -> None:
        given = made(number)
        task = WorkerTask(given.key, (given,))
        config = config_of(task, "coordinator", "module:function")
        trial = Trial("trainable", config=copy.deepcopy(config), evaluated_params={**config}, stub=True)
        kept.append(trial)
        assert stage.writer.begin(task)
        numbers = {f"number {each}": float(each) for each in range(5)}
        trial.update_last_result({"done": True, "config": copy.deepcopy(config), **numbers})
        stage.tell(Started((given.key,)))
        stage.tell(failure(given) if number % 2 else result(given))
        StudyLoop(stage.writer).on_trial_complete(0, kept, trial)
        assert trial.last_result["done"]  # else Tune tells of its end on the console
        for memory in (stage.settled, stage.witness.events, stage.coordinator._settled, stage.removed):
            memory.clear()  # this test's own memory

    def grown(first: int) -> float:
        """Bytes that stay of each of 30 trials."""
        before = tracemalloc.get_traced_memory()[0]
        for number in range(first, first + 30):
            run(number)
        stage.writer.finish()
        gc.collect()
        return (tracemalloc.get_traced_memory()[0] - before) / 30

    for number in range(10):
        run(number)
    tracemalloc.start()
    try:
        # The least of three: what a trial leaves is in each of them, what another thread keeps once is not.
        assert min(grown(first) for first in (10, 40, 70)) < 7000  # bytes
    finally:
        tracemalloc.stop()
    assert stage.writer.problem is None


def test_a_full_disk_of_a_worker_s_machine_ends_the_study_and_what_is_told_after_it_is_kept(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same answer, and until the worker groups have stopped: the study ends as by a person's stop. No trial has
    failed, so the same command goes on with all."""
    trials = [stage.begun(number) for number in range(4)]
    scores = Reference(result(trials[1]), ready=False)
    monkeypatch.setattr(module, "score_apart", Remote(lambda content: scores))

    async def worker() -> None:
        """In the midst of its training until it is told to halt."""
        orders.append(await stage.coordinator.orders(GROUP, 0))
        await stage.coordinator.tell(GROUP, result(trials[2]))
        await stage.coordinator.finish(GROUP, 0)
        scores.ready = True

    orders: list[list[str]] = []
    stage.train(trials[2])
    working = stage.process.start(worker())
    further = DiskFull("another's"), HandedOver(trials[1].key, [trials[1].key]), failure(trials[3])
    stage.tell(DiskFull("the disk of /tmp is full"), result(trials[0]), *further)
    assert isinstance(stage.writer.problem, UserError)
    assert str(stage.writer.problem) == "the disk of /tmp is full"
    assert StudyLoop(stage.writer).stop_all()
    assert read_failures(stage.location.folder) == []
    assert list(stage.settled) == [trials[0].key, trials[2].key, trials[1].key]
    assert not stage.writer.drain()
    assert orders == [[HALT]]  # once
    assert working.done()


class Broken(Callback):
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def tick(self) -> None:
        raise self.error


def test_a_callback_that_raises_is_left_out(
    location: ResultsLocation, stage: Stage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unbuilt(state: Any) -> Callback:
        raise RuntimeError("no key")

    dispatch.CALLBACKS.add(CallbackEntry("broken", lambda state: Broken(ValueError("no\nnetwork")), "raises"))
    dispatch.CALLBACKS.add(CallbackEntry("leaving", lambda state: Broken(SystemExit(0)), "would end it"))
    dispatch.CALLBACKS.add(CallbackEntry("unbuilt", unbuilt, "is never made"))
    dispatch.CALLBACKS.add(CallbackEntry("unasked", lambda state: None, "nobody asked for it"))
    stage = Stage(location, stage.witness, stage.process)
    trial = stage.begun()
    stage.tell(result(trial))
    stage.writer.drain()
    assert capsys.readouterr().out.splitlines() == [
        "warning: unbuilt is left out from now on: RuntimeError: no key",
        "warning: broken is left out from now on: ValueError: no network",
        "warning: leaving is left out from now on: SystemExit: 0",
    ]
    assert stage.witness.events == [("finished", trial.key)]
    assert stage.writer.problem is None


def test_the_end_waits_for_scores_that_are_made_apart(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = [stage.begun(number) for number in range(2)]
    scores = {trial.key: Reference(ready=False) for trial in trials}
    monkeypatch.setattr(module, "score_apart", Remote(lambda content: scores[content[0]]))
    for trial in trials:
        stage.tell(HandedOver(trial.key, [trial.key]))
    assert stage.settled == {}
    slept = []

    def sleep(seconds: float) -> None:  # the scores come while it waits
        slept.append(seconds)
        if len(slept) == 2:
            scores[trials[0].key].value, scores[trials[0].key].ready = result(trials[0]), True
        if len(slept) == 4:
            scores[trials[1].key].value, scores[trials[1].key].ready = LostError("the machine\ndied"), True

    monkeypatch.setattr(module.time, "sleep", sleep)
    stage.writer.finish()
    assert stage.writer.problem is None
    assert len(slept) >= 4
    assert stage.settled[trials[0].key] is not None
    assert [failed.reason for failed in read_failures(stage.location.folder)] == [
        "its scores were not made: the machine died"
    ]


@pytest.mark.parametrize("ends", [True, False])
def test_when_the_time_is_over_what_runs_is_halted_and_the_study_ends(
    stage: Stage, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is told until the halt is kept; the rest is neither a problem, nor failed, nor waited for."""
    left, orders = [10.0], []
    monkeypatch.setattr(stage.writer, "_seconds_left", lambda: left[0])
    trials = [stage.begun(number) for number in range(2)]
    stage.train(trials[0])

    async def worker() -> None:
        orders.append(await stage.coordinator.orders(GROUP, 0))
        if ends:
            await stage.coordinator.tell(GROUP, result(trials[0]))
        await stage.coordinator.finish(GROUP, 0)

    working = stage.process.start(worker())
    loop = StudyLoop(stage.writer)
    assert stage.writer.drain()
    assert (loop.stop_all(), orders) == (False, [])
    left[0] = 0.0
    assert not stage.writer.drain()
    assert (loop.stop_all(), orders, working.done()) == (True, [[HALT]], True)
    stage.writer.finish()  # waits for nobody
    assert (stage.writer.problem, stage.writer.failed, read_failures(stage.location.folder)) == (None, 0, [])
    assert [*stage.settled] == [trials[0].key] * ends


def test_when_the_time_is_over_scores_that_never_come_are_not_waited_for(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, clock = made(), itertools.count(step=5.0)
    stage.begin(trial)
    monkeypatch.setattr(module, "score_apart", Remote(lambda content: Reference(result(trial), ready=False)))
    stage.tell(HandedOver(trial.key, [trial.key]))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(stage.writer, "_seconds_left", lambda: 0.0)
    assert not stage.writer.drain()
    stage.writer.finish()
    assert (stage.writer.problem, stage.writer.failed, [*stage.settled]) == (None, 0, [])


class Stopped:
    """A person who presses ctrl-C at the so many-th line of the writer's code, counted in lines that run."""

    def __init__(self, line: int) -> None:
        self.left = line

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def test_a_stop_at_any_line_loses_no_score_that_was_handed_over(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    scores: list[Reference] = []
    soon = True

    def score(content: list[StudyTrial]) -> Reference:
        scores.append(Reference(result(content[0]), ready=not soon))
        return scores[-1]

    def come() -> None:
        for reference in scores:
            reference.ready = True

    monkeypatch.setattr(module, "score_apart", Remote(score))
    for line in itertools.count(1):
        handed, kept = made(2 * line), made(2 * line + 1)
        stage.begin(handed, kept, key=f"both {line}")
        stage.say(HandedOver(handed.key, [handed]), result(kept))
        stopped, soon = Stopped(line), True
        sys.settrace(stopped)
        try:
            stage.writer.drain()
            come()
            stage.writer.drain()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        soon = False
        come()
        stage.writer.halt()
        assert all((stage.location.folder / LEDGER / f"{trial.key}.json").is_file() for trial in (handed, kept)), line
        if stopped.left > 0:
            break
    assert line > 50


def test_what_is_handed_over_in_the_last_moment_is_waited_for(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The halt is over, and what a worker told before it comes after: the score is made and kept."""
    trial = stage.begun()
    scores = Reference(result(trial), ready=False)
    monkeypatch.setattr(module, "score_apart", Remote(lambda content: scores))
    waits = []

    before = stage.process.wait

    def wait(references: list[Any], **how: Any) -> tuple[list[Any], list[Any]]:
        waits.append(references)
        if len(waits) == 2:
            stage.say(HandedOver(trial.key, [trial.key]))
        scores.ready = len(waits) > 20
        return before(references, **how)

    monkeypatch.setattr(stage.process, "wait", wait)
    stage.writer.halt()
    assert stage.settled[trial.key] is not None


LABELS = ["../../../etc/passwd", "/etc/passwd", "a/b", "..", "\x1b[2Jrow\n\x00", "x" * 300]


def test_no_file_is_called_after_a_label(stage: Stage) -> None:
    """Of trials that are kept, and of others that fail."""
    keys = set()
    for number, label in enumerate(LABELS * 2):
        trial = made(number, label)
        task = stage.begin(trial)
        stage.tell(Started((trial.key,)), result(trial) if number < len(LABELS) else failure(trial))
        assert stage.writer.problem is None
        assert config_of(task, "", "")["key"] == trial.key  # what Tune calls its folders after
        keys.add(trial.key)
    assert {Path(name).parts[1].partition(".")[0] for name in stage.files()} == keys


@also_at_a_url
@pytest.mark.parametrize("name", [PREDICTIONS, MODELS, LEDGER, FAILURES, POPULATIONS])
def test_what_would_be_written_through_a_link_ends_the_study(stage: Stage, name: str, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    trials = [made(0), made(1)]
    stage.begin(*trials[: 1 + (name == POPULATIONS)])
    folder = stage.location.folder / name
    if folder.exists():
        folder.rename(stage.location.folder / "before")
    folder.symlink_to(tmp_path / "outside")
    if name == POPULATIONS:
        stage.begin(*trials, key="together")
    else:
        stage.tell(failure(trials[0]) if name == FAILURES else result(trials[0]))
    assert str(stage.writer.problem).startswith(str(folder))
    assert "leads out of the results folder by a link" in str(stage.writer.problem)
    assert not any((tmp_path / "outside").iterdir())
