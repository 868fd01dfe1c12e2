"""The Ray cluster: join one or start one, what it has, and how many trials fit on it."""

from __future__ import annotations

import contextlib
import logging
import math
import os
import platform
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from study.options import Request
from trainables.errors import UserError

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("study", "reports", "search_spaces", "trainables")


@dataclass(frozen=True)
class Cluster:
    """What the living nodes have. `joined` is False for one that this process starts for itself."""

    joined: bool
    nodes: tuple[Mapping[str, float], ...]

    @property
    def cpus(self) -> float:
        return sum(node.get("CPU", 0.0) for node in self.nodes)

    @property
    def gpus(self) -> float:
        return sum(node.get("GPU", 0.0) for node in self.nodes)

    def describe(self) -> str:
        nodes = f"{len(self.nodes)} node{'s' if len(self.nodes) > 1 else ''}"
        gpus = f", {self.gpus:g} GPU{'s' if self.gpus > 1 else ''}" if self.gpus else ", no GPU"
        return f"{nodes}, {self.cpus:g} CPUs{gpus}"


@dataclass(frozen=True)
class Allotment:
    """What one trial gets and how many run at once."""

    workers: int
    cpus_per_worker: int
    gpus_per_worker: float
    concurrent: int

    @property
    def per_worker(self) -> dict[str, float]:
        resources: dict[str, float] = {"CPU": self.cpus_per_worker}
        return resources | ({"GPU": self.gpus_per_worker} if self.gpus_per_worker else {})


def find_cluster() -> Cluster:
    """Join the cluster that `RAY_ADDRESS`, a Ray job or `ray start` names; where none is, describe this machine."""
    _quieten()
    import ray

    if not ray.is_initialized():
        address = _running_cluster()
        if address is None:
            return Cluster(False, ({"CPU": float(_local_cpus()), "GPU": float(_local_gpus())},))
        if not _listens(address):
            raise UserError(
                f"no Ray cluster answers at {address}, which RAY_ADDRESS or an earlier `ray start` names; start it, "
                "or unset RAY_ADDRESS and run `ray stop`"
            )
        try:
            with _silent_backend():
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=_runtime_env())
        except (ConnectionError, ray.exceptions.AuthenticationError) as error:
            raise UserError(
                f"the Ray cluster at {address} does not let this process in; if it asks for a token, set "
                "RAY_AUTH_MODE=token and copy the head node's ~/.ray/auth_token here (`ray get-auth-token` prints it)"
            ) from error
    nodes = tuple(node["Resources"] for node in ray.nodes() if node["Alive"])
    return Cluster(True, nodes)


def start_cluster(cluster: Cluster) -> None:
    """Start Ray on this machine, unless a cluster was joined."""
    if cluster.joined:
        return
    import ray

    os.environ.setdefault("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")  # one process less for each trial
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # its workers inherit it
    node = cluster.nodes[0]
    print("starting Ray on this machine ...", flush=True)
    try:
        context = ray.init(
            address="local",
            num_cpus=int(node["CPU"]),
            num_gpus=int(node["GPU"]),
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # Ray raises no narrower one
        if "timed out during startup" not in str(error):
            raise
        raise UserError(
            "Ray did not start on this machine within its 30 seconds, as happens on a busy one; run the same command "
            "again, or start a cluster first with `ray start --head`"
        ) from error
    if context.dashboard_url:
        print(f"Ray dashboard: http://{context.dashboard_url}", flush=True)


def allot(cluster: Cluster, request: Request) -> Allotment:
    """Defaults that fill the cluster; `UserError` where not even one trial would ever fit."""
    gpus = request.gpus_per_worker if request.gpus_per_worker is not None else float(cluster.gpus > 0)
    if request.cpus_per_worker is not None:
        cpus = request.cpus_per_worker
    elif gpus:
        # The cores of a node are shared by its GPUs; more than eight make no GPU faster.
        shares = [node.get("CPU", 0) // max(node.get("GPU", 0) / gpus, 1) for node in cluster.nodes if node.get("GPU")]
        cpus = max(1, min(8, int(min(shares, default=1))))
    else:
        cpus = 1
    slots = sum(_slots(node, cpus, gpus) for node in cluster.nodes)
    if slots < request.workers:
        need = f"{request.workers} worker{'s' if request.workers > 1 else ''} of {cpus} CPU"
        need += f" and {gpus:g} GPU each" if gpus else " each"
        raise UserError(
            f"a trial needs {need}, but the cluster ({cluster.describe()}) holds {slots} such worker"
            f"{'' if slots == 1 else 's'}; lower --workers, --cpus-per-worker or --gpus-per-worker, or add nodes"
        )
    fits = slots // request.workers
    return Allotment(request.workers, cpus, gpus, min(request.concurrent or fits, fits))


def inside_job() -> bool:
    """Whether `ray job submit` runs this process; its working directory is then a copy that will be thrown away."""
    return "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ


def hardware(cluster: Cluster) -> str:
    """One line for the report."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    kinds = sorted(
        {key.split(":", 1)[1] for node in cluster.nodes for key in node if key.startswith("accelerator_type:")}
    )
    return f"{cluster.describe()} ({', '.join([name, *kinds])})"


def _slots(node: Mapping[str, float], cpus: int, gpus: float) -> int:
    by_cpu = node.get("CPU", 0.0) // cpus
    return int(min(by_cpu, math.floor(node.get("GPU", 0.0) / gpus + 1e-9)) if gpus else by_cpu)


def _running_cluster() -> str | None:
    """The cluster that RAY_ADDRESS or `ray start` on this machine names, as `ray.init()` itself looks for it.

    `address="auto"` would also find the private cluster of another study on this machine, and die with it.
    """
    from ray._private.services import canonicalize_bootstrap_address

    address: str | None = canonicalize_bootstrap_address(None)
    return address


@contextlib.contextmanager
def _silent_backend() -> Iterator[None]:
    """Ray's C++ side writes a line to stderr for every attempt at a cluster that does not let it in."""
    kept = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nothing)
        os.close(kept)


def _listens(address: str) -> bool:
    """Whether anything listens there: Ray itself would try for two minutes."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def _local_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _local_gpus() -> int:
    import torch

    return torch.cuda.device_count()


def _runtime_env() -> dict[str, list[str]]:
    """How a joined cluster's workers find our packages: a job's working directory has them; else they are sent."""
    return {} if inside_job() else {"py_modules": [str(ROOT / name) for name in PACKAGES]}


def _quieten() -> None:
    """Settings that Ray reads when it is imported: no flood on the console, no handler that swallows ctrl-C."""
    os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
    os.environ.setdefault("TUNE_DISABLE_SIGINT_HANDLER", "1")
    os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    os.environ.setdefault("TUNE_GLOBAL_CHECKPOINT_S", "3600")  # the ledger is the truth; Tune's own state is not needed
    os.environ.setdefault("RAY_worker_maximum_startup_concurrency", "16")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_TRAIN_ENABLE_WORKER_STRUCTURED_LOGGING", "0")
    os.environ.setdefault("RAY_TRAIN_ENABLE_CONTROLLER_STRUCTURED_LOGGING", "0")
