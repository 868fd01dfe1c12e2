"""Two thousand short trials in one study: memory, open files and disk must not grow with them.

A study as `study/run.py` runs it on this machine, with Optuna, its ledger, its predictions and its journal; trials take
some milliseconds (`benchmarks._short_trial`). Meanwhile every process of the study is looked at: its memory (PSS: what
it shares with others is counted once) and its open files; and how many processes there are, and what lies on disk.

A slope is the growth per 1,000 trials with a 95 % interval; the first trials, in which caches fill, are left out. The
command fails where a slope is above its bound. What may grow is said in `BOUNDS`, and why.

After it come trials with an encoder of MiniLM's shape and varied batch sizes, one after the other in one process
(`benchmarks._real_trials`).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks._asked import check_numbers
from benchmarks._processes import OTHER, children, kind_of, memory, open_files, trees
from benchmarks._slopes import Slope, slope
from reports.ledger import LEDGER
from trainables.errors import UserError

ROWS = 18
"""Of the space; Optuna asks for as many recipes."""
WARM_UP = 0.1
"""Share of the trials after which a process is looked at, counted from the first that it was seen at."""
MEMORY, FILES, PROCESSES, DISK = "memory, MB", "open files", "processes", "disk, MB"
REAL, REAL_TRIALS = "trials of MiniLM's shape in one process", 40
"""Trials with an encoder of real size, beside those of some milliseconds, and how many."""
MB_A_TRIAL = 10.0
"""The most that such a process may grow by, each trial."""
BOUNDS = {
    (MEMORY, "study's process"): 60.0,  # Tune keeps each trial, and Optuna starts half-way
    (MEMORY, "trainable with its workers"): 20.0,
    (MEMORY, "coordinator"): 20.0,
    (MEMORY, "Ray's control service (GCS)"): 60.0,  # it keeps the last 10,000 tasks
    (DISK, "results"): 40.0,  # a trial: a record, a curve, and here 1,500 predictions
    (DISK, "Ray's own files"): 20.0,  # its logs
    (MEMORY, REAL): 1000 * MB_A_TRIAL,
}
"""Of each measure and what it is of: the most that it may grow by in 1,000 trials."""
OTHERS = {MEMORY: 20.0, FILES: 5.0, PROCESSES: 2.0, DISK: 20.0}
"""Of a measure where `BOUNDS` says nothing more."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table. `SystemExit` where something grows."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, trials=10 * ROWS, every=1, workers=1)
    from benchmarks import _engine

    seeds = -(-asked.trials // (2 * ROWS))
    options = ["--search", "optuna", "--trials", str(ROWS), "--seeds", str(seeds), "--cpus-per-worker", "1"]
    options += ["--workers", str(asked.workers), "--finals", "none"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        results, own = Path(scratch) / "results", Path(scratch) / "ray"
        os.environ.update({"RAY_TMPDIR": str(own), **_engine.SHARED_CORES})
        watch = Watch({"results": results, "Ray's own files": own}, results / LEDGER, asked.every)
        command = [
            sys.executable,
            "-m",
            "benchmarks._engine",
            str(results),
            "benchmarks._short_trial:perform",
            *options,
        ]
        began = time.monotonic()
        problem = None
        try:
            _engine.run_quietly(command, Path(scratch) / "log.txt", watch=watch)
        except UserError as error:
            problem = error
        minutes = (time.monotonic() - began) / 60
        found = [*watch.findings(WARM_UP * watch.trials), _real_trials(Path(scratch))]
    print(f"{watch.trials:,} trials in {minutes:.1f} minutes, looked at {watch.looks:,} times\n")
    print("| what | of | median | slope per 1,000 trials (95 %) | bound | |\n|---|---|---|---|---|---|")
    for finding in found:
        print(finding.line())
    if problem is not None:
        raise problem
    grown = [f"{finding.what} of {finding.of}" for finding in found if finding.grows]
    if grown:
        raise SystemExit(f"grows with the trials: {', '.join(grown)}")


@dataclass(frozen=True)
class Finding:
    """One measure of one kind of process or folder."""

    what: str
    of: str
    level: float
    slope: Slope | None
    """None where it was seen for too short a time."""

    @property
    def bound(self) -> float:
        return BOUNDS.get((self.what, self.of), OTHERS[self.what])

    @property
    def grows(self) -> bool:
        return self.slope is not None and self.slope.value > self.bound

    def line(self) -> str:
        """Of the table. Where the interval reaches over the bound, the study was too short to tell."""
        if self.slope is None:
            verdict = "seen too briefly"
        elif self.grows:
            verdict = "**grows**"
        else:
            verdict = "holds" if self.slope.high <= self.bound else "not settled"
        said = "-" if self.slope is None else str(self.slope)
        return f"| {self.what} | {self.of} | {self.level:.1f} | {said} | {self.bound:g} | {verdict} |"


@dataclass
class Watch:
    """Looks at a study's processes and folders now and then: call it with the number of the study's process."""

    folders: dict[str, Path]
    ledger: Path
    every: float
    """Seconds."""
    trials: int = 0
    looks: int = 0
    seen: dict[tuple[str, int], list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    """Trials and values by measure and process, or place of the folder."""
    kinds: dict[int, str] = field(default_factory=dict)
    """What a process is, by the last look that could tell: Ray's workers get their names after their start, and lose
    them as they end."""
    looked: float = float("-inf")

    def __call__(self, study: int) -> None:
        if time.monotonic() - self.looked < self.every:
            return
        self.trials = sum(path.suffix == ".json" for path in self.ledger.iterdir()) if self.ledger.is_dir() else 0
        there = 0
        for process in trees([study], children()):
            held = memory(process)
            if held:  # else it has ended
                there += 1
                kind = kind_of(process)
                if kind != OTHER or process not in self.kinds:
                    self.kinds[process] = kind
                self.seen[MEMORY, process].append((self.trials, held))
                self.seen[FILES, process].append((self.trials, open_files(process)))
        self.seen[PROCESSES, 0].append((self.trials, there))
        for place, folder in enumerate(self.folders.values()):
            self.seen[DISK, place].append((self.trials, on_disk(folder)))
        self.looks += 1
        self.looked = time.monotonic()

    def findings(self, warm_up: float) -> Iterator[Finding]:
        """What was seen, `warm_up` trials after each process began and later."""
        named = list(self.folders)
        grouped: dict[tuple[str, str], list[list[tuple[float, float]]]] = {}
        for (what, number), series in self.seen.items():
            of = named[number] if what == DISK else "all" if what == PROCESSES else self.kinds[number]
            late = [(trials, value) for trials, value in series if trials >= series[0][0] + warm_up]
            if late:
                grouped.setdefault((what, of), []).append(late)
        for (what, of), many in sorted(grouped.items()):
            yield Finding(what, of, median(value for series in many for _, value in series), slope(many))


def _real_trials(scratch: Path) -> Finding:
    """What a process of real trials has after each but the first, which imports and reads what the others use, too."""
    from benchmarks._engine import run_quietly

    command = [sys.executable, "-m", "benchmarks._real_trials", str(scratch / "encoder"), str(REAL_TRIALS)]
    after = [trial["after"] for trial in json.loads(run_quietly(command, scratch / "real.txt"))]
    return Finding(MEMORY, REAL, median(after), slope([list(enumerate(after))[1:]]))


def on_disk(folder: Path) -> float:
    """What a folder takes, in MB; files that go meanwhile are passed over."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_blocks * 512
            except FileNotFoundError:
                continue
    return total / 1e6


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks soak",
        description=(__doc__ or "").partition("\n")[0],
        epilog="example:\n  python -m benchmarks soak --trials 360",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trials", type=int, default=2000, metavar="N", help="at least so many (default 2000)")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="of a trial (default 1)")
    parser.add_argument("--every", type=int, default=2, metavar="S", help="seconds between two looks (default 2)")
    return parser
