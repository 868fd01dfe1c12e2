"""What the study's process writes of what crews tell, without Ray: the desk is a list of messages."""

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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ray.tune.experiment import Trial

import study.engine.result_writer as module
from reports.ledger import FAILURES, LEDGER, MODELS, PREDICTIONS, Ledger, Record, read_failures
from reports.ledger.folders import POPULATIONS, TRAIN
from reports.ledger.location import Place
from reports.ledger.storage import storage
from reports.testing import made_record
from study.callbacks.base import WATCHERS, Watcher, WatcherEntry
from study.callbacks.dispatch import Audience
from study.engine.result_writer import Keeper, StopFor
from study.trial import SourceFile, TrialSpec, to_config
from tests import watched
from trainables.errors import UserError
from trainables.files import write_whole
from trainables.recipe import Recipe


class LostError(Exception):
    """In place of Ray's own errors."""


class Reference:
    """In place of Ray's: what it stands for may come later, or be an error."""

    def __init__(self, value: Any = None, ready: bool = True) -> None:
        self.value, self.ready = value, ready


class Remote:
    """Something with `remote`."""

    def __init__(self, call: Callable[..., Reference]) -> None:
        self.remote = call


class News(Reference):
    """What is told from the message of that number on."""

    def __init__(self, told: dict[int, dict[str, Any]], heard: int) -> None:
        self.told, self.heard = told, heard
        for number in [number for number in told if number < heard]:
            del told[number]

    @property
    def ready(self) -> bool:  # type: ignore[override]
        return bool(self.value)

    @property
    def value(self) -> Any:  # type: ignore[override]
        return [(number, message) for number, message in self.told.items() if number >= self.heard]


class FakeDesk:
    def __init__(self) -> None:
        self.told: dict[int, dict[str, Any]] = {}
        self.numbers = itertools.count()
        self.told_settled: list[str] = []
        self.halted = Reference(ready=False)
        self.post = Remote(lambda heard: News(self.told, heard))
        self.settled = Remote(lambda keys: Reference(self.told_settled.extend(keys)))
        self.halt = Remote(lambda seconds: self.halted)
        self.release = Remote(lambda: Reference(True))

    def tell(self, *messages: dict[str, Any]) -> None:
        self.told |= {next(self.numbers): message for message in messages}


class FakeRay:
    exceptions = SimpleNamespace(RayError=LostError, RayTaskError=type("TaskError", (LostError,), {}))

    @staticmethod
    def wait(references: list[Reference], num_returns: int = 1, timeout: float = 0) -> tuple[list[Reference], Any]:
        return [reference for reference in references if reference.ready], []

    @staticmethod
    def get(reference: Reference) -> Any:
        if isinstance(reference.value, Exception):
            raise reference.value
        return reference.value


class Seen(Watcher):
    """Remembers what it is told, and whether the record was there then."""

    def __init__(self, results: Path) -> None:
        self.results, self.events = results, list[tuple[Any, ...]]()

    def started(self, trials: Any) -> None:
        self.events.append(("started", *(trial.key for trial in trials)))

    def interrupted(self, trials: Any) -> None:
        self.events.append(("interrupted", *(trial.key for trial in trials)))

    def step(self, trial: TrialSpec, step: int, steps: int, scalars: Any) -> None:
        self.events.append(("step", trial.key, dict(scalars)))

    def rung(self, trial: TrialSpec, number: int, scores: Mapping[str, float]) -> None:
        self.events.append(("rung", trial.key, number, scores))

    def finished(self, trial: TrialSpec, record: Record) -> None:
        assert (self.results / LEDGER / f"{trial.key}.json").is_file()
        self.events.append(("finished", trial.key))

    def failed(self, trial: TrialSpec, reason: str) -> None:
        self.events.append(("failed", trial.key, reason))


