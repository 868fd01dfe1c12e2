"""What a trial costs beside its work: our engine and stock Ray Tune over Ray Train, on two cores.

    python -m benchmarks trial_overhead --runs 1 --laptop 0

A trial that does nothing: ours in a study as `study/run.py` runs it, with its ledger and all that shows it; stock as
Ray's documentation shows it, a `Tuner` over a driver that runs a `TorchTrainer` with one worker. One trial at a time,
seconds from the end of the first trial to that of the last, both sides in turn.

A laptop trial: rows of `scl_ablation`, two at a time. Its work is what the trial itself measures (`cost.seconds`:
building, training, evaluating). Overhead is the rest of its worker group's time. The first trial of each group is left
out.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.engine._processes import Processor
from benchmarks.engine._study import REAL_WORK, ZERO_WORK, run, run_quietly
from benchmarks.options import add_number, parser_of
from benchmarks.tables import head, row, spread
from reports.ledger import Record

LEAST = 2
"""Trials that a measurement needs: the first one is not timed."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print markdown tables."""
    parser = parser_of(__name__, __doc__)
    add_number(parser, "--trials", 20, "trials of ours that do nothing", least=LEAST)
    add_number(parser, "--stock", 4, "stock ones", least=LEAST)
    add_number(parser, "--runs", 3, "repetitions of both", least=0)
    add_number(parser, "--laptop", 1, "seeds of the 18 laptop trials; 0: none", least=0)
    options = parser.parse_args(arguments)
    pairs = [(_ours(options.trials), _stock(options.stock)) for _ in range(options.runs)]
    if pairs:
        print(f"Trials that do nothing, a trial after the first, {options.runs} runs\n")
        print(head("", "ours", "stock Tune over Train", "ratio"))
        for unit, field in (("seconds", "seconds"), ("processor seconds, all processes", "processor")):
            ours, stock = ([getattr(cost, field) for cost in side] for side in zip(*pairs, strict=True))
            ratios = [other / own for own, other in zip(ours, stock, strict=True)]
            print(row(unit, spread(ours, 2), spread(stock), spread(ratios)))
        print(flush=True)
    if options.laptop:
        study = run(REAL_WORK, ["--seeds", str(options.laptop)])
        later = [record for record in study.records if "starting" not in record.cost["crew"]]
        print(f"Laptop trials, {options.laptop} seed{'s' if options.laptop > 1 else ''}\n")
        print(head("trials", "whole command, s", "work of a trial, s", "overhead of a trial, s"))
        works = f"{fmean(work(record) for record in later):.1f}"
        print(row(len(study.records), f"{study.seconds:.0f}", works, spread([overhead(record) for record in later], 2)))


def work(record: Record) -> float:
    """Seconds of the trial itself."""
    return float(record.cost["seconds"])


def overhead(record: Record) -> float:
    """Seconds of its worker group that were not the trial's, since the trial before it ended."""
    return math.fsum(record.cost["crew"].values()) - work(record)


@dataclass(frozen=True)
class CostBesideWork:
    """Of a trial after the first."""

    seconds: float
    processor: float
    """Seconds of all processes together."""

    @classmethod
    def between(cls, first: float, last: float, trials: int, processor: Processor) -> CostBesideWork:
        """From the end of the first trial to that of the last, in seconds since the epoch."""
        return cls((last - first) / (trials - 1), processor.between(first, last) / (trials - 1))


def _ours(trials: int) -> CostBesideWork:
    processor = Processor()
    options = ["--only", "SBERT baseline", "--concurrent", "1", "--seeds", str(trials)]
    ends = run(ZERO_WORK, options, watch=processor).ends
    return CostBesideWork.between(ends[0], ends[-1], trials, processor)


def _stock(trials: int) -> CostBesideWork:
    processor = Processor()
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "benchmarks.engine._stock", str(trials), scratch]
        first, last = run_quietly(command, Path(scratch) / "log.txt", watch=processor).split()
    return CostBesideWork.between(float(first), float(last), trials, processor)
