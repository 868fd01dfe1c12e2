"""What a worker tells of a trial that ends by an error, without Ray."""

from __future__ import annotations

import dataclasses
import errno
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from safetensors import SafetensorError

import study.engine.worker as module
from reports.ledger.finals import FIRST_FRESH_SEED
from study.engine.messages import DiskFull, Event, Scored, WorkerTask
from study.engine.worker import perform
from study.engine.worker_group import Timesheet
from tests.simulated_study import planned
from trainables.errors import UnsuitedError

NO_ROOM = OSError(errno.ENOSPC, "No space left on device")
SAVING = SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
QUOTA = OSError(errno.EDQUOT, "Disk quota exceeded")


@dataclasses.dataclass
class Alone:
    """A group's only worker, which notes what it tells."""

    events: list[Event] = dataclasses.field(default_factory=list)
    finished: list[tuple[Any, ...]] = dataclasses.field(default_factory=list)
    coordinator: object = None
    group: str = "a"
    rank: int = 0
    count: int = 1
    timesheet: Timesheet = dataclasses.field(default_factory=Timesheet)

    def finish(self, task: WorkerTask, *events: Any) -> None:
        self.finished.append((task.number, *events))

    def tell(self, event: Event) -> None:
        self.events.append(event)


def by(cause: BaseException) -> Exception:
    """A library's error that comes of another one."""
    error = RuntimeError("the model was not saved")
    error.__cause__ = cause
    return error


def from_the_coordinator() -> OSError:
    """As the transport brings it."""
    try:
        try:
            raise ray.exceptions.RayTaskError("put_piece", "", NO_ROOM)
        except ray.exceptions.RayTaskError:
            raise OSError(errno.ENOSPC, "No space left on device") from None
    except OSError as error:
        return error


def ended_by(error: BaseException, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> Alone:
    """What the worker tells of a trial that raises it after its training."""

    def trials(*arguments: Any, **options: Any) -> Iterator[None]:
        yield from ()
        raise error

    monkeypatch.setattr(module, "run_trials", trials)
    monkeypatch.setattr(module, "TaskCheckpoints", lambda *of: SimpleNamespace(fetch=lambda folder: None))
    me: Any = Alone()
    (trial,) = planned(1)
    perform(WorkerTask("t", (dataclasses.replace(trial, **changes),), number=0), me)
    assert isinstance(me, Alone)
    return me


def test_a_setting_that_the_data_do_not_go_with_fails_a_row_and_final_but_no_explored_recipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = UnsuitedError("corpus.negatives_from=mined finds no negative")
    for changes in ({"row": True}, {"row": False, "seed": FIRST_FRESH_SEED}):
        failed = ended_by(error, monkeypatch, **changes)
        assert failed.events == []
        assert failed.finished[0][1] == str(error)
    (scored,) = ended_by(error, monkeypatch, row=False).events
    assert isinstance(scored, Scored)
    assert (scored.record.status, scored.record.unsuited) == ("pruned", str(error))


@pytest.mark.parametrize("error", [NO_ROOM, SAVING, QUOTA, by(NO_ROOM), by(by(SAVING))], ids=str)
def test_a_full_disk_ends_the_study_and_fails_no_trial(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    me = ended_by(error, monkeypatch)
    assert me.finished == []
    (full,) = me.events
    assert isinstance(full, DiskFull)
    assert full.reason.startswith("the disk of /")
    assert "set TMPDIR to another folder for temporary files, and run the same command again" in full.reason


@pytest.mark.parametrize("full", [True, False], ids=["full", "no right to write"])
def test_a_disk_that_is_full_from_the_start_ends_the_study(
    full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where Python asks for the first time where temporary files go, and can write nowhere. It does not say why."""

    def nowhere(*arguments: Any) -> None:
        raise NO_ROOM

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with monkeypatch.context() as patched:
        patched.setattr("os.open", nowhere)
        with pytest.raises(FileNotFoundError) as caught:
            tempfile.gettempdir()

    def first() -> None:
        raise caught.value

    monkeypatch.setattr(tempfile, "_get_default_tempdir", first)
    monkeypatch.setattr("os.access", lambda folder, right: full)
    me = ended_by(AssertionError("it never comes to a trial"), monkeypatch)
    if full:
        (events,) = me.events
        assert isinstance(events, DiskFull)
        assert events.reason.startswith("the disk of /")
    else:
        assert me.events == []
        assert "No usable temporary directory" in me.finished[0][1]


@pytest.mark.parametrize(
    "error",
    [OSError(errno.EACCES, "Permission denied"), SafetensorError("header too large"), from_the_coordinator()],
    ids=["no right", "a wrong file", "the disk of the results, which the study itself finds full"],
)
def test_other_errors_fail_their_trial_alone(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    me = ended_by(error, monkeypatch)
    assert me.events == []
    ((number, reason, _, _),) = me.finished
    assert number == 0
    assert str(error) in reason


FILL = """
import sys, numpy
from safetensors.numpy import save_file
try:
    save_file({"a": numpy.zeros(10**6)}, sys.argv[1] + "/a")
except Exception as error:
    print(error)
"""


def test_safetensors_tells_of_a_full_disk_in_these_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system of 256 KB."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a folder of their own (unshare -rm)")
    script = f"mount -t tmpfs -o size=256k none {tmp_path} && exec {sys.executable} -c '{FILL}' {tmp_path}"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], check=True, capture_output=True, text=True)
    assert [type(events) for events in ended_by(SafetensorError(done.stdout), monkeypatch).events] == [DiskFull]
