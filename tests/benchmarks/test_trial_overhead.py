"""What the engine's benchmarks make of records and processes, and the tasks that they give to worker groups."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.engine import _processes, _study, trial_overhead
from reports.testing import made_record
from trainables.errors import UserError

BURN = (
    "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass\nprint('burnt', flush=True)\n"
)


def test_overhead_is_what_the_trial_does_not_count_as_its_own() -> None:
    spent = {"busy": 8.5, "evaluating": 2.0, "waiting": 0.5, "idle": 0.25}
    record = made_record({}, "0" * 12, 0, cost={"seconds": 10.0, "crew": spent})
    assert trial_overhead.work(record) == 10.0
    assert trial_overhead.overhead(record) == pytest.approx(1.25)


class TestProcesses:
    def test_processor_time_of_a_process_and_what_it_started(self) -> None:
        started = f"import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', {BURN!r}])\n"
        command = [sys.executable, "-c", f"{started}time.sleep(60)"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                processor = _processes.Processor()
                began = time.time()
                processor(process.pid)
                processes = set()
                deadline = time.monotonic() + 60
                while processor.moments[-1][1] - processor.moments[0][1] < 0.4 and time.monotonic() < deadline:
                    time.sleep(0.02)
                    processor(process.pid)
                    processes |= {*processor.seconds}
                assert len(processes) == 2
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
    def test_its_last_line_is_returned_and_it_joins_no_cluster(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RAY_ADDRESS", "somebody:1")
        command = [sys.executable, "-c", "import os; print('first'); print(os.environ.get('RAY_ADDRESS'))"]
        assert _study.run_quietly(command, tmp_path / "log") == "None"

    def test_a_failure_is_told_with_its_last_line(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="the measured process failed: no such luck"):
            _study.run_quietly([sys.executable, "-c", "raise SystemExit('no such luck')"], tmp_path / "log")

    def test_it_is_ended_before_memory_is_full(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_study, "free_gb", lambda: 0.5)
        processes: list[int] = []
        with pytest.raises(UserError, match="memory"):
            _study.run_quietly([sys.executable, "-c", "input()"], tmp_path / "log", watch=processes.append)
        assert not Path(f"/proc/{processes[0]}").exists()
