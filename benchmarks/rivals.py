"""Our searches beside Tune's stock ones and Syne Tune's own, on one record, at the same compute.

    python -m benchmarks rivals --record benchmarks/recorded/frozen_grid-scenes.parquet --rungs 6,12,24 --compute 0.04

Every search runs a recipe under the same seeds, each a trial of its own that may be stopped, as many at once. All spend
training seconds up to the same share of what the whole grid takes under these seeds, and are measured alike, by means
over the seeds. Tune's search is told such means (Tune's `Repeater` does that), Syne Tune's see three trials of one
configuration. Tune's is given the space as ours is, conditional keys and ranges included; Syne Tune's are given the
space of the exported record.
"""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks._asked import check_numbers
from trainables.errors import UserError

if TYPE_CHECKING:
    from benchmarks._rivals_syne_tune import SyneTuneSearch
    from benchmarks._rivals_tune import TuneSearch
    from study.replay.compare import NamedSearch, Start
    from study.replay.report import ReplayResult

WORKERS = 4
BUDGETS = (20, 40, 60)
"""Recipes whose seconds are the budgets at which searches are compared, as far as `--compute` reaches."""
OURS = ("gp", "tpe", "random"), ("none", "asha")
"""Samplers and schedulers of ours that are run beside the rivals."""
TUNE: Mapping[str, Mapping[str, Any] | None] = {
    "OptunaSearch": None,
    "OptunaSearch + ASHA, factor 2": {"reduction_factor": 2},
    "OptunaSearch + ASHA, factor 4": {"reduction_factor": 4},
    "OptunaSearch + ASHA, all defaults": {},
}
"""By name what `ASHAScheduler` is given, beside the first rung and the end in steps where it is given anything; 4 is
Tune's default."""
SYNE_TUNE: Mapping[str, tuple[str, int | None]] = {
    "random": ("random", None),
    "ASHA, factor 2": ("asha", 2),
    "ASHA, factor 3": ("asha", 3),
    "BOHB, factor 2": ("bohb", 2),
    "BOHB, factor 3": ("bohb", 3),
    "ASHA with CQR, factor 2": ("asha_cqr", 2),
}
"""By name the function and factor in `benchmarks._rivals_syne_tune`; 3 is Syne Tune's default. CQR needs xgboost."""


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, repeats=2, processes=1, seeds=1)
    if not asked.compute > 0:
        raise UserError(f"--compute must be above 0, not {asked.compute:g}")
    from study.replay.compare import Comparison, Conditions, NamedSearch, WholeRecord, compare
    from study.replay.our_search import our_searches
    from study.replay.recorded import read_record, rung_numbers
    from study.replay.report import ReplayResult, results_table

    recorded = read_record(asked.record).of_goals([asked.goal])
    rungs = rung_numbers(recorded, asked.rungs)
    conditions = Conditions(seeds=asked.seeds, workers=WORKERS, rungs=rungs, compute=asked.compute)
    yardstick = Comparison(recorded, conditions).yardstick
    entered = [*our_searches(recorded, *OURS), *rivals()]
    entered = [named for named in entered if not asked.only or any(text in named.name for text in asked.only)]
    if not entered:
        raise UserError(f"--only {' '.join(asked.only)!r} is in the name of no search")
    searches = compare(recorded, entered, conditions, asked.repeats, asked.processes)
    whole = NamedSearch("whole record", WholeRecord, stops=False)
    whole_record = compare(recorded, [whole], Conditions(seeds=asked.seeds, workers=WORKERS), asked.repeats)[whole.name]
    result = ReplayResult(asked.record.name, yardstick, conditions, searches, whole_record)
    print(f"{results_table(result)}\n\n{after_recipes(result)}")


def after_recipes(result: ReplayResult) -> str:
    """What each search found in the seconds that so many average recipes take to their end."""
    from reports.markdown import number, table
    from study.replay.repeats import mean, share
    from study.replay.report import found_by

    recipes = len(result.yardstick.recorded.hashes)
    budgets = [each for each in BUDGETS if each <= (result.conditions.compute or 1) * recipes]
    rows = []
    for name, outcomes in result.searches.items():
        found = [[found_by(outcome, budget / recipes) for outcome in outcomes] for budget in budgets]
        regrets = [f"{number(one.value)} [{number(one.low)}, {number(one.high)}]" for one in map(mean, found)]
        within = [share(sum(map(result.reached, each)), len(each)) for each in found]
        shares = [f"{100 * one.value:.0f} [{100 * one.low:.0f}, {100 * one.high:.0f}]" for one in within]
        rows.append([name, str(len(outcomes)), *regrets, *(number(median(each)) for each in found), *shares])
    heads = [[f"{what}, {budget}" for budget in budgets] for what in ("regret", "median", "within 1 SE, %")]
    return table(["in the seconds of so many recipes", "n", *(head for part in heads for head in part)], rows)


def rivals() -> list[NamedSearch]:
    """Tune's and Syne Tune's searches."""
    from study.replay.compare import NamedSearch

    return [
        *(
            NamedSearch(f"Tune: {name}", functools.partial(_tune, halving), stops=halving is not None)
            for name, halving in TUNE.items()
        ),
        *(
            NamedSearch(f"Syne Tune: {name}", functools.partial(_syne_tune, *made), stops=made[1] is not None)
            for name, made in SYNE_TUNE.items()
        ),
    ]


def _tune(halving: Mapping[str, Any] | None, start: Start) -> TuneSearch:
    from benchmarks._rivals_tune import TuneSearch

    if halving:
        first, last = int(start.rungs[0]), int(start.rungs[-1])
        halving = {"time_attr": "step", "grace_period": first, "max_t": last, **halving}
    return TuneSearch(start.recorded, start.rungs, start.seeds, halving, start.repeat)


def _syne_tune(kind: str, factor: int | None, start: Start) -> SyneTuneSearch:
    from benchmarks._rivals_syne_tune import SyneTuneSearch, made

    return SyneTuneSearch(start.recorded, start.rungs, start.seeds, made(kind, factor), start.repeat)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks rivals", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--record", type=Path, required=True, metavar="FILE", help="a packed record")
    parser.add_argument("--goal", default="sts", metavar="NAME", help="of the record's (default sts)")
    parser.add_argument("--compute", type=float, default=0.25, metavar="SHARE", help="of the whole grid's (0.25)")
    parser.add_argument("--seeds", type=int, default=3, metavar="N", help="of every recipe (default 3)")
    parser.add_argument("--rungs", metavar="STEPS", help="steps where trials may be stopped (default: all recorded)")
    parser.add_argument("--repeats", type=int, default=30, metavar="N", help="of each search (default 30)")
    parser.add_argument("--only", nargs="+", metavar="TEXT", help="only searches with one of these in their names")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="default: one a core")
    return parser
