"""Runs studies that faults strike, in their own namespaces; prints a line of JSON per seed for the benchmark
`chaos`."""

from __future__ import annotations

import difflib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from benchmarks.chaos._faults import Case, Fault, fault_of
from benchmarks.chaos._machines import ROOT, Machines, kill, until
from benchmarks.chaos._struck_study import StruckStudy, trained
from benchmarks.chaos._work import EVERY, STEPS

COMMANDS = 4
"""The command of a study is run at most this many times."""
WAITING = 600.0
"""Seconds after which a running command is killed, and counts as hung."""
EARLIEST, LATEST = 0.15, 0.85
"""A fault strikes between these shares of all steps."""
WORDS_OF_OTHERS = re.compile(r"Traceback|\(raylet\)|Unhandled error|ray\.exceptions")
"""Pattern of console output which shows that a study did not end with a message of its own."""


@dataclass(frozen=True)
class Whole:
    """The result of an undisturbed study."""

    answer: str
    keys: list[str]
    seconds: float


@dataclass
class StrikeOutcome:
    """The effects of a fault on one study."""

    done: str
    moment: float
    """When the fault struck, as a share of all steps."""
    codes: list[int] = field(default_factory=list)
    """Exit code of each command."""
    repeated: int = 0
    """Number of repeated training steps, over all trials, without trials whose records the fault destroyed."""
    longest: int = 0
    """Largest number of repeated steps in one trial. The promise to users is per trial."""
    again: int = 0
    """Number of finished trials that were trained again."""
    seconds: float = 0.0
    """Seconds that all commands took, minus the seconds of the undisturbed study."""
    same: bool = False
    """Whether the study's report equals the report of the undisturbed study."""
    broken: list[str] = field(default_factory=list)
    """Messages about promises to users that the study broke."""


class Runner:
    """Runs studies one after another on one cluster."""

    def __init__(self, machines: Machines) -> None:
        self.machines = machines
        self.console = machines.scratch / "console.txt"
        self.whole: dict[str, Whole] = {}

    def undisturbed(self, system: StruckStudy) -> Whole:
        """Return the result of the undisturbed study, which runs only once."""
        if system.name not in self.whole:
            results, study, began = self._begin(system)
            code = self._wait(study)
            keys = sorted(trained(self.machines.log))
            answer = system.answer(results)
            if code or not answer:
                raise RuntimeError(f"{system.name} fails undisturbed:\n{self.console.read_text()[-3000:]}")
            self.whole[system.name] = Whole(answer, keys, time.monotonic() - began)
            shutil.rmtree(results)
        return self.whole[system.name]

    def strike(self, system: StruckStudy, fault: Fault, seed: int) -> StrikeOutcome:
        """Run a study, strike it with the fault, and run its command again until it ends."""
        whole, draw = self.undisturbed(system), random.Random(seed)
        outcome = StrikeOutcome("", draw.uniform(EARLIEST, LATEST))
        results, study, began = self._begin(system)
        total = STEPS * len(whole.keys)

        def reached() -> bool:
            taken = sum(map(len, trained(self.machines.log).values()))
            return taken >= outcome.moment * total or study.poll() is not None

        until(reached, WAITING)
        lasts = fault.lasts(draw)
        case = Case(self.machines, system, results, draw, lambda: self._start(system, results), study)
        kept = {path: path.read_bytes() for path in system.records(results)}
        finished = {path.stem: path.stat().st_mtime for path in kept}
        repair = fault.strike(case)
        outcome.done = case.done + (f" for {lasts:.0f} s" if lasts and "minute" not in case.done else "")
        until(lambda: study.poll() is not None, lasts)
        if repair is not None:
            repair()
        spent = 0.0
        while True:
            outcome.codes.append(self._wait(study))
            spent += time.monotonic() - began
            if outcome.codes[-1] == 0 or len(outcome.codes) == COMMANDS:
                break
            self.machines.ready()
            began, study = time.monotonic(), self._start(system, results)
        outcome.seconds = spent - whole.seconds
        self._count(outcome, case, finished)
        self._judge(outcome, fault, case, whole, kept)
        if outcome.broken:
            print(f"seed {seed}, {fault.name}:", self.console.read_text(errors="replace"), file=sys.stderr, flush=True)
        return outcome

    def _count(self, outcome: StrikeOutcome, case: Case, finished: dict[str, float]) -> None:
        """Count the work that was done twice, and store it in `outcome`."""
        lost = {path.stem for path in case.lost}
        for key, steps in trained(self.machines.log).items():
            if key in lost:
                continue
            more = len(steps) - len({step for step, _ in steps})
            outcome.repeated += more
            outcome.again += any(key in finished and at > finished[key] for _, at in steps)
            outcome.longest = max(outcome.longest, more)

    def _judge(self, outcome: StrikeOutcome, fault: Fault, case: Case, whole: Whole, before: dict[Path, bytes]) -> None:
        """Store messages about broken promises in `outcome`. `before`: the records when the fault struck."""
        survivors = {path: content for path, content in before.items() if path not in case.lost}
        answer = case.system.answer(case.results)
        outcome.same = answer == whole.answer
        if outcome.longest > fault.intervals * EVERY:
            outcome.broken.append(f"a trial repeated {outcome.longest} steps")
        if outcome.again:
            outcome.broken.append(f"{outcome.again} finished trials trained again")
        if outcome.codes[-1]:
            outcome.broken.append(f"it did not end well: {outcome.codes}")
        outcome.broken += case.system.problems(case.results, whole.keys, survivors)
        if not outcome.same:
            outcome.broken.append(f"another report: {_difference(whole.answer, answer)}")
        if WORDS_OF_OTHERS.search(self.console.read_text(errors="replace")):
            outcome.broken.append("a traceback, or Ray's own words")

    def _begin(self, system: StruckStudy) -> tuple[Path, subprocess.Popen[bytes], float]:
        self.machines.ready()
        self.machines.log.unlink(missing_ok=True)
        self.console.unlink(missing_ok=True)
        results = self.machines.disk / "results"
        shutil.rmtree(results, ignore_errors=True)
        return results, self._start(system, results), time.monotonic()

    def _start(self, system: StruckStudy, results: Path) -> subprocess.Popen[bytes]:
        environment = {**self.machines.environment, "RAY_ADDRESS": self.machines.address}
        with open(self.console, "ab") as log:
            return subprocess.Popen(
                system.command(results), env=environment, stdout=log, stderr=log, cwd=ROOT, start_new_session=True
            )

    def _wait(self, study: subprocess.Popen[bytes]) -> int:
        try:
            return study.wait(WAITING)
        except subprocess.TimeoutExpired:
            kill([study.pid])
            study.wait()
            return -1


def _difference(first: str, second: str) -> str:
    """Return the first line that only one of two texts has."""
    lines = difflib.ndiff(first.splitlines(), second.splitlines())
    return next((line for line in lines if line[:1] in "+-"), "")[:200]


def main(seeds: list[int]) -> None:
    """Strike one study for each seed, and print its outcome."""
    scratch = Path(tempfile.mkdtemp(prefix="ch"))
    machines = Machines(scratch)
    runner = Runner(machines)
    try:
        for seed in seeds:
            fault = fault_of(seed)
            outcome = asdict(runner.strike(StruckStudy(fault.workers), fault, seed))
            print(json.dumps({"seed": seed, "fault": fault.name, **outcome}), flush=True)
    finally:
        machines.kill_all()
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main([int(seed) for seed in sys.argv[1:]])
