"""What workers do in tests of the engine: tasks without work."""

from __future__ import annotations

import os
import sys

from benchmarks import _zero_work
from study.engine.messages import Task
from study.engine.worker_group import Worker


def renewing(task: Task, me: Worker) -> None:
    """Each trial's process is renewed after it."""
    if me.rank == 0:
        _zero_work.tell(task, me)
        me.finish(task, renew=True)


def dying(task: Task, me: Worker) -> None:
    """Seed 0 kills its process; that of others is renewed."""
    if task.trials()[0].seed == 0:
        os._exit(1)
    renewing(task, me)


def main(perform: str, results: str, *options: str) -> int:
    """Run rows of a space with it, on a Ray of its own; returns the number of failed trials."""
    from study.cli.options import parse
    from study.engine.cluster import allot, find_cluster
    from study.engine.launch import run_study
    from study.plan import decide, read_request

    request = parse(["--space", "scl_npos_nneg", "--scale", "laptop", "--results", results, *options])
    cluster = find_cluster()
    plan = decide(read_request(request), cluster.gpus)
    return run_study(plan, cluster, allot(cluster, request), f"tests.engine_work:{perform}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
