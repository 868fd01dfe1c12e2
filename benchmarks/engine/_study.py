"""Studies that benchmarks of the engine run, each in a process of its own.

    python -m benchmarks.engine._study RESULTS PERFORM

runs one; `perform` is what its worker groups do with a task (`study.engine.launch.run_study`).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.engine._processes import free_gb
from trainables.errors import UserError, answer_user_errors

ROOT = Path(__file__).resolve().parents[2]
SPACE = "scl_ablation"
ADDRESS = "RAY_ADDRESS"
LEAST_MEMORY_GB = 3.0
"""A measurement ends when the machine has less left."""

SHARED_CORES = {
    "RAY_worker_maximum_startup_concurrency": "2",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_worker_register_timeout_seconds": "300",
}
"""Ray's settings where all nodes of a cluster share this machine's cores, and processes start slowly."""


def run_quietly(command: Sequence[str], log: Path, watch: Callable[[int], None] = lambda process: None) -> str:
    """Run a command in which Ray joins no cluster. Its output goes to `log`; the last line is returned. `UserError`
    where it fails."""
    environment = {name: value for name, value in os.environ.items() if name != ADDRESS}
    environment |= {"HF_HUB_OFFLINE": "1", "PYTHONPATH": python_path()}
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
    lines = log.read_text(errors="replace").strip().splitlines() or ["no output"]
    if process.returncode:
        raise UserError(f"the measured process failed: {lines[-1]}")
    return lines[-1]


def python_path() -> str:
    """With this checkout."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))


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
