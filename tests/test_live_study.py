"""What the study itself does for the live page: it tells how far it is, and prints one line."""

from __future__ import annotations

import re
import socket
import threading
from collections import deque
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reports.ledger import LEDGER, Curves, Ledger, Progress, Record, add_losses
from study import live, progress
from study.failures import keep_failure
from study.plan import PlannedTrial
from study.progress import ProgressFile
from study.searcher import files_key
from study.spec import METRIC, RUNG, TrialSpec
from study.worker import _RayReporter
from tests.live_folder import empty_study
from trainables.recipe import Recipe

BASE = Recipe()
TRIALS = [
    PlannedTrial(BASE.override({"objective.weight": weight}), seed, f"row {weight}", row=True)
    for weight in (0.1, 0.2, 0.3)
    for seed in (0, 1)
]


class Study:
    """A study without Ray: it is its own searcher, and has a ledger and a clock."""

    def __init__(self, results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.results, self.ledger, self.clock = results, Ledger(results / LEDGER), 1000.0
        self.queue = deque(TRIALS)
        self.running: dict[str, list[PlannedTrial]] = {}
        monkeypatch.setattr(progress.time, "monotonic", lambda: self.clock)
        plan: Any = SimpleNamespace(results=results, base=BASE)
        self.interrupted: deque[list[PlannedTrial]] = deque()
        searcher: Any = self
        self.file = ProgressFile(plan, searcher, self.ledger, at_once=2)

    @property
    def remaining(self) -> int:
        begun = [planned for members in self.running.values() for planned in members]
        return len(self.queue) + sum(not self.ledger.has(planned.recipe.hash, planned.seed) for planned in begun)

    def start(self, trial_id: str, members: int = 1) -> None:
        self.running[trial_id] = [self.queue.popleft() for _ in range(members)]
        self.file.on_trial_start(0, [], SimpleNamespace(trial_id=trial_id))

    def losses(self, trial_id: str, step: int) -> None:
        members = self.running[trial_id]
        add_losses(self.results, files_key(members), step, 100, {planned.key: 2.0 for planned in members})

    def finish(self, planned: PlannedTrial, status: Any = "finished") -> None:
        self.ledger.write(Record(planned.recipe.flat(), planned.recipe.hash, planned.seed, status))

    def end(self, trial_id: str) -> None:
        del self.running[trial_id]
        self.file.on_trial_complete(0, [], SimpleNamespace(trial_id=trial_id))

    def told(self) -> Progress:
        self.file.write()
        found = Progress.load(self.results)
        assert found is not None
        return found


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    return Study(tmp_path, monkeypatch)


def spec_of(planned: PlannedTrial, results: Path, scheduled: bool = False) -> TrialSpec:
    flat = planned.recipe.flat()
    return TrialSpec(
        flat, planned.recipe.hash, planned.seed, planned.name, str(results), {"CPU": 1}, 1, scheduled, "2 cores"
    )


def test_queued_running_and_ended_trials_are_told(study: Study) -> None:
    told = study.told()
    assert told.counts == {"queued": 6, "running": 0, "finished": 0, "stopped": 0, "failed": 0}
    assert (told.queued[0].name, told.queued[0].changes) == ("row 0.1", "objective.weight=0.1")
    assert (told.seconds_left, told.at_once, told.ended) == (None, 2, False)

    study.start("a", members=2)  # a population
    study.start("b")
    study.losses("a", 50)
    study.file.on_trial_result(0, [], SimpleNamespace(trial_id="b"), {RUNG: 3, METRIC: 61.5})
    told = study.told()
    assert told.counts == {"queued": 3, "running": 3, "finished": 0, "stopped": 0, "failed": 0}
    assert [(one.name, one.seed, one.step, one.steps, one.loss) for one in told.running] == [
        ("row 0.1", 0, 50, 100, 2.0),
        ("row 0.1", 1, 50, 100, 2.0),
        ("row 0.2", 0, None, None, None),
    ]
    assert (told.running[2].rung, told.running[2].score) == (3, 61.5)

    study.finish(TRIALS[0])  # one member is evaluated already
    assert study.told().counts == {"queued": 3, "running": 2, "finished": 1, "stopped": 0, "failed": 0}
    study.clock += 60
    assert study.file.time_left()[0] is not None  # it counts, although the population goes on
    study.finish(TRIALS[1], "pruned")
    study.end("a")
    keep_failure(spec_of(TRIALS[2], study.results), "no such file")
    study.end("b")
    assert study.told().counts == {"queued": 3, "running": 0, "finished": 1, "stopped": 1, "failed": 1}

    study.file.close()
    told = Progress.load(study.results)
    assert told is not None
    assert told.ended
    assert told.counts["queued"] == 3


def test_what_an_interrupted_run_leaves_is_in_the_queue(study: Study) -> None:
    study.start("a")
    study.file.close()
    told = Progress.load(study.results)
    assert told is not None
    assert told.running == []
    assert told.counts["queued"] == 6


def test_time_left(study: Study) -> None:
    study.start("a")
    study.start("b")
    assert study.file.time_left()[0] is None  # nothing is known yet
    study.losses("b", 50)
    study.clock += 60
    study.finish(TRIALS[0])
    study.end("a")
    # Half of a trial is its training: 1.25 trials in a minute, and 4.75 are left.
    assert study.file.time_left()[0] == pytest.approx(228)
    study.file.training_shares = {"earlier": 1.0}  # as records tell: 1.5 trials in a minute, and 4.5 are left
    assert study.file.time_left()[0] == pytest.approx(180)
    assert "1 trial that ended in 1.0 minutes" in study.told().estimate


def test_it_is_written_soon_after_a_change_and_seldom_otherwise(study: Study) -> None:
    written = []
    study.file.write = lambda ended=False: (written.append(study.clock), ProgressFile.write(study.file))  # type: ignore[method-assign]
    for _ in range(300):  # half a minute of Tune's rounds
        study.file.on_step_end(0, [])
        study.clock += 0.1
    assert 5 <= len(written) <= 7
    study.start("a")
    study.file.on_step_end(0, [])
    study.clock += 1.1
    study.file.on_step_end(0, [])
    assert study.clock - written[-1] < 1.2


def test_a_full_disk_is_told_once_and_ends_nothing(
    study: Study, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(self: Progress, results: Path) -> Path:
        raise OSError("no space left on the device")

    monkeypatch.setattr(Progress, "save", full)
    study.file.write()
    study.file.write()
    assert capsys.readouterr().out.splitlines() == ["warning: what runs cannot be shown: no space left on the device"]


def test_no_error_leaves_tunes_callback(
    study: Study, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(study.file, "time_left", lambda: {}["trial"])
    study.file.on_step_end(0, [])
    study.file.close()
    assert capsys.readouterr().out == "warning: what runs cannot be shown: 'trial'\n"


def test_of_a_long_queue_only_what_is_listed_is_put_into_words(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    study.queue.extend(TRIALS * 200)
    asked = []
    monkeypatch.setattr(progress, "differences", lambda base, recipe: str(asked.append(recipe)))
    assert len(study.told().queued) == len(asked) == progress.LISTED


def test_workers_note_about_a_hundred_losses_of_each_member(tmp_path: Path) -> None:
    reporter = _RayReporter([spec_of(planned, tmp_path) for planned in TRIALS[:2]], "population-1")
    reporter.begin(1050)
    for step in range(1, 1051):
        reporter.step(step, {"loss/0": 3.0, "loss/1": 4.0} if step < 700 else {"loss/0": 3.0})  # the second diverged
    curves = Curves(tmp_path).all()
    first, second = curves[TRIALS[0].key], curves[TRIALS[1].key]
    assert first.steps == 1050
    assert [first.points[0], first.points[-1]] == [(1, 3.0), (1050, 3.0)]
    assert 100 <= len(first.points) <= 110
    assert second.points[-1] == (690, 4.0)


class TestAddress:
    def test_the_page_ends_with_the_study(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        empty_study(tmp_path)
        end = live.show_live(tmp_path)
        found = re.search(r"127\.0\.0\.1:(\d+)", capsys.readouterr().out)
        assert found is not None
        address = ("127.0.0.1", int(found[1]))
        socket.create_connection(address, timeout=20).close()
        end()
        assert "live page" not in {thread.name for thread in threading.enumerate()}
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, timeout=20)

    def test_one_line_says_where_the_page_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(socket, "gethostname", lambda: "node7")
        monkeypatch.setattr(live, "inside_job", lambda: False)
        line = live.how_to_reach("http://127.0.0.1:4321/")
        assert line == (
            "live page: http://127.0.0.1:4321/ on this machine; from elsewhere first: "
            "ssh -N -L 4321:127.0.0.1:4321 node7"
        )
        monkeypatch.setattr(live, "inside_job", lambda: True)
        assert "on node7, the cluster's node where this job's driver runs" in live.how_to_reach("http://127.0.0.1:1/")

    def test_a_page_that_cannot_be_served_is_one_sentence(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def broken(results: Path) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(live, "listen", broken)
        live.show_live(tmp_path)()
        printed = capsys.readouterr().out
        assert printed.startswith("no live page: can't start new thread; the study goes on")
        assert len(printed.splitlines()) == 1
