"""What the engine's benchmarks read of processes, and how they run commands."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.engine import _processes, _study
from trainables.errors import UserError


class TestProcesses:
    def test_memory_of_a_process_that_ended_is_nothing(self) -> None:
        process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while _processes.memory(process.pid) < 1 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert 1 < _processes.memory(process.pid) < 100
        process.stdin.close()
        process.wait()
        assert _processes.memory(process.pid) == 0


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
