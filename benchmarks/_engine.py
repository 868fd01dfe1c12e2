"""Studies that benchmarks of the engine run: each in a process of its own, on this machine or on a simulated cluster.

    python -m benchmarks._engine RESULTS PERFORM

runs one; `perform` is what its worker groups do with a task (`study.engine.launch.run_study`).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks._processes import free_gb
from reports.ledger import LEDGER, Ledger, Record
from trainables.errors import UserError, answer_user_errors

ROOT = Path(__file__).resolve().parents[1]
SPACE = "scl_ablation"
ZERO_WORK, REAL_WORK = "benchmarks._zero_work:perform", "study.engine.worker:perform"
ADDRESS = "RAY_ADDRESS"
LEAST_MEMORY_GB = 3.0
"""A measurement ends when the machine has less left."""

SHARED_CORES = {
    "RAY_worker_maximum_startup_concurrency": "2",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_worker_register_timeout_seconds": "300",
}
"""Ray's settings where all nodes of a cluster share this machine's cores, and processes start slowly."""


@dataclass(frozen=True)
class Study:
    """A study that has run."""

    records: list[Record]
    """In the order in which they were kept."""
    kept: list[float]
    """When: seconds since the epoch, by the ledger's files."""
    began: float
    seconds: float
    """Of the whole process."""


def run(
    perform: str,
    options: Sequence[str],
    address: str | None = None,
    watch: Callable[[int], None] = lambda process: None,
) -> Study:
    """Run a study over the rows of `SPACE`, with further options of `study/run.py`, to its end.

    On the cluster at `address`, or on one that it starts. `watch` is called about twice a second with the number of its
    process. `UserError` where the study fails, or the machine runs out of memory.
    """
    with tempfile.TemporaryDirectory() as scratch:
        results, log = Path(scratch) / "results", Path(scratch) / "log.txt"
        command = [sys.executable, "-m", "benchmarks._engine", str(results), perform, *options]
        began, timer = time.time(), time.perf_counter()
        run_quietly(command, log, address, watch)
        seconds = time.perf_counter() - timer
        ledger = Ledger(results / LEDGER)
        found = [(ledger.path(record.recipe_hash, record.seed).stat().st_mtime, record) for record in ledger.read()]
    found.sort(key=lambda each: each[0])
    return Study([record for _, record in found], [at for at, _ in found], began, seconds)


def run_quietly(
    command: Sequence[str], log: Path, address: str | None = None, watch: Callable[[int], None] = lambda process: None
) -> str:
    """Run a command, where Ray joins the cluster at `address`, and no other one. Returns the last line that it says,
    all of which is in `log`. `UserError` where it fails."""
    environment = {name: value for name, value in os.environ.items() if name != ADDRESS}
    environment |= {"HF_HUB_OFFLINE": "1", "PYTHONPATH": python_path()}
    environment |= {ADDRESS: address} if address else {}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT, cwd=ROOT)
        try:
            while process.poll() is None:
                watch(process.pid)
                if free_gb() < LEAST_MEMORY_GB:
                    raise UserError(f"less than {LEAST_MEMORY_GB:g} GB of memory is free; ask for less at once")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.5)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(60)
    said = log.read_text(errors="replace").strip().splitlines() or ["nothing was said"]
    if process.returncode:
        raise UserError(f"the measured process failed: {said[-1]}")
    return said[-1]


@contextlib.contextmanager
def simulated_cluster(nodes: Sequence[Mapping[str, float]]) -> Iterator[Any]:
    """A `ray.cluster_utils.Cluster` on this machine: a head that holds no trial, and nodes with these resources, such
    as GPUs, that need not exist. Its `address` is for `run`."""
    os.environ["PYTHONPATH"] = python_path()  # workers are children of the nodes' processes
    os.environ.update(SHARED_CORES)
    quiet = {"include_dashboard": False, "include_log_monitor": False}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        # Ray notes there which cluster runs here: a study that somebody else starts meanwhile must not join this one.
        os.environ["RAY_TMPDIR"] = scratch
        from ray.cluster_utils import Cluster

        cluster = Cluster()
        try:
            cluster.add_node(num_cpus=0, **quiet)
            for node in nodes:
                cluster.add_node(num_cpus=int(node["CPU"]), num_gpus=int(node["GPU"]), **quiet)
            yield cluster
        finally:
            cluster.shutdown()


def python_path() -> str:
    """With this checkout."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))


def spread(values: Sequence[float], digits: int = 1) -> str:
    """`1.5 (1.4 to 1.7)`: the median, least and most."""
    least, most = min(values), max(values)
    return f"{median(values):.{digits}f} ({least:.{digits}f} to {most:.{digits}f})"


def main() -> int:
    """Run one study in this process. Returns how many of its trials failed."""
    from study.cli.options import parse
    from study.engine.cluster import allot, find_cluster
    from study.engine.launch import run_study
    from study.plan import decide, read_request

    results, perform, *options = sys.argv[1:]
    request = parse(["--space", SPACE, "--scale", "laptop", "--results", results, *options])
    draft = read_request(request)
    cluster = find_cluster()
    plan = decide(draft, cluster.gpus)
    return run_study(plan, cluster, allot(cluster, request), perform)


if __name__ == "__main__":
    sys.exit(answer_user_errors(main))