class Stage:
    """A keeper with all that it works with."""

    def __init__(self, place: Place, seen: Seen) -> None:
        self.place, self.seen, self.desk = place, seen, FakeDesk()
        self.removed: list[str] = []
        self.settled: dict[str, Record | None] = {}
        courier: Any = SimpleNamespace(remove=self.removed.append)
        outlook = watched.outlook(place.folder / "study-of-watchers")
        self.keeper = Keeper(place, self.desk, courier, Audience(outlook), self.settled.__setitem__)

    def begin(self, *trials: TrialSpec, key: str | None = None, done: tuple[str, ...] = ()) -> None:
        """Also what a crew sends before it tells of a record: the model."""
        for trial in trials:
            write_whole(self.place.folder / MODELS / trial.key / "config.json", "{}")
        self.keeper.begin(to_config(key or trials[0].key, trials, done))

    def tell(self, *messages: dict[str, Any]) -> None:
        self.desk.tell(*messages)
        self.keeper.drain()

    def files(self) -> set[str]:
        """Of the results, without those of the watchers' own study."""
        folder = self.place.folder
        found = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        return {name for name in found if not name.startswith("study-of-watchers")}


def spec(number: int = 0, **more: Any) -> TrialSpec:
    values = {"objective.weight": 0.5}
    return TrialSpec(values, f"{number:012x}", {}, 0, f"row {number}", {"CPU": 1.0}, 1, 1, None, "2 cores", **more)


def result(trial: TrialSpec, card: str | None = "a card") -> dict[str, Any]:
    content = io.BytesIO()
    np.savez_compressed(content, MR=np.zeros(3))
    record = made_record(
        dict(trial.recipe),
        trial.recipe_hash,
        trial.seed,
        checkpoint=f"models/{trial.key}",
        predictions=f"predictions/{trial.key}.npz",
    )
    told = {"kind": "record", "key": trial.key, "record": record}
    return {**told, "predictions": content.getvalue(), "card": card}


def failure(trial: TrialSpec, reason: str = "no such file") -> dict[str, Any]:
    return {"kind": "failed", "key": trial.key, "reason": reason, "details": "a trace"}


