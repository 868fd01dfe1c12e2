"""What a trial costs beside its work: our engine and stock Ray Tune over Ray Train, on two cores.

A trial that does nothing: ours in a study as `study/run.py` runs it, with its ledger and all that shows it; stock as
Ray's documentation shows it, a `Tuner` over a driver that runs a `TorchTrainer` with one worker. One trial at a time,
seconds from the end of the first trial to that of the last, both sides in turn.

A laptop trial: rows of `scl_ablation`, two at a time. Its work is what the trial itself measures (`cost.seconds`:
building, training, evaluating); the rest of its place's time is overhead. The first trial of each group is left out.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from reports.ledger import Record
from trainables.errors import UserError

if TYPE_CHECKING:
    from benchmarks._processes import Processor

LEAST = 2
"""Trials that a measurement needs: the first one is not timed."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print markdown tables."""
    asked = _parser().parse_args(arguments)
    if min(asked.trials, asked.stock) < LEAST:
        raise UserError(f"--trials and --stock must be at least {LEAST}: the first trial is not timed")
    from benchmarks import _engine

    pairs = [(_ours(asked.trials), _stock(asked.stock)) for _ in range(asked.runs)]
    if pairs:
        print(f"Trials that do nothing, a trial after the first, {asked.runs} runs\n")
        print("| | ours | stock Tune over Train | ratio |\n|---|---|---|---|")
        for what in ("seconds", "processor"):
            ours, stock = ([getattr(cost, what) for cost in side] for side in zip(*pairs, strict=True))
            ratios = [there / here for here, there in zip(ours, stock, strict=True)]
            unit = "seconds" if what == "seconds" else "processor seconds, all processes"
            print(f"| {unit} | {_engine.spread(ours, 2)} | {_engine.spread(stock)} | {_engine.spread(ratios)} |")
        print(flush=True)
    if asked.laptop:
        print(f"Laptop trials, {asked.laptop} seed{'s' if asked.laptop > 1 else ''}\n")
        print("| trials | whole command, s | work of a trial, s | overhead of a trial, s |\n|---|---|---|---|")
        study = _engine.run(_engine.REAL_WORK, ["--seeds", str(asked.laptop)])
        later = [record for record in study.records if "starting" not in record.cost["crew"]]
        print(
            f"| {len(study.records)} | {study.seconds:.0f} | {fmean(work(record) for record in later):.1f} "
            f"| {_engine.spread([overhead(record) for record in later], 2)} |"
        )


def work(record: Record) -> float:
    """Seconds of the trial itself."""
    return float(record.cost["seconds"])


def overhead(record: Record) -> float:
    """Seconds of its worker group that were not the trial's, since the trial before it ended."""
    return math.fsum(record.cost["crew"].values()) - work(record)


@dataclass(frozen=True)
class Cost:
    """Of a trial after the first."""

    seconds: float
    processor: float
    """Seconds of all processes together."""


def _ours(trials: int) -> Cost:
    from benchmarks import _engine
    from benchmarks._processes import Processor

    processor = Processor()
    one = ["--only", "SBERT baseline", "--concurrent", "1", "--seeds", str(trials)]
    kept = _engine.run(_engine.ZERO_WORK, one, watch=processor).kept
    return _cost(kept[0], kept[-1], trials, processor)


def _stock(trials: int) -> Cost:
    from benchmarks import _engine
    from benchmarks._processes import Processor

    processor = Processor()
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "benchmarks._stock", str(trials), scratch]
        first, last = _engine.run_quietly(command, Path(scratch) / "log.txt", watch=processor).split()
    return _cost(float(first), float(last), trials, processor)


def _cost(first: float, last: float, trials: int, processor: Processor) -> Cost:
    """From the end of the first trial to that of the last."""
    return Cost((last - first) / (trials - 1), processor.between(first, last) / (trials - 1))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks trial_overhead",
        description=(__doc__ or "").partition("\n")[0],
        epilog="example:\n  python -m benchmarks trial_overhead --runs 1 --laptop 0",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trials", type=int, default=20, metavar="N", help="of ours that do nothing (default 20)")
    parser.add_argument("--stock", type=int, default=4, metavar="N", help="stock ones (default 4)")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="repetitions of both (default 3)")
    parser.add_argument(
        "--laptop", type=int, default=1, metavar="N", help="seeds of the 18 laptop trials; 0: none (default 1)"
    )
    return parser
