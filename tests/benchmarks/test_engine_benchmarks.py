"""What the engine's benchmarks make of records and processes, and the tasks that they give to worker groups."""

from __future__ import annotations

import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import _engine, _processes, big_batches, idle_share, trial_overhead
from benchmarks._simulated_gpu import simulated
from reports.ledger import Record
from reports.testing import made_record
from tests.breaking import be_killed, fail
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import SCENES, Recipe
from trainables.trial import Reporter, TrialResult, TrialSpec, Unscored

BURN = (
    "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass\nprint('burnt', flush=True)\n"
)


def record(seconds: float = 0.0, **spent: float) -> Record:
    return made_record({}, "0" * 12, 0, cost={"seconds": seconds, "crew": spent})


class TestRecords:
    def test_shares_leave_the_start_of_a_group_out(self) -> None:
        found = idle_share.shares([record(starting=50.0, busy=6.0, idle=1.0), record(busy=2.0, evaluating=1.0)])
        assert found == {"busy": 80.0, "evaluating": 10.0, "waiting": 0.0, "idle": 10.0}

    def test_overhead_is_what_the_trial_does_not_count_as_its_own(self) -> None:
        one = record(10.0, busy=8.5, evaluating=2.0, waiting=0.5, idle=0.25)
        assert trial_overhead.work(one) == 10.0
        assert trial_overhead.overhead(one) == pytest.approx(1.25)


class TestProcesses:
    def test_processor_time_of_a_process_and_what_it_started(self) -> None:
        started = f"import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', {BURN!r}])\n"
        command = [sys.executable, "-c", f"{started}time.sleep(60)"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                processor = _processes.Processor()
                began = time.time()
                processor(process.pid)
                seen = set()
                deadline = time.monotonic() + 60
                while processor.moments[-1][1] - processor.moments[0][1] < 0.4 and time.monotonic() < deadline:
                    time.sleep(0.02)
                    processor(process.pid)
                    seen |= {*processor.seconds}
                assert len(seen) == 2
                assert 0.4 <= processor.between(began, time.time()) < 5
                assert processor.between(began, began) == 0
            finally:
                process.kill()

    def test_memory_of_a_process_that_ended_is_nothing(self) -> None:
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        assert process.stdin is not None
        deadline = time.monotonic() + 60
        while _processes.memory(process.pid) < 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert 1 < _processes.memory(process.pid) < 100
        process.stdin.close()
        process.wait()
        assert _processes.memory(process.pid) == 0
        assert _processes.processor_seconds(process.pid) == 0


class TestMeasuredCommand:
    def test_its_last_line_comes_back(self, tmp_path: Path) -> None:
        said = _engine.run_quietly([sys.executable, "-c", "print('first'); print('last')"], tmp_path / "log")
        assert said == "last"

    def test_a_failure_is_told_with_its_last_line(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="the measured process failed: no such luck"):
            _engine.run_quietly([sys.executable, "-c", "raise SystemExit('no such luck')"], tmp_path / "log")

    def test_it_is_ended_before_memory_is_full(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_engine, "free_gb", lambda: 0.5)
        seen: list[int] = []
        with pytest.raises(UserError, match="memory"):
            _engine.run_quietly([sys.executable, "-c", "input()"], tmp_path / "log", watch=seen.append)
        assert not Path(f"/proc/{seen[0]}").exists()

    def test_it_joins_no_cluster_but_the_one_that_is_meant(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RAY_ADDRESS", "somebody:1")
        command = [sys.executable, "-c", "import os; print(os.environ.get('RAY_ADDRESS'))"]
        assert _engine.run_quietly(command, tmp_path / "log") == "None"
        assert _engine.run_quietly(command, tmp_path / "log", address="here:2") == "here:2"


class TestBigBatches:
    def test_a_step_that_is_killed_does_not_fit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(big_batches, "_measure", be_killed)
        assert big_batches._alone(Namespace(), 64, None) is None

    def test_another_failure_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(big_batches, "_measure", fail)
        with pytest.raises(UserError, match="a measurement broke off"):
            big_batches._alone(Namespace(), 64, None)

    def test_a_plain_step_that_may_not_fit_is_not_tried(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("trainables.training.memory.available_bytes", lambda device: 1_000_000)
        monkeypatch.setattr("trainables.training.chunks.Chunks.step", fail)
        sent: list[Any] = []
        asked = big_batches._parser().parse_args([])
        big_batches._measure(asked, 64, None, SimpleNamespace(send=sent.append))  # type: ignore[arg-type]
        assert sent == [None]
        with pytest.raises(SystemExit):  # passes are
            big_batches._measure(asked, 64, 512, SimpleNamespace(send=sent.append))  # type: ignore[arg-type]


class TestTasks:
    def test_a_group_that_does_nothing_needs_no_torch(self) -> None:
        """So that a hundred of them fit on one machine."""
        code = "import sys, study.engine.trainable, benchmarks._zero_work; raise SystemExit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

    @pytest.mark.parametrize(("hand_over", "kind"), [(True, Unscored), (False, TrialResult)])
    def test_a_simulated_trial_ends_as_a_real_one(
        self, hand_over: bool, kind: type[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slept: list[float] = []
        monkeypatch.setattr("benchmarks._simulated_gpu.time.sleep", slept.append)
        recipe, evaluation = Recipe().override({"optimisation.max_steps": 7}), EvaluationConfig(SCENES, ("STS12",))
        (result,) = simulated(
            [TrialSpec(recipe, 1, evaluation)], reporter=Reporter(), hand_over=hand_over, workers=None
        )
        assert slept == [idle_share.STEP_SECONDS] * 7
        assert isinstance(result, kind)
        if isinstance(result, TrialResult):
            assert result.scores["STS12"]["spearman_wmean"] is not None
