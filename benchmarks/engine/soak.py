"""Two thousand short trials in one study: memory, open files and disk must not grow with them.

    python -m benchmarks soak --trials 360

A study as `study/run.py` runs it on this machine, with Optuna, its ledger, its predictions and its journal; trials take
some milliseconds (`_soak_trials.py`). Meanwhile every process of the study is looked at: its memory (PSS: what several
processes share is counted once) and its open files; and the number of processes, and what is on disk.

A slope is the growth per 1,000 trials with a 95 % interval; the first trials, in which caches fill, are left out. The
command fails where a slope is above its bound (`BOUNDS`). After it come trials with an encoder of MiniLM's shape and
varied batch sizes, one after the other in one process.
"""

from __future__ import annotations

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

import numpy as np
from scipy import stats

from benchmarks.engine._processes import OTHER, kind_of, memory, open_files, tree
from benchmarks.engine._study import SHARED_CORES, run_quietly
from benchmarks.options import add_number, parser_of
from benchmarks.tables import head, row
from reports.ledger import LEDGER
from trainables.errors import UserError

ROWS = 18
"""Of the space; Optuna asks for as many recipes."""
WARM_UP = 0.1
"""Share of the trials after which a process is looked at, counted from the first look at it."""
MEMORY, FILES, PROCESSES, DISK = "memory, MB", "open files", "processes", "disk, MB"
REAL, REAL_TRIALS = "trials of MiniLM's shape in one process", 40
"""Trials with an encoder of real size, and how many."""
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
PER = 1000
"""Slopes are per so many trials."""
BLOCKS = 12
"""A series is averaged in so many parts. Memory of a process stays for a while as it is, so single readings tell less
than their number says; means of parts are nearly independent."""
LEAST_FREEDOM = 3
"""Of fewer degrees of freedom nothing is said."""
Series = Sequence[tuple[float, float]]
"""Trials until then, and a value."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table. `SystemExit` where something grows."""
    parser = parser_of(__name__, __doc__)
    add_number(parser, "--trials", 2000, "at least so many", least=10 * ROWS)
    add_number(parser, "--workers", 1, "of a trial")
    add_number(parser, "--every", 2, "seconds between two looks")
    options = parser.parse_args(arguments)
    seeds = -(-options.trials // (2 * ROWS))
    study = ["--search", "optuna", "--trials", str(ROWS), "--seeds", str(seeds), "--cpus-per-worker", "1"]
    study += ["--workers", str(options.workers), "--finals", "none"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        results, ray = Path(scratch) / "results", Path(scratch) / "ray"
        os.environ.update({"RAY_TMPDIR": str(ray), **SHARED_CORES})
        watch = Watch({"results": results, "Ray's own files": ray}, results / LEDGER, options.every)
        command = [sys.executable, "-m", "benchmarks.engine._study", str(results)]
        command += ["benchmarks.engine._soak_trials:perform", *study]
        began = time.monotonic()
        problem = None
        try:
            run_quietly(command, Path(scratch) / "log.txt", watch=watch)
        except UserError as error:
            problem = error
        minutes = (time.monotonic() - began) / 60
        findings = [*watch.findings(WARM_UP * watch.trials), _real_trials(Path(scratch))]
    print(f"{watch.trials:,} trials in {minutes:.1f} minutes, looked at {watch.looks:,} times\n")
    print(head("what", "of", "median", "slope per 1,000 trials (95 %)", "bound", ""))
    for finding in findings:
        print(finding.line())
    if problem is not None:
        raise problem
    grown = [f"{finding.what} of {finding.of}" for finding in findings if finding.grows]
    if grown:
        raise SystemExit(f"grows with the trials: {', '.join(grown)}")


@dataclass(frozen=True)
class Slope:
    """Growth per 1,000 trials, with a 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:+.2f} ({self.low:+.2f} to {self.high:+.2f})"


def slope(series: Sequence[Series]) -> Slope | None:
    """One slope of several processes, with a level for each, so that one that begins in place of another is no growth.
    None where there is too little to tell."""
    means = [_blocks(readings) for readings in series if len(readings) > 1]
    freedom = sum(map(len, means)) - len(means) - 1
    if not means or freedom < LEAST_FREEDOM:
        return None
    trials, values = (np.concatenate([block[:, at] - block[:, at].mean() for block in means]) for at in (0, 1))
    spread = float((trials**2).sum())
    if not spread:
        return None
    each = float((trials * values).sum()) / spread
    error = float(np.sqrt(((values - each * trials) ** 2).sum() / freedom / spread))
    reach = float(stats.t.ppf(0.975, freedom)) * error
    return Slope(PER * each, PER * (each - reach), PER * (each + reach))


def _blocks(series: Series) -> np.ndarray:  # (blocks, 2)
    parts = np.array_split(np.array(series, dtype=float), min(BLOCKS, len(series)))
    return np.array([part.mean(axis=0) for part in parts])


@dataclass(frozen=True)
class Finding:
    """One measure of one kind of process or folder."""

    what: str
    of: str
    level: float
    slope: Slope | None
    """None where it was looked at for too short a time."""

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
        return row(self.what, self.of, f"{self.level:.1f}", self.slope or "-", f"{self.bound:g}", verdict)


@dataclass
class Watch:
    """Looks at a study's processes and folders now and then: call it with the number of the study's process."""

    folders: dict[str, Path]
    ledger: Path
    every: float
    """Seconds."""
    trials: int = 0
    looks: int = 0
    readings: dict[tuple[str, int], list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    """Trials and values by measure and process, or place of the folder."""
    kinds: dict[int, str] = field(default_factory=dict)
    """What a process is, by the last look that could tell: Ray's workers get their names after their start, and lose
    them as they end."""
    looked: float = float("-inf")

    def __call__(self, study: int) -> None:
        if time.monotonic() - self.looked < self.every:
            return
        self.trials = sum(path.suffix == ".json" for path in self.ledger.iterdir()) if self.ledger.is_dir() else 0
        living = 0
        for process in tree(study):
            size = memory(process)
            if size:  # else it has ended
                living += 1
                kind = kind_of(process)
                if kind != OTHER or process not in self.kinds:
                    self.kinds[process] = kind
                self.readings[MEMORY, process].append((self.trials, size))
                self.readings[FILES, process].append((self.trials, open_files(process)))
        self.readings[PROCESSES, 0].append((self.trials, living))
        for place, folder in enumerate(self.folders.values()):
            self.readings[DISK, place].append((self.trials, on_disk(folder)))
        self.looks += 1
        self.looked = time.monotonic()

    def findings(self, warm_up: float) -> Iterator[Finding]:
        """Of all readings, `warm_up` trials after each process began and later."""
        folders = list(self.folders)
        grouped: dict[tuple[str, str], list[Series]] = {}
        for (what, number), series in self.readings.items():
            of = folders[number] if what == DISK else "all" if what == PROCESSES else self.kinds[number]
            late = [(trials, value) for trials, value in series if trials >= series[0][0] + warm_up]
            if late:
                grouped.setdefault((what, of), []).append(late)
        for (what, of), many in sorted(grouped.items()):
            yield Finding(what, of, median(value for series in many for _, value in series), slope(many))


def _real_trials(scratch: Path) -> Finding:
    """What a process of real trials has after each but the first, which imports and reads what the others use, too."""
    command = [sys.executable, "-m", "benchmarks.engine._soak_trials", str(scratch / "encoder"), str(REAL_TRIALS)]
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
