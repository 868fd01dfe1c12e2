"""What the study itself does for the live page: it tells how far it is, and prints one line."""

from __future__ import annotations

import re
import socket
import threading
from pathlib import Path

import pytest

from reports.ledger import FAILURES, Curves, Ledger, Progress
from reports.live.folder import Folder
from reports.live.html import parts_of
from study.callbacks import live_page, progress_file
from study.callbacks.progress_file import ProgressFile
from tests.live_folder import empty_study, fail
from tests.simulated_study import Machine, Study, planned, record_of, simulate


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    return Study(tmp_path, monkeypatch, planned(3, seeds=2), at_once=2)


@pytest.fixture
def file(study: Study) -> ProgressFile:
    return ProgressFile(study.begin())


def written_progress(file: ProgressFile) -> Progress:
    file.write()
    return Progress.load(file.results)


def test_queued_running_and_ended_trials_are_told(study: Study, file: ProgressFile) -> None:
    progress = written_progress(file)
    assert progress.counts == {"queued": 6, "running": 0, "finished": 0, "stopped": 0, "failed": 0}
    assert (progress.queued[1].name, progress.queued[2].changes) == ("row 0", "objective.temperature=0.06")
    assert progress.queued[2].objective == study.queue[2].recipe.objective.name
    assert (progress.seconds_left, progress.at_once, progress.ended) == (None, 2, False)

    first, second = study.start(file, members=2)  # a population
    (third,) = study.start(file)
    for step in (25, 50):
        for trial in (first, second):
            study.tell(file, "step", trial, step, 100, {"loss": 2.0})
    study.tell(file, "rung", third, 3, {"sts": 61.5})
    progress = written_progress(file)
    assert progress.counts == {"queued": 3, "running": 3, "finished": 0, "stopped": 0, "failed": 0}
    assert [(entry.name, entry.seed, entry.step, entry.steps, entry.loss) for entry in progress.running] == [
        ("row 0", 0, 50, 100, 2.0),
        ("row 0", 1, 50, 100, 2.0),
        ("row 1", 0, None, None, None),
    ]
    assert (progress.running[2].rung, progress.running[2].scores) == (3, {"sts": 61.5})

    study.finish(file, first, record_of(first, 1, 1))  # one member is evaluated already
    assert written_progress(file).counts == {"queued": 3, "running": 2, "finished": 1, "stopped": 0, "failed": 0}
    study.now += 60
    assert written_progress(file).estimate == "from 1 trial that ended and the steps of 1 trial that runs"
    study.finish(file, second, record_of(second, 1, 1, "pruned"))
    study.fail(file, third, "no such file")
    assert written_progress(file).counts == {"queued": 3, "running": 0, "finished": 1, "stopped": 1, "failed": 1}

    study.tell(file, "close")
    last = Progress.load(file.results)
    assert last.ended
    assert last.counts["queued"] == 3


def test_only_what_runs_and_what_is_listed_is_remembered_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = Study(tmp_path, monkeypatch, planned(6, seeds=4), at_once=2)
    monkeypatch.setattr(progress_file, "LISTED", 5)
    file = ProgressFile(study.begin())
    while study.queue:
        *failing, finishing = study.start(file, members=3)
        for trial in failing:
            study.fail(file, trial, "no such file")
        study.finish(file, finishing, record_of(finishing, 1.0, 1.0))
        assert len(written_progress(file).queued) == len(file.words) == min(5, len(study.queue))
    assert written_progress(file).queued == []
    assert file.words == {}


def test_what_an_interrupted_run_leaves_is_in_the_queue(study: Study, file: ProgressFile) -> None:
    study.start(file)
    study.tell(file, "close")
    progress = Progress.load(file.results)
    assert progress.running == []
    assert progress.counts["queued"] == 6


def test_earlier_runs_count_and_a_failure_does_not_once_it_is_tried_again(study: Study) -> None:
    done, failed = study.queue.popleft(), study.queue[0]
    study.ledger.write(record_of(done, 1, 1))
    fail(study.results, failed.key, failed.name, "no such file")
    file = ProgressFile(study.begin())
    assert written_progress(file).counts == {"queued": 5, "running": 0, "finished": 1, "stopped": 0, "failed": 1}
    study.start(file)
    assert written_progress(file).counts == {"queued": 4, "running": 1, "finished": 1, "stopped": 0, "failed": 0}


