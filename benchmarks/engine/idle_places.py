"""The share of time in which a place for trials stands idle, by simulation: finals, race and ASHA over 2 to 64 places.

The study's own searcher hands trials out, and its own scheduler stops them; only trials are made up. Each takes as long
as is drawn for its recipe, about a third more or less than the median; its score comes from the recipe and the seed.
A search has so many recipes for each place, and ends in its finals: some places must stand idle at the end of each of
its parts, when fewer trials are left than places. So three shares are told: until nothing of the search (race included)
was left to begin, of the whole study, and what of this no order of the same trials could spare, even one that knew how
long each takes.
"""

from __future__ import annotations

import heapq
import math
import os
import random
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks.options import add_number, parser_of
from benchmarks.tables import head, row

if TYPE_CHECKING:
    from reports.ledger import Ledger
    from study.plan import Plan
    from study.search.tune_searcher import TuneSearcher
    from study.trial import Trial

WAYS = {
    "finals": (),
    "race, finals": ("--seeds", "1:3"),
    "asha, finals": ("--scheduler", "asha"),
}
"""How a search is asked for, beside `--search optuna`."""
SPACE = "scl_tau"
MEDIAN, SPREAD = 60.0, 0.33
"""Seconds of a trial, and the deviation of their logarithm."""
SHARES = (0.125, 0.25, 0.5, 1.0)
"""Of a training, at each rung and at its end."""


def main(arguments: Sequence[str]) -> None:
    """Simulate, and print a markdown table."""
    parser = parser_of(__name__, __doc__)
    add_number(parser, "--places", [2, 8, 64], "trials at once")
    add_number(parser, "--recipes", 20, "for each place")
    add_number(parser, "--repeats", 5, "studies of each kind")
    options = parser.parse_args(arguments)
    shares = ("idle until the search's end, %", "idle, whole, %", "of it inherent, %")
    print(head("search", "places", "recipes", "trials", "seconds", *shares))
    for way, search in WAYS.items():
        for places in options.places:
            recipes = options.recipes * places
            with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):  # what a study says on its way
                runs = [simulated(search, places, recipes, seed) for seed in range(options.repeats)]
            cells = [f"{fmean(run.trials for run in runs):.0f}", f"{fmean(run.seconds for run in runs):.0f}"]
            for idle in zip(*((run.searching, run.whole, run.least) for run in runs), strict=True):
                cells.append(f"{100 * fmean(idle):.1f} ({100 * min(idle):.1f} to {100 * max(idle):.1f})")
            print(row(way, places, recipes, *cells), flush=True)


@dataclass
class SimulatedCourse:
    """What a simulated study did with its places."""

    places: int
    spans: list[tuple[float, float]] = field(default_factory=list)
    """When each trial began and ended."""
    searched: float = 0.0
    """When the last trial of the search began, race included."""
    shortest: float = 0.0
    """What it would take in the best order of its trials."""

    @property
    def trials(self) -> int:
        """How many there were."""
        return len(self.spans)

    @property
    def seconds(self) -> float:
        """What it took."""
        return max(last for _, last in self.spans)

    @property
    def searching(self) -> float:
        """The share of all places' time without a trial, until the last trial of the search began."""
        return self._idle(self.searched, self.searched)

    @property
    def whole(self) -> float:
        """The same, of all of it."""
        return self._idle(self.seconds, self.seconds)

    @property
    def least(self) -> float:
        """The same, of all of it in the best order."""
        return self._idle(self.seconds, self.shortest)

    def _idle(self, end: float, length: float) -> float:
        """Of that length, with what ran until the end."""
        busy = math.fsum(max(0.0, min(last, end) - first) for first, last in self.spans)
        return max(0.0, 1 - busy / (self.places * length))