@pytest.fixture(params=["folder", "url"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    url = f"memory://{uuid.uuid4().hex}/results" if request.param == "url" else None
    return Place(tmp_path / "results", url)


@pytest.fixture
def stage(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    monkeypatch.setattr(module, "ray", FakeRay)
    seen = Seen(place.folder)
    before = list(WATCHERS)
    removed = {name: WATCHERS[name] for name in before}
    for name in before:
        WATCHERS.remove(name)
    WATCHERS.add(WatcherEntry("seen", lambda outlook: seen, "for this test"))
    yield Stage(place, seen)
    for name in list(WATCHERS):
        WATCHERS.remove(name)
    for entry in removed.values():
        WATCHERS.add(entry)


def written(monkeypatch: pytest.MonkeyPatch, stage: Stage) -> list[str]:
    """The names of files in the order in which they are written or brought to the URL."""
    order: list[str] = []
    push, write = Place.push, Ledger.write

    def note_write(path: Path, content: Any) -> None:
        order.append(path.relative_to(stage.place.folder).as_posix())
        write_whole(path, content)

    def note_push(self: Place, name: str) -> None:
        order.append(f"push {name}")
        push(self, name)

    def note_record(self: Ledger, record: Record) -> Path:
        order.append(f"{LEDGER}/{record.key}.json")
        return write(self, record)

    monkeypatch.setattr(module, "write_whole", note_write)
    monkeypatch.setattr("reports.ledger.location.write_whole", note_write)
    monkeypatch.setattr(Place, "push", note_push)
    monkeypatch.setattr(Ledger, "write", note_record)
    return order


def test_a_record_is_written_last_and_only_then_shown(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = spec()
    stage.begin(trial)
    order = written(monkeypatch, stage)
    stage.tell({"kind": "started", "keys": [trial.key]}, result(trial))
    assert stage.keeper.problem is None
    assert order == [
        f"{PREDICTIONS}/{trial.key}.npz",
        f"push {PREDICTIONS}/{trial.key}.npz",
        f"{MODELS}/{trial.key}/README.md",
        f"push {MODELS}/{trial.key}",
        f"{LEDGER}/{trial.key}.json",
        f"push {LEDGER}/{trial.key}.json",
    ]
    assert stage.seen.events == [("started", trial.key), ("finished", trial.key)]
    record = stage.settled[trial.key]
    assert record is not None
    assert record.key == trial.key
    assert stage.desk.told_settled == [trial.key]
    stage.keeper.finish()  # checkpoints are removed on a thread
    assert stage.removed == [f"{TRAIN}/{trial.key}", f"{TRAIN}/{trial.key}.second"]
    if stage.place.url:
        there = storage(stage.place.url)
        assert [name for name in stage.files() if there.read(name) is None] == []


@pytest.mark.parametrize("broken", ["predictions", "card"])
def test_without_what_it_promises_there_is_no_record(
    broken: str, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = spec()
    stage.begin(trial)

    def fail(*arguments: Any) -> None:
        raise OSError(errno.EIO, "a broken disk")

    monkeypatch.setattr(*((module, "write_whole") if broken == "predictions" else (Place, "add")), fail)
    stage.tell(result(trial))
    assert isinstance(stage.keeper.problem, OSError)
    assert not [name for name in stage.files() if name.startswith(LEDGER)]
    assert stage.settled == {}
    assert stage.desk.told_settled == stage.removed == []
    assert stage.seen.events == []


def test_a_record_that_is_told_twice_is_kept_once(stage: Stage) -> None:
    trial = spec()
    stage.begin(trial)
    stage.tell(result(trial), result(trial))
    stage.tell(result(trial), failure(trial))
    assert [event[0] for event in stage.seen.events] == ["finished"]
    assert stage.desk.told_settled == [trial.key]
    assert stage.keeper.failed == 0
    assert read_failures(stage.place.folder) == []


def test_a_failure_tells_no_secret(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_planted0token1")
    trial = spec()
    stage.begin(trial)
    stage.tell({**failure(trial, "401 for hf_planted0token1"), "details": "Bearer hf_planted0token1"})
    (written,) = (stage.place.folder / FAILURES).iterdir()
    assert "planted" not in written.read_text()
    assert stage.seen.events[-1] == ("failed", trial.key, "401 for [HF_TOKEN]")


def test_a_long_reason_is_a_short_line(stage: Stage) -> None:
    trial = spec()
    stage.begin(trial)
    stage.tell(failure(trial, "it begins so\n" + "and goes on \x1b[31m" * 1000))
    (failed,) = read_failures(stage.place.folder)
    assert failed.reason.startswith("it begins so and")
    assert failed.reason.isprintable()
    assert len(failed.reason) < 1100
    assert stage.seen.events[-1] == ("failed", trial.key, failed.reason)


def test_a_failure_is_written_and_goes_away_when_it_is_tried_again(stage: Stage) -> None:
    trial = spec()
    stage.begin(trial)
    stage.tell(failure(trial), failure(trial), result(trial))
    assert stage.settled == {trial.key: None}
    assert stage.keeper.failed == 1
    (failed,) = read_failures(stage.place.folder)
    assert (failed.key, failed.name, failed.reason) == (trial.key, "row 0", "no such file")
    assert json.loads((stage.place.folder / FAILURES / f"{trial.key}.json").read_text())["details"] == "a trace"
    assert stage.seen.events == [("failed", trial.key, "no such file")]
    assert stage.removed == []  # its checkpoint serves the next try
    stage.begin(trial)
    assert read_failures(stage.place.folder) == []


def test_a_population_keeps_its_checkpoint_until_its_last_member(stage: Stage) -> None:
    trials = [spec(number) for number in range(3)]
    stage.begin(*trials, key="population-1", done=(trials[0].key,))
    members = stage.place.folder / POPULATIONS / "population-1.json"
    assert json.loads(members.read_text()) == [trial.key for trial in trials]
    stage.tell(result(trials[1]))
    assert stage.removed == []
    assert members.is_file()
    stage.tell(result(trials[2]))
    stage.keeper.finish()  # checkpoints are removed on a thread
    assert stage.removed == [f"{TRAIN}/population-1", f"{TRAIN}/population-1.second"]
    assert not members.exists()
    if stage.place.url:
        assert not storage(stage.place.url).has(f"{POPULATIONS}/population-1.json")


def test_each_member_is_told_its_own_loss(stage: Stage) -> None:
    trials = [spec(number) for number in range(3)]
    stage.begin(*trials, key="population-1")
    keys = [trial.key for trial in trials]
    step = {"kind": "step", "step": 1, "steps": 2, "keys": keys, "scalars": {"loss/0": 1.0, "loss/2": 3.0}}
    stage.tell(step, {"kind": "step", "step": 2, "steps": 2, "keys": keys[:1], "scalars": {"loss": 0.5}})
    stage.tell({"kind": "rung", "key": keys[0], "number": 1, "scores": {"sts": 60.0}})
    losses = [("step", keys[0], {"loss": 1.0}), ("step", keys[2], {"loss": 3.0}), ("step", keys[0], {"loss": 0.5})]
    assert stage.seen.events == [*losses, ("rung", keys[0], 1, {"sts": 60.0})]


def test_watchers_hear_of_an_actor_that_died(stage: Stage) -> None:
    """Of those of its task that are still open."""
    first, second = spec(0), spec(1)
    stage.begin(first, second, key="both")
    stage.tell(result(first))
    trial = SimpleNamespace(config=to_config("both", [first, second], ()))
    stage.keeper.on_trial_recover(1, [trial], trial)
    assert stage.seen.events[-1] == ("interrupted", second.key)
    stage.tell({"kind": "interrupted", "keys": [first.key, second.key]})  # of several workers the desk tells
    assert stage.seen.events[-2:] == [("interrupted", second.key)] * 2


@pytest.mark.parametrize("place", ["folder"], indirect=True)
def test_trials_that_were_take_little_memory(stage: Stage) -> None:
    """Those of Tune's included: it keeps every one, with what it was given and what it told last."""
    kept: list[Trial] = []

    def run(number: int) -> None:
        given = dataclasses.replace(spec(number), recipe=Recipe().flat())
        config = to_config(given.key, [given])
        trial = Trial("driver", config=copy.deepcopy(config), evaluated_params={**config}, stub=True)
        kept.append(trial)
        assert stage.keeper.begin(config)
        numbers = {f"number {each}": float(each) for each in range(5)}
        trial.update_last_result({"done": True, "config": copy.deepcopy(config), **numbers})
        stage.tell({"kind": "started", "keys": [given.key]})
        stage.tell(failure(given) if number % 2 else result(given))
        stage.keeper.on_trial_complete(0, kept, trial)
        assert trial.last_result["done"]  # else Tune tells of its end on the console
        for seen in (stage.settled, stage.seen.events, stage.desk.told_settled, stage.removed):
            seen.clear()  # this test's own memory

    for number in range(10):
        run(number)
    tracemalloc.start()
    try:
        for number in range(10, 60):
            run(number)
        stage.keeper.finish()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] / 50
    finally:
        tracemalloc.stop()
    assert stage.keeper.problem is None
    assert grown < 6000  # bytes a trial


def test_a_full_disk_ends_the_study(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = spec(0), spec(1)
    stage.begin(first)
    stage.begin(second)
    tried = []

    def full(path: Path, content: Any) -> None:
        tried.append(path)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(module, "write_whole", full)
    stop = StopFor(stage.keeper)
    assert not stop.stop_all()
    stage.tell(result(first))
    assert isinstance(stage.keeper.problem, OSError)
    assert stage.keeper.problem.errno == errno.ENOSPC
    assert stop.stop_all()
    stage.tell(result(second))
    assert len(tried) == 1
    stage.keeper.finish()  # waits for nothing any more


def test_a_full_disk_of_a_worker_s_machine_ends_the_study(stage: Stage) -> None:
    """At the first trial that finds it; none has failed, so the same command goes on with them."""
    first, second = spec(0), spec(1)
    stage.begin(first)
    stage.begin(second)
    stage.desk.halted.ready = True
    stage.tell({"kind": "full", "reason": "the disk of /tmp is full"}, failure(second))
    assert isinstance(stage.keeper.problem, UserError)
    assert str(stage.keeper.problem) == "the disk of /tmp is full"
    assert StopFor(stage.keeper).stop_all()
    assert read_failures(stage.place.folder) == []
    assert stage.settled == {}


def test_what_is_told_after_a_full_disk_is_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same answer, and until the crews have stopped: the study ends as by a person's stop."""
    trials = [spec(number) for number in range(4)]
    scores = Reference(result(trials[1]), ready=False)
    monkeypatch.setattr(module, "score_apart", Remote(lambda content: scores))
    late = [result(trials[2]), result(trials[3])]

    def halt(seconds: float) -> Reference:
        stage.desk.tell(late.pop(0))
        scores.ready = stage.desk.halted.ready = True
        return stage.desk.halted

    stage.desk.halt = Remote(halt)
    for trial in trials:
        stage.begin(trial)
    full = {"kind": "full", "reason": "the disk of /tmp is full"}
    unscored = {"kind": "unscored", "key": trials[1].key, "content": [trials[1].key]}
    stage.tell(full, result(trials[0]), {**full, "reason": "another's"}, unscored)
    assert str(stage.keeper.problem) == "the disk of /tmp is full"
    assert list(stage.settled) == [trials[0].key, trials[2].key, trials[1].key]
    assert not stage.keeper.drain()
    assert len(late) == 1  # the crews are told once


class Broken(Watcher):
    def tick(self) -> None:
        raise ValueError("no\nnetwork")


class Leaving(Watcher):
    def tick(self) -> None:
        raise SystemExit(0)


def test_a_watcher_that_raises_is_left_out(
    place: Place, stage: Stage, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unbuilt(outlook: Any) -> Watcher:
        raise RuntimeError("no key")

    WATCHERS.add(WatcherEntry("broken", lambda outlook: Broken(), "raises"))
    WATCHERS.add(WatcherEntry("leaving", lambda outlook: Leaving(), "would end the process"))
    WATCHERS.add(WatcherEntry("unbuilt", unbuilt, "is never made"))
    WATCHERS.add(WatcherEntry("unasked", lambda outlook: None, "nobody asked for it"))
    stage = Stage(place, stage.seen)
    trial = spec()
    stage.begin(trial)
    stage.tell(result(trial))
    stage.keeper.drain()
    assert capsys.readouterr().out.splitlines() == [
        "warning: unbuilt is left out from now on: RuntimeError: no key",
        "warning: broken is left out from now on: ValueError: no network",
        "warning: leaving is left out from now on: SystemExit: 0",
    ]
    assert stage.seen.events == [("finished", trial.key)]
    assert stage.keeper.problem is None


def test_the_end_waits_for_scores_that_are_made_apart(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    trials = [spec(number) for number in range(2)]
    scores = {trial.key: Reference(ready=False) for trial in trials}
    monkeypatch.setattr(module, "score_apart", Remote(lambda content: scores[content[0]]))
    for trial in trials:
        stage.begin(trial)
        stage.tell({"kind": "unscored", "key": trial.key, "content": [trial.key]})
    assert stage.settled == {}
    slept = []

    def sleep(seconds: float) -> None:  # the scores come while it waits
        slept.append(seconds)
        if len(slept) == 2:
            scores[trials[0].key].value, scores[trials[0].key].ready = result(trials[0]), True
        if len(slept) == 4:
            scores[trials[1].key].value, scores[trials[1].key].ready = LostError("the machine\ndied"), True

    monkeypatch.setattr(module.time, "sleep", sleep)
    stage.keeper.finish()
    assert stage.keeper.problem is None
    assert len(slept) >= 4
    assert stage.settled[trials[0].key] is not None
    assert [failed.reason for failed in read_failures(stage.place.folder)] == [
        "its scores were not made: the machine died"
    ]


def test_what_is_told_until_the_halt_is_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    trial = spec()
    stage.begin(trial)
    stage.desk.tell(result(trial))
    stage.desk.halted.ready = True
    stage.keeper.halt()
    assert stage.settled[trial.key] is not None


class Stopped:
    """A person who presses ctrl-C at the so many-th line of the keeper's code, counted in lines that run."""

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


@pytest.mark.parametrize("place", ["folder"], indirect=True)
def test_a_stop_at_any_line_loses_no_score_that_was_handed_over(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Reference] = []
    soon = True

    def score(content: list[TrialSpec]) -> Reference:
        made.append(Reference(result(content[0]), ready=not soon))
        return made[-1]

    def come() -> None:
        for reference in made:
            reference.ready = True

    monkeypatch.setattr(module, "score_apart", Remote(score))
    monkeypatch.setattr("os.fsync", lambda handle: None)  # it takes most of the time
    stage.desk.halted.ready = True
    for line in itertools.count(1):
        handed, kept = spec(2 * line), spec(2 * line + 1)
        stage.begin(handed, kept, key=f"both {line}")
        stage.desk.tell({"kind": "unscored", "key": handed.key, "content": [handed]}, result(kept))
        stopped, soon = Stopped(line), True
        sys.settrace(stopped)
        try:
            stage.keeper.drain()
            come()
            stage.keeper.drain()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        soon = False
        come()
        stage.keeper.halt()
        assert all((stage.place.folder / LEDGER / f"{trial.key}.json").is_file() for trial in (handed, kept)), line
        if stopped.left > 0:
            break
    assert line > 50


def test_what_is_handed_over_in_the_last_moment_is_waited_for(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The halt is over, and what a crew told before it comes after: the score is made and kept."""
    trial = spec()
    stage.begin(trial)
    scores = Reference(result(trial), ready=False)
    monkeypatch.setattr(module, "score_apart", Remote(lambda content: scores))
    waits = []

    def wait(references: list[Reference], num_returns: int = 1, timeout: float = 0) -> tuple[list[Reference], Any]:
        waits.append(references)
        if len(waits) == 2:
            stage.desk.tell({"kind": "unscored", "key": trial.key, "content": [trial.key]})
        scores.ready = len(waits) > 20
        return FakeRay.wait(references)

    monkeypatch.setattr(module, "ray", SimpleNamespace(exceptions=FakeRay.exceptions, get=FakeRay.get, wait=wait))
    stage.desk.halted.ready = True
    stage.keeper.halt()
    assert stage.settled[trial.key] is not None


LABELS = ["../../../etc/passwd", "/etc/passwd", "a/b", "..", "\x1b[2Jrow\n\x00", "x" * 300]


@pytest.mark.parametrize("label", LABELS, ids=range(len(LABELS)))
@pytest.mark.parametrize("kept", [True, False])
def test_no_file_is_called_after_a_label(label: str, kept: bool, stage: Stage) -> None:
    trial = dataclasses.replace(spec(), name=label, sources=(SourceFile("plugin", "/a/b.py", "x = 1"),))
    stage.begin(trial)
    stage.tell({"kind": "started", "keys": [trial.key]}, result(trial) if kept else failure(trial))
    assert stage.keeper.problem is None
    stems = {Path(name).parts[1].partition(".")[0] for name in stage.files()}
    assert stems == {trial.key}
    assert to_config(trial.key, [trial])["key"] == trial.key  # what Tune calls its folders after


@pytest.mark.parametrize("name", [PREDICTIONS, MODELS, LEDGER, FAILURES, POPULATIONS])
def test_what_would_be_written_through_a_link_ends_the_study(stage: Stage, name: str, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    trials = [spec(0), spec(1)]
    stage.begin(*trials[: 1 + (name == POPULATIONS)])
    folder = stage.place.folder / name
    if folder.exists():
        folder.rename(stage.place.folder / "before")
    folder.symlink_to(tmp_path / "outside")
    if name == POPULATIONS:
        stage.begin(*trials, key="together")
    else:
        stage.tell(failure(trials[0]) if name == FAILURES else result(trials[0]))
    assert str(stage.keeper.problem).startswith(str(folder))
    assert "leads out of the results folder by a link" in str(stage.keeper.problem)
    assert not any((tmp_path / "outside").iterdir())
