"""The share of a GPU's time in which it does not work, with the GPU simulated by a sleep.

Two GPUs that are only names, a worker on each. A trial sleeps for its training; then its classifier heads are fitted in
earnest: by the worker itself, where the node has no core to spare, or as a CPU task, while the worker has taken the
next trial. States are those that the study itself measures (`cost.crew` of its records). Left out is `starting`, until
a worker's first trial: processes and imports, once a study.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from reports.ledger import Record
from trainables.errors import UserError

GPUS = 2
STEP_SECONDS = 0.1
"""Of a simulated training."""
STATES = ("busy", "evaluating", "waiting", "idle")
TASKS = "MR,CR,STS12,STSBenchmark"
PLACES = {"in the worker": GPUS, "CPU task": 2 * GPUS}
"""Where heads are fitted, and how many cores the node has."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    if min(asked.seconds, asked.seeds) < 1:
        raise UserError("--seconds and --seeds must be at least 1")
    from benchmarks import _engine

    print(f"| heads are fitted | trials | start of a worker, s | {', % | '.join(STATES)}, % | GPU does not work, % |")
    print("|---" * (4 + len(STATES)) + "|")
    if asked.real:
        study = _engine.run(_engine.REAL_WORK, ["--seeds", str(asked.seeds)])
        print(_line("as the study chose", study.records))
        return
    steps = round(asked.seconds / STEP_SECONDS)
    options = ["--seeds", str(asked.seeds), "--gpus-per-worker", "1", "--cpus-per-worker", "1"]
    options += ["--set", f"optimisation.max_steps={steps}", "--set", f"evaluation.tasks={TASKS}"]
    for where, cores in PLACES.items():
        with _engine.simulated_cluster([{"CPU": cores, "GPU": GPUS}]) as cluster:
            study = _engine.run("benchmarks._simulated_gpu:perform", options, cluster.address)
        print(_line(where, study.records), flush=True)


def shares(records: Iterable[Record]) -> dict[str, float]:
    """Percent of the worker groups' time, their start left out, by state."""
    spent: Counter[str] = Counter()
    for record in records:
        spent.update(record.cost["crew"])
    total = math.fsum(spent[state] for state in STATES)
    return {state: 100 * spent[state] / total for state in STATES}


def _line(where: str, records: Sequence[Record]) -> str:
    found = shares(records)
    starts = [record.cost["crew"]["starting"] for record in records if "starting" in record.cost["crew"]]
    numbers = " | ".join(f"{found[state]:.1f}" for state in STATES)
    start = fmean(starts)
    return f"| {where} | {len(records)} | {start:.1f} | {numbers} | {100 - found['busy']:.1f} |"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks idle_share",
        description=(__doc__ or "").partition("\n")[0],
        epilog="example:\n  python -m benchmarks idle_share --seconds 5\n  python -m benchmarks idle_share --real",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, default=10, metavar="X", help="of a simulated training (default 10)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="of the 18 trials (default 1)")
    parser.add_argument(
        "--real", action="store_true", help="real laptop trials on this machine's own GPUs, or on its cores"
    )
    return parser