def simulated(options: Sequence[str], places: int, recipes: int, seed: int) -> SimulatedCourse:
    """One study with that many places, to its end."""
    from reports.ledger import is_fresh

    with tempfile.TemporaryDirectory() as folder:
        plan, ledger, searcher = _study(Path(folder), ("--trials", str(recipes), *options), places)
        goes_on = _scheduler(plan)
        course, clock, begun = SimulatedCourse(places), 0.0, 0
        ran: list[tuple[Trial, float]] = []
        running: list[tuple[float, int, Any, list[float], float]] = []
        """A heap: when its next stop comes, its number and trial, at which times the others come, and when it began."""
        over = False
        while True:
            while len(running) < places and not over:
                config: Any = searcher.suggest(f"t{begun}")
                over = config == searcher.FINISHED
                if over or config is None:
                    break
                begun += 1
                (trial,) = config
                stops = [clock + share * _seconds(trial, seed) for share in SHARES]
                stops = stops if plan.may_stop(trial) else stops[-1:]
                heapq.heappush(running, (stops[0], begun, trial, stops[1:], clock))
                if not is_fresh(trial.seed):
                    course.searched = clock
            if not running:
                course.shortest = _shortest(ran, searcher, places)
                return course
            clock, number, trial, later, began = heapq.heappop(running)
            over = False  # what ends may leave more to begin
            stopped = bool(later) and not goes_on(trial, len(SHARES) - len(later), _score(trial, seed))
            if later and not stopped:
                heapq.heappush(running, (later[0], number, trial, later[1:], began))
                continue
            course.spans.append((began, clock))
            ran.append((trial, clock - began))
            _settle(searcher, ledger, trial, None if stopped else _score(trial, seed), clock - began)


def _study(folder: Path, options: Sequence[str], places: int) -> tuple[Plan, Ledger, TuneSearcher]:
    from reports.ledger import LEDGER, Ledger
    from study.cli.options import parse
    from study.plan import decide, read_request
    from study.search.tune_searcher import TuneSearcher

    line = ["--space", SPACE, "--scale", "laptop", "--search", "optuna", "--sampler", "random", "--goals", "sts"]
    plan = decide(read_request(parse([*line, *options, "--soup", "none", "--results", str(folder)])), 0)
    ledger = Ledger(folder / LEDGER)
    searcher = TuneSearcher(plan, ledger, places=places)
    searcher.begin = lambda members, together: members  # type: ignore[assignment,return-value]
    return plan, ledger, searcher


def _scheduler(plan: Plan) -> Callable[[Trial, int, float], bool]:
    from study.search.schedulers import Setting

    if plan.rungs is None:
        return lambda trial, rung, score: True
    scheduler = plan.scheduler.build(Setting(plan.rungs.ladder))
    return lambda trial, rung, score: scheduler.goes_on(trial.key, rung, [score])


def _shortest(ran: Sequence[tuple[Trial, float]], searcher: TuneSearcher, places: int) -> float:
    """No order of these trials takes less: each has one place, and the finalists come after all that is searched."""
    from reports.ledger import is_fresh

    assert searcher.finals is not None
    search = [seconds for trial, seconds in ran if not is_fresh(trial.seed)]
    chosen = {*searcher.finals.finalists}
    finals = [seconds for trial, seconds in ran if is_fresh(trial.seed) and trial.recipe_hash in chosen]
    work = math.fsum(seconds for _, seconds in ran)
    return max(work / places, max(math.fsum(search) / places, *search) + max(finals, default=0.0))


def _seconds(trial: Trial, seed: int) -> float:
    """What the whole of it takes: most of the spread is its recipe's."""
    recipe = random.Random(f"{seed} {trial.recipe_hash}").gauss(0, SPREAD)
    return MEDIAN * math.exp(recipe + random.Random(f"{seed} {trial.key}").gauss(0, 0.1 * SPREAD))


def _score(trial: Trial, seed: int) -> float:
    recipe = random.Random(f"score {seed} {trial.recipe_hash}").gauss(70, 3)
    return recipe + random.Random(f"score {seed} {trial.key}").gauss(0, 0.5)


def _settle(searcher: TuneSearcher, ledger: Ledger, trial: Trial, score: float | None, seconds: float) -> None:
    """Its record is written; None: it was stopped."""
    from reports.ledger import Evaluation, Record

    numbers: Any = {"STSBenchmark": {"dev_spearman_cosine": score}}
    scores = [] if score is None else [Evaluation("fast", numbers)]
    status: Any = "pruned" if score is None else "finished"
    record = Record(dict(trial.recipe.flat()), trial.recipe_hash, trial.seed, status, scores, cost={"seconds": seconds})
    ledger.write(record)
    searcher.settle(trial.key, record)
