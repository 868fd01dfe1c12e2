"""`python -m study.replay RECORD`: which sampler and scheduler to choose, before any GPU is spent."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from study.cli.options import parse_range
from study.search.samplers import SAMPLERS
from study.search.schedulers import SCHEDULERS
from trainables.errors import UserError, answer_user_errors, checked_arguments
from trainables.files import expanded
from trainables.registry import Registry

if TYPE_CHECKING:
    from study.replay.recorded import Recorded

EXAMPLES = """examples:
  python -m study.replay record.parquet                     gp and random, with and without asha, two goals
  python -m study.replay record.parquet --goals sts --compute 0.1
                                                            one goal, at a tenth of the whole record's compute
  python -m study.replay record.parquet --goals sts --sampler tpe --scheduler none,asha --rungs 6,12 --trials 50
  python -m study.replay results/scl_lambda-laptop --trials 10 --repeats 100
                                                            the trials of a study that is done
  python -m study.replay record.parquet --learn-from other.parquet --trials 50
                                                            each search with and without what another one found

Every combination of the samplers and schedulers is run, in simulated time, by the code that a study runs.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """What the command line asks for. Returns the exit code; `UserError` for a mistake of the person's."""
    asked = _parser().parse_args(checked_arguments(arguments))
    from trainables.plugins import load_plugin

    for plugin in asked.plugin:
        load_plugin(plugin)
    samplers, schedulers = _names(SAMPLERS, asked.sampler), _names(SCHEDULERS, asked.scheduler)
    for name, least in (("workers", 1), ("repeats", 1), ("processes", 1), ("trials", 1)):
        if getattr(asked, name) is not None and getattr(asked, name) < least:
            raise UserError(f"--{name} must be at least {least}, not {getattr(asked, name)}")
    if asked.compute is not None and not asked.compute > 0:
        raise UserError(f"--compute must be above 0, not {asked.compute:g}")
    from study.replay.compare import Comparison, Conditions, NamedSearch, WholeRecord, compare
    from study.replay.our_search import our_searches, source_of
    from study.replay.recorded import rung_numbers
    from study.replay.report import ReplayResult, advice, results_table, said

    recorded = _read(asked.record)
    if asked.goals:
        recorded = recorded.of_goals([goal.strip() for goal in asked.goals.split(",")])
    least, most = parse_range("seeds", asked.seeds)
    conditions = Conditions(
        least,
        most if most > least else None,
        asked.workers,
        rung_numbers(recorded, asked.rungs),
        asked.trials,
        0.25 if (asked.trials, asked.compute) == (None, None) else asked.compute,
    )
    comparison = Comparison(recorded, conditions)  # refuses what cannot be measured before any work
    sources = [source_of(str(path), _read(path), recorded) for path in asked.learn_from]
    ours = our_searches(recorded, samplers, schedulers, sources)
    began = time.monotonic()
    searches = compare(recorded, ours, conditions, asked.repeats, asked.processes, asked.plugin)
    took = time.monotonic() - began
    whole = NamedSearch("whole record", WholeRecord, stops=False)
    unbounded = Conditions(most, workers=conditions.workers)
    compared = ReplayResult(
        asked.record.name,
        comparison.yardstick,
        conditions,
        searches,
        compare(recorded, [whole], unbounded, asked.repeats)[whole.name],
    )
    print(f"{said(compared)}\n\n{results_table(compared)}\n\n{advice(compared)}\n")
    made = len(ours) * asked.repeats
    print(f"{made:,} searches in {took:,.0f} s: {60 * made / took:,.0f} a minute")
    return 0


def _read(path: Path) -> Recorded:
    from study.replay.from_ledger import read_ledger
    from study.replay.recorded import read_record

    if not path.exists():
        raise UserError(f"{path} does not exist; give a packed record, or the results folder of a study")
    return read_ledger(path) if path.is_dir() else read_record(path)


def _names(known: Registry[Any], given: str) -> list[str]:
    """Names with commas between them, each once; `UserError` for one that is not registered."""
    names = list(dict.fromkeys(name.strip() for name in given.split(",")))
    for name in names:
        known[name]
    return names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m study.replay",
        description="Try samplers and schedulers on trials that are recorded, in simulated time.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("record", type=expanded, metavar="RECORD", help="a packed record, or a study's results folder")
    parser.add_argument("--sampler", default="gp,random", metavar="NAMES", help=_listed("gp,random", SAMPLERS))
    parser.add_argument("--scheduler", default="none,asha", metavar="NAMES", help=_listed("none,asha", SCHEDULERS))
    parser.add_argument("--goals", metavar="NAMES", help="one goal or two of the record's, such as sts (default: all)")
    parser.add_argument("--trials", type=int, metavar="N", help="a search ends when it has asked for so many recipes,")
    parser.add_argument(
        "--compute",
        type=float,
        metavar="SHARE",
        help="or when it has spent this share of the whole record's compute (default 0.25, without --trials)",
    )
    parser.add_argument("--seeds", default="1", metavar="N", help="seeds of every recipe (default 1); LEAST:MOST races")
    parser.add_argument("--workers", type=int, default=4, metavar="N", help="trials at once (default 4)")
    parser.add_argument("--rungs", metavar="STEPS", help="steps where trials may be stopped (default: all recorded)")
    parser.add_argument("--repeats", type=int, default=30, metavar="N", help="of each search (default 30)")
    parser.add_argument(
        "--processes", type=int, default=os.cpu_count() or 1, metavar="N", help="of this machine (default: one a core)"
    )
    parser.add_argument(
        "--learn-from",
        type=expanded,
        nargs="+",
        action="extend",
        default=[],
        metavar="RECORD",
        help="other records or results folders: every search is also run as it learns from these",
    )
    parser.add_argument(
        "--plugin",
        type=expanded,
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file that adds a sampler or a scheduler; may be repeated",
    )
    return parser


def _listed(default: str, names: Registry[Any]) -> str:
    return f"one or more, with commas between them (default {default}): {', '.join(names)}"


def command() -> int:
    """What `python -m study.replay` runs."""
    return answer_user_errors(main)


if __name__ == "__main__":
    sys.exit(command())
