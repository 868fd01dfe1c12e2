"""What the soak makes of readings: a leak is found, what is flat holds; and it reads real processes."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.engine import soak
from benchmarks.engine.soak import DISK, FILES, MEMORY, Finding, Watch, slope


def readings(
    growth: float, begin: int = 0, end: int = 2000, level: float = 400.0, seed: int = 0
) -> list[tuple[float, float]]:
    """Of memory that grows by so many MB in 1,000 trials, under noise that stays for some readings where it is."""
    draw, noise, series = random.Random(seed), 0.0, []
    for trials in range(begin, end, 5):
        noise = 0.9 * noise + draw.gauss(0, 1)
        series.append((float(trials), level + growth * trials / 1000 + noise))
    return series


class TestSlope:
    @pytest.mark.parametrize("growth", [0.0, 30.0, -5.0])
    def test_the_interval_holds_the_growth(self, growth: float):
        """In about 95 of 100 series, though their noise is no white one."""
        slopes = [slope([readings(growth, seed=seed)]) for seed in range(100)]
        assert sum(each is not None and each.low <= growth <= each.high for each in slopes) >= 80
        assert all(each is not None and abs(each.value - growth) < 6 for each in slopes)

    def test_by_hand(self):
        growth = slope([[(trials, 7 + trials / 100) for trials in range(12)]])
        assert (growth.value, growth.low, growth.high) == pytest.approx((10.0, 10.0, 10.0))

    def test_a_process_in_place_of_another_is_no_growth(self):
        """The second one begins at a level of its own; taken for one series they would grow by hundreds."""
        first, second = readings(0, end=1000), readings(0, begin=1000, level=900.0, seed=1)
        together, joined = slope([first, second]), slope([[*first, *second]])
        assert abs(together.value) < 10
        assert joined.value > 300

    def test_too_little_says_nothing(self):
        assert slope([]) is None
        assert slope([[(1.0, 5.0)], [(2.0, 6.0)]]) is None
        assert slope([[(1.0, float(value)) for value in range(20)]]) is None, "all after the same trial"


def finding(growth: float) -> Finding:
    return Finding(MEMORY, "coordinator", 400.0, slope([readings(growth)]))


def test_a_planted_leak_is_found_and_a_flat_series_holds():
    bound = finding(0).bound
    assert not finding(0).grows
    assert finding(0).line().endswith("| holds |")
    assert finding(2 * bound).grows
    assert finding(2 * bound).line().endswith("| **grows** |")
    assert not finding(-2 * bound).grows


def test_what_is_not_settled_is_said():
    few = [(trials, value) for trials, value in readings(0)[:8]]
    jumping = [(trials, value + 40 * (n % 3)) for n, (trials, value) in enumerate(few)]
    assert not Finding(MEMORY, "coordinator", 400.0, None).grows
    finding = Finding(MEMORY, "coordinator", 400.0, slope([jumping]))
    assert finding.slope.high > finding.bound


STUDY = """
import sys, time
from pathlib import Path
results, leaks, kept = Path(sys.argv[1]), sys.argv[2] == "leaks", []
(results / "ledger").mkdir()
for trial in range(60):
    (results / "ledger" / f"{trial}.json").write_text("1" * 8192)
    if leaks:
        kept.append((bytearray(2**18), open(__file__)))
    time.sleep(0.01)
"""


@pytest.mark.parametrize("leaks", [True, False])
def test_a_process_that_leaks_is_caught(leaks: bool, tmp_path: Path):
    """Memory, open files and disk of a process that writes a record every hundredth of a second, and keeps a quarter of
    a megabyte and an open file of each trial, or nothing."""
    script = tmp_path / "study.py"
    script.write_text(STUDY)
    results = tmp_path / "results"
    results.mkdir()
    watch = Watch({"results": results}, results / "ledger", every=0.0)
    command = [sys.executable, str(script), str(results), "leaks" if leaks else "flat"]
    with subprocess.Popen(command) as study:
        while study.poll() is None:
            watch(study.pid)
            time.sleep(0.01)
    assert study.returncode == 0
    assert watch.trials > 50
    findings = {(finding.what, finding.of): finding for finding in watch.findings(6)}
    assert findings[MEMORY, "other"].grows == leaks
    assert findings[FILES, "other"].grows == leaks
    on_disk = findings[DISK, "results"].slope
    assert on_disk.value == pytest.approx(8.2, abs=1.5)


def test_a_process_that_ends_stays_what_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its command line goes before its memory does; its readings must not be taken for those of others."""
    kinds = iter(["other", "trainable with its workers", "other"])
    monkeypatch.setattr(soak, "kind_of", lambda process: next(kinds))
    monkeypatch.setattr(soak, "tree", lambda process: [process])
    watch = Watch({}, tmp_path, every=0.0)
    for _ in range(3):
        watch(os.getpid())
    assert watch.kinds == {os.getpid(): "trainable with its workers"}


def test_it_fails_where_something_grows(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """With a study that is only looked at in the mind."""
    growth = {"value": 0.0, "real": 0.0}

    def run_quietly(command: list[str], log: Path, watch: Watch | None = None) -> str:
        if watch is None:
            assert "benchmarks.engine._soak_trials" in command
            return json.dumps([{"after": 400 + 100 * (n == 0) + growth["real"] * n + n % 3} for n in range(40)])
        watch.trials, watch.kinds[7] = 2000, "coordinator"
        watch.readings[MEMORY, 7] = readings(growth["value"])
        return ""

    monkeypatch.setattr(soak, "run_quietly", run_quietly)
    monkeypatch.setattr(soak.os, "environ", {})
    soak.main([])
    assert "| memory, MB | coordinator | " in capsys.readouterr().out
    growth["value"] = 100.0
    with pytest.raises(SystemExit, match="grows with the trials: memory, MB of coordinator"):
        soak.main([])
    growth.update(value=0.0, real=11.0)
    with pytest.raises(SystemExit, match="memory, MB of trials of MiniLM's shape in one process"):
        soak.main([])