def test_the_ledger_is_read_once(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ProgressFile(study.begin())
    for method in ("read", "sift", "get", "has"):
        monkeypatch.setattr(Ledger, method, None)
    for _ in simulate(study, file, Machine(2), lambda trial: 5.0, lambda trial: 5.0):
        pass
    assert written_progress(file).counts["finished"] == 6


def test_losses_are_noted_by_trial(study: Study, file: ProgressFile) -> None:
    for _ in simulate(study, file, Machine(2, together=2), lambda trial: 5.0, lambda trial: 5.0):
        pass
    study.tell(file, "close")
    curves = Curves(study.results).all()
    assert curves.keys() == {record.key for record in study.ledger.read()}
    assert {curve.steps for curve in curves.values()} == {100}
    assert all([step for step, _ in curve.points] == [*range(1, 101)] for curve in curves.values())
    assert not list((study.results / FAILURES).glob("*"))


def test_what_diverges_leaves_a_curve_that_ends(study: Study, file: ProgressFile) -> None:
    (trial,) = study.start(file)
    study.tell(file, "step", trial, 1, 10, {"loss": 2.0})
    study.tell(file, "step", trial, 2, 10, {"loss": float("nan")})
    assert written_progress(file).running[0].step == 2
    assert Curves(study.results).all()[trial.key].points == [(1, 2.0)]


def test_a_trial_that_is_tried_again_says_so_on_the_page(study: Study, file: ProgressFile) -> None:
    (trial,) = study.start(file)
    study.tell(file, "step", trial, 50, 100, {"loss": 2.0})
    assert "again" not in _part(file, "running")
    study.tell(file, "started", [trial])
    (again,) = written_progress(file).running
    assert (again.attempt, again.step) == (2, None)
    study.tell(file, "step", trial, 20, 100, {"loss": 2.0})
    assert "20 of 100, again (2)" in _part(file, "running")


def test_starts_that_fail_are_on_the_page_until_one_succeeds_or_the_study_has_ended_by_them(
    study: Study, file: ProgressFile
) -> None:
    (trial,) = study.start(file)
    study.tell(file, "interrupted", [trial])
    assert "failed" not in _part(file, "state")
    study.tell(file, "not_started", [trial], 3, "ImportError: no <b>torch</b>")
    reason = "the last 3 starts failed: ImportError: no &lt;b&gt;torch&lt;/b&gt;"
    assert reason in _part(file, "state")
    file.close()
    assert reason in parts_of(Folder(file.results).view(), {})["state"]
    study.tell(file, "started", [trial])
    assert "failed" not in _part(file, "state")


def _part(file: ProgressFile, name: str) -> str:
    file.write()
    return parts_of(Folder(file.results).view(), {})[name]


def test_it_is_written_soon_after_a_change_and_seldom_otherwise(
    study: Study, file: ProgressFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[float] = []
    write = file.write
    monkeypatch.setattr(file, "write", lambda: (written.append(study.now), write()))
    for _ in range(300):  # half a minute
        file.tick()
        study.now += 0.1
    assert 5 <= len(written) <= 7
    study.start(file)
    file.tick()
    study.now += 1.1
    file.tick()
    assert study.now - written[-1] < 1.2


def test_a_full_disk_is_told_once_and_tried_again(
    study: Study, file: ProgressFile, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(self: Progress, results: Path) -> Path:
        raise OSError("no space left on the device")

    with monkeypatch.context() as change:
        change.setattr(Progress, "save", full)
        file.write()
        file.write()
    assert capsys.readouterr().out.splitlines() == ["warning: what runs cannot be shown: no space left on the device"]
    assert written_progress(file).counts["queued"] == 6


def test_of_a_long_queue_only_what_is_listed_is_put_into_words(
    study: Study, file: ProgressFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    study.queue.extend(planned(500, name="other {}".format))
    named = []
    monkeypatch.setattr(progress_file, "in_short", lambda base, recipe: str(named.append(recipe)))
    for _ in range(2):  # and each of them once
        assert len(written_progress(file).queued) == len(named) == progress_file.LISTED


class TestAddress:
    def test_the_page_ends_with_the_study(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        empty_study(tmp_path)
        end = live_page.show_live(tmp_path)
        port = re.search(r"127\.0\.0\.1:(\d+)", capsys.readouterr().out)
        address = ("127.0.0.1", int(port[1]))
        socket.create_connection(address, timeout=20).close()
        end()
        assert "live page" not in {thread.name for thread in threading.enumerate()}
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, timeout=20)

    def test_one_line_says_where_the_page_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(socket, "gethostname", lambda: "node7")
        monkeypatch.setattr(live_page, "inside_job", lambda: False)
        line = live_page.how_to_reach("http://127.0.0.1:4321/")
        assert line == (
            "live page: http://127.0.0.1:4321/ on this machine; from elsewhere first: "
            "ssh -N -L 4321:127.0.0.1:4321 node7 (node7: this machine's name as you reach it)"
        )
        monkeypatch.setattr(live_page, "inside_job", lambda: True)
        assert "on node7, the cluster's node where this job's driver runs" in live_page.how_to_reach(
            "http://127.0.0.1:1/"
        )

    def test_a_page_that_cannot_be_served_is_one_sentence(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def broken(results: Path) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(live_page, "listen", broken)
        live_page.show_live(tmp_path)()
        printed = capsys.readouterr().out
        assert printed.startswith("no live page: can't start new thread; the study goes on")
        assert len(printed.splitlines()) == 1
