"""A thousand trials that do nothing on a hundred simulated GPUs: makespan, and what the head node holds.

All of Ray's nodes are processes of this machine: a head that holds no trial, and raylets whose GPUs are names. Starts
are slower than on real nodes, which have cores of their own. A process's memory is its proportional set size (PSS):
what it shares with others is counted once.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks._processes import Processor, children, kind_of, memory, trees
from trainables.errors import UserError

EVERY_SECONDS = 5.0
"""How often memory is looked at."""
ROWS = 18
"""Trials a seed."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print markdown tables."""
    asked = _parser().parse_args(arguments)
    if min(asked.trials, asked.nodes, asked.gpus) < 1:
        raise UserError("--trials, --nodes and --gpus must be at least 1")
    from benchmarks import _engine

    seeds = -(-asked.trials // ROWS)
    slots = asked.nodes * asked.gpus
    print(f"{seeds * ROWS:,} trials that do nothing, {asked.nodes} raylets of {asked.gpus} slots, and a head\n")
    options = ["--seeds", str(seeds), "--cpus-per-worker", "1", "--gpus-per-worker", "1"]
    with _engine.simulated_cluster([{"CPU": asked.gpus, "GPU": asked.gpus}] * asked.nodes) as cluster:
        watch = _Watch(cluster)
        study = _engine.run(_engine.ZERO_WORK, options, cluster.address, watch)
    starts = [at for at, record in zip(study.kept, study.records, strict=True) if "starting" in record.cost["crew"]]
    all_there, end = max(starts), study.kept[-1]
    after = sum(at > all_there for at in study.kept)
    print("| trials | slots that ran | whole command, s | first trial after, s | last slot's first after, s |")
    print("|---" * 5 + "|")
    print(
        f"| {len(study.kept):,} | {len(starts)} of {slots} | {study.seconds:.0f} | {study.kept[0] - study.began:.1f} "
        f"| {all_there - study.began:.1f} |\n"
    )
    if after > 1:
        each = 1000 * watch.study.between(all_there, end) / after
        print(
            f"With all slots there: {after:,} trials, {after / (end - all_there):.1f} a second; the study's process "
            f"took {each:.0f} ms of a core for each.\n"
        )
    print("| | processes, at most | memory, MB, at most |\n|---|---|---|")
    for kind, size in watch.head.items():
        print(f"| head: {kind} | {watch.head_processes[kind]} | {size:.0f} |")
    print(f"| head, all | {watch.head_processes.total()} | {math.fsum(watch.head.values()):.0f} |")
    print(f"| a raylet's node, with its worker groups | {watch.node_processes} | {watch.node:.0f} |")


@dataclass
class _Watch:
    """Looks at the processes of a simulated cluster while a study runs; keeps the most of everything."""

    cluster: Any
    study: Processor = field(default_factory=Processor)
    head: dict[str, float] = field(default_factory=dict)
    """Memory by kind of process, MB."""
    head_processes: Counter[str] = field(default_factory=Counter)
    node: float = 0.0
    node_processes: int = 0
    looked: float = float("-inf")

    def __call__(self, study: int) -> None:
        self.study(study)
        if time.monotonic() - self.looked < EVERY_SECONDS:
            return
        started = children()
        found: dict[str, list[float]] = {}
        for process in trees([*_services(self.cluster.head_node), study], started):
            found.setdefault(kind_of(process), []).append(memory(process))
        for kind, sizes in found.items():
            self.head[kind] = max(self.head.get(kind, 0.0), math.fsum(sizes))
            self.head_processes[kind] = max(self.head_processes[kind], len(sizes))
        node = min(self.cluster.worker_nodes, key=lambda each: str(each.node_id))
        there = [memory(process) for process in trees(_services(node), started)]
        self.node, self.node_processes = max(self.node, math.fsum(there)), max(self.node_processes, len(there))
        self.looked = time.monotonic()


def _services(node: Any) -> list[int]:
    """Processes of one of Ray's nodes; their children are agents and workers."""
    return [info.process.pid for kind in node.all_processes.values() for info in kind]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks thousand_trials",
        description=(__doc__ or "").partition("\n")[0],
        epilog="example:\n  python -m benchmarks thousand_trials --gpus 4 --trials 200",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trials", type=int, default=1000, metavar="N", help="at least so many (default 1000)")
    parser.add_argument("--nodes", type=int, default=5, metavar="N", help="raylets beside the head (default 5)")
    parser.add_argument("--gpus", type=int, default=20, metavar="N", help="GPUs of each (default 20)")
    return parser
