"""The Ray cluster: join or start one, list its resources, and count how many trials fit on it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import math
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reports.ledger.request import Request
from study.engine.address import listens, running_cluster
from study.engine.autoscaler import NodeKind, find_kinds
from study.engine.ray_internals import asks_for_a_token, listen_on_loopback, processes, without_ray_handlers
from study.trial import Resources
from trainables.errors import UserError
from trainables.machine import processor

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("study", "reports", "search_spaces", "trainables")
JOB = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""The environment variable in which Ray passes a job's configuration to its process, as JSON."""
OPEN = (
    "this Ray cluster asks for no token, so whoever reaches its ports can run code on it; see Tokens in "
    "docs/clusters.md, and RAY_AUTH_MODE"
)
DEVICES = Path("/dev")
GPU_FILES = ("nvidia*", "nvhost*", "nvmap", "kfd", "dxg")
"""Names of files in /dev. A Linux with a GPU for torch has one of them: NVIDIA's cards and boards, AMD's cards, WSL."""
HIDE_GPUS = "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"
"""Ray's switch: if 1, a process that asks for no GPU sees none. By default it sees all, so a task that only scores
would use the GPU on which another trial trains."""
WAITING_SECONDS = 300.0
"""Seconds until a study that waits for nodes prints its message again."""


@dataclass(frozen=True)
class Cluster:
    """A cluster, as the resources of its living nodes. `joined` is False if this process starts the cluster itself."""

    joined: bool
    nodes: tuple[Mapping[str, float], ...]
    kinds: tuple[NodeKind, ...] | None = ()
    """Nodes that the autoscaler may add: empty if the cluster does not grow, None if that is not known."""

    @property
    def cpus(self) -> float:
        return math.fsum(node.get("CPU", 0.0) for node in self.nodes)

    @property
    def gpus(self) -> float:
        return math.fsum(node.get("GPU", 0.0) for node in self.nodes)

    def describe(self) -> str:
        nodes = f"{len(self.nodes)} node{'s' if len(self.nodes) > 1 else ''}"
        gpus = f", {self.gpus:g} GPU{'s' if self.gpus > 1 else ''}" if self.gpus else ", no GPU"
        return f"{nodes}, {self.cpus:g} CPUs{gpus}"


@dataclass(frozen=True)
class Allotment:
    """The resources of one trial, and how many trials run at once."""

    resources: Resources
    concurrent: int


def find_cluster() -> Cluster:
    """Join the cluster that `RAY_ADDRESS`, a Ray job or `ray start` names. If there is none, describe this machine."""
    _quieten()
    import ray

    if not ray.is_initialized():
        address = running_cluster()
        if address is None:
            return Cluster(False, ({"CPU": float(_local_cpus()), "GPU": float(_local_gpus())},))
        if not listens(address):
            raise UserError(
                f"no Ray cluster answers at {address}, which RAY_ADDRESS or an earlier `ray start` names; start it, "
                "or unset RAY_ADDRESS and run `ray stop`"
            )
        print(f"joining the Ray cluster at {address} ...", flush=True)
        try:
            with _silent_backend(), without_ray_handlers():
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=_runtime_env())
        except (ConnectionError, ray.exceptions.AuthenticationError) as error:
            raise UserError(
                f"the Ray cluster at {address} does not let this process in, or is too busy to answer; if it asks for "
                "a token, set RAY_AUTH_MODE=token and copy the head node's ~/.ray/auth_token here "
                "(`ray get-auth-token` prints it); if it has just been started, try again in a minute"
            ) from error
    if not asks_for_a_token():
        print(f"warning: {OPEN}", flush=True)
    return Cluster(True, _living_nodes(), find_kinds())


def start_cluster(cluster: Cluster) -> None:
    """Start Ray on this machine, unless a cluster was joined.

    Ray listens on this machine alone. It asks for a token, as is Ray's default unless RAY_AUTH_MODE changes it. Its
    sockets and logs are in a folder that no other user may enter.
    """
    if cluster.joined:
        return
    _keep_token_private()
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))  # Ray's workers inherit it
    node = cluster.nodes[0]
    options = {"num_cpus": int(node["CPU"]), "num_gpus": int(node["GPU"]), "_temp_dir": str(_own_folder())}
    context = _start_ray(options)
    if context is None:  # on a busy machine; at the second attempt Ray's files are in memory
        context = _start_ray(options)
    if context is None:
        raise UserError(
            "Ray did not start on this machine, in two attempts of 30 seconds, as happens on a busy one; run the same "
            "command again when it is less busy, or start a cluster first with `ray start --head`"
        )
    if not asks_for_a_token():
        print(f"warning: {OPEN}", flush=True)
    if context.dashboard_url:
        print(f"Ray dashboard: http://{context.dashboard_url}", flush=True)


def allot(cluster: Cluster, request: Request) -> Allotment:
    """Return an allotment that fills the cluster and its possible growth. `UserError` if no trial would ever fit.

    On nodes with at least two cores per GPU, one core per GPU stays free for scoring finished trials. If two kinds of
    nodes share one limit, their possible growth may be counted twice; trials without room then wait.
    """
    kinds, gpus = cluster.kinds or (), request.gpus_per_worker
    if gpus is None:
        may_come = any(kind.most and kind.resources.get("GPU") for kind in kinds)
        gpus = float(cluster.gpus > 0 or (request.scale == "paper" and may_come))
    if request.workers.most > 1 and 0 < gpus < 1:
        raise UserError(
            f"workers of a trial cannot share a GPU, but --gpus-per-worker is {gpus:g} and --workers up to "
            f"{request.workers.most}; give --gpus-per-worker 1, or --workers 1"
        )
    cpus = request.cpus_per_worker or _fair_cpus([*cluster.nodes, *(kind.resources for kind in kinds)], gpus)
    room = _room(cluster.nodes, cpus, gpus)
    coming = [(kind.most, _slots(kind.resources, cpus, gpus)) for kind in kinds]
    most = room + math.fsum(nodes * slots for nodes, slots in coming if nodes and slots)
    chosen = (request.gpus_per_worker, request.cpus_per_worker, request.concurrent)
    if cluster.kinds is None and (request.workers.most > 1 or any(value is not None for value in chosen)):
        most = math.inf  # it may grow or not: the study waits for what the user asked for
    if most < request.workers.least:
        grown = f", once it has grown, {most:g}" if kinds else f" {most:g}"
        raise UserError(
            f"a trial needs {_need(request.workers.least, cpus, gpus)}, but the cluster ({cluster.describe()}) "
            f"holds{grown} such worker{'' if most == 1 else 's'}; lower --workers, --cpus-per-worker or "
            "--gpus-per-worker, or add nodes"
        )
    if request.concurrent is not None:
        concurrent = int(min(request.concurrent, most // request.workers.least if most < math.inf else math.inf))
    else:
        concurrent = max(1, int(most if most < math.inf else room) // request.workers.most)
    return Allotment(Resources(*request.workers, cpus, gpus), concurrent)


def scores_apart(cluster: Cluster, allotment: Allotment) -> bool:
    """Return whether finished trials are scored on cores that no worker uses, while their GPU trains the next trial."""
    cpus, gpus = allotment.resources.cpus, allotment.resources.gpus
    nodes = [*cluster.nodes, *(kind.resources for kind in cluster.kinds or ())]
    slots = [(node.get("CPU", 0.0), _slots(node, cpus, gpus)) for node in nodes]
    return gpus > 0 and any(gpu_count and cores - gpu_count * cpus >= 1 for cores, gpu_count in slots)


def awaited(cluster: Cluster, allotment: Allotment) -> str | None:
    """Return a message that says what the first trial waits for; None if there is room for it."""
    cpus, gpus = allotment.resources.cpus, allotment.resources.gpus
    room = _room(cluster.nodes, cpus, gpus)
    if room >= allotment.resources.workers:
        return None
    has = "no GPU yet" if gpus and not cluster.gpus else f"room for {room:g} yet"
    if cluster.kinds is None:
        then = (
            "Ray cannot tell whether it grows, so the study waits for what you asked for: add nodes, or stop this and "
            "ask for less"
        )
    else:
        then = "its autoscaler was asked for more"
    hint = "; --gpus-per-worker 0 would train on CPUs" if gpus and not cluster.gpus else ""
    need = _need(allotment.resources.workers, cpus, gpus)
    return f"waiting for {need}: the cluster ({cluster.describe()}) has {has}; {then}{hint}"


def wait_for_room(cluster: Cluster, allotment: Allotment) -> Cluster:
    """Ask the cluster for what one trial needs, and wait until the resources exist. Print the reason at once and then
    every 5 minutes. Return the cluster as it is then.

    The request is a placement group, which ends with this process, so that no node is kept for a killed study.
    """
    if awaited(cluster, allotment) is None:
        return cluster
    from ray.util.placement_group import placement_group, remove_placement_group

    group = placement_group([allotment.resources.per_worker] * allotment.resources.workers)

    def look() -> Cluster:
        return dataclasses.replace(cluster, nodes=_living_nodes())

    reported = -math.inf
    try:
        while not group.wait(1.0):
            if time.monotonic() - reported >= WAITING_SECONDS:
                reported = time.monotonic()
                if sentence := awaited(look(), allotment):
                    print(sentence, flush=True)
    finally:
        remove_placement_group(group)
    return look()


def inside_job() -> bool:
    """Return whether `ray job submit` runs this process."""
    return JOB in os.environ


def inside_copy() -> bool:
    """Return whether this process runs in a Ray job's copy of a working directory, which Ray deletes later. A job
    without `--working-dir` runs in the folder where `ray start` was called on the head node."""
    return "working_dir" in (json.loads(os.environ.get(JOB, "{}")).get("runtime_env") or {})


def lasting(folder: Path) -> Path:
    """Return the absolute path. In a Ray job's copy, a relative folder is taken relative to the home folder."""
    return ((Path.home() if inside_copy() else Path()) / folder).absolute()


def hardware(cluster: Cluster) -> str:
    """Return one line that describes the cluster's hardware, for the report."""
    kinds = sorted(
        {key.split(":", 1)[1] for node in cluster.nodes for key in node if key.startswith("accelerator_type:")}
    )
    return f"{cluster.describe()} ({', '.join([processor(), *kinds])})"


def _start_ray(options: Mapping[str, Any]) -> Any:
    """Start Ray on the loopback. None if that took longer than Ray's own 30 seconds, which no setting changes."""
    import ray

    listen_on_loopback()
    psutil = processes()
    before = set(psutil.Process().children(recursive=True))
    try:
        with without_ray_handlers():
            return ray.init(address="local", **options, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray raises no narrower class
        if "timed out during startup" not in str(error):
            raise
    left = set(psutil.Process().children(recursive=True)) - before  # processes started so far; Ray leaves them running
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=10)
    return None


def _keep_token_private() -> None:
    """Write the token where Ray looks for it, readable for this user alone. Ray itself would let all users read it."""
    if (
        os.environ.get("RAY_AUTH_MODE", "token") != "token"
        or {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys()
    ):
        return
    path = Path.home() / ".ray" / "auth_token"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError), open(path, "x", opener=_for_me_alone) as file:
            file.write(secrets.token_hex(32))
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise UserError(
            f"{path}, the token of Ray clusters, cannot be kept for you alone: {error.strerror}; set RAY_AUTH_TOKEN"
        ) from None


def _for_me_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _own_folder() -> Path:
    """Return the folder for Ray's sockets and logs, inside a folder of this user. Ray opens its own to all users."""
    parent = Path(os.environ.get("RAY_TMPDIR") or os.environ.get("TMPDIR") or "/tmp") / f"ray-{os.getuid()}"
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = parent.lstat()
        mine = stat.S_ISDIR(state.st_mode) and state.st_uid == os.getuid()
        if mine and state.st_mode & 0o077:
            parent.chmod(0o700)
    except OSError as error:
        raise UserError(
            f"{parent}, where Ray would keep its logs, cannot be made: {error.strerror}; set RAY_TMPDIR to a folder of "
            "yours with a short path"
        ) from None
    if not mine:
        raise UserError(f"{parent} belongs to somebody else; set RAY_TMPDIR to a folder of yours with a short path")
    return parent / "ray"


def _living_nodes() -> tuple[Mapping[str, float], ...]:
    import ray

    return tuple(node["Resources"] for node in ray.nodes() if node["Alive"])


def _fair_cpus(nodes: Sequence[Mapping[str, float]], gpus: float) -> int:
    """Return the number of cores of a worker: one without GPUs. Else the GPUs of a node share its cores evenly; one
    core per GPU stays free for scoring if there are at least two per GPU. More than eight cores make no GPU faster."""
    shares = []
    for node in nodes:
        gpu_count, cores = node.get("GPU", 0.0), node.get("CPU", 0.0)
        if gpus and gpu_count and math.isfinite(gpu_count):
            spare = gpu_count if cores >= 2 * gpu_count else 0.0
            shares.append(int((cores - spare) // max(gpu_count / gpus, 1)))
    return max(1, min(8, *shares)) if shares else 1


def _need(workers: int, cpus: int, gpus: float) -> str:
    need = f"{workers} worker{'s' if workers > 1 else ''} of {cpus} CPU"
    return need + (f" and {gpus:g} GPU each" if gpus else " each")


def _room(nodes: Sequence[Mapping[str, float]], cpus: int, gpus: float) -> float:
    """Return how many workers fit on the nodes."""
    return math.fsum(_slots(node, cpus, gpus) for node in nodes)


def _slots(node: Mapping[str, float], cpus: int, gpus: float) -> float:
    """Return how many workers fit on a node; infinite if its size is unknown."""
    fits = [node.get("CPU", 0.0) / cpus, *([node.get("GPU", 0.0) / gpus + 1e-9] if gpus else [])]
    return min(math.floor(count) if math.isfinite(count) else count for count in fits)


@contextlib.contextmanager
def _silent_backend() -> Iterator[None]:
    """Hide stderr: Ray's C++ code prints a line for every attempt at a cluster that refuses this process."""
    stderr = os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(nothing)
        os.close(stderr)


def _local_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _local_gpus() -> int:
    """Return torch's count of GPUs. To save two seconds, torch is not imported without a GPU device file."""
    if sys.platform == "linux" and not any(True for name in GPU_FILES for _ in DEVICES.glob(name)):
        return 0
    import torch

    return torch.cuda.device_count()


def _runtime_env() -> dict[str, Any]:
    """Return Ray's runtime environment, by which workers of a joined cluster find our packages: in a job's working
    directory, or in a copy that Ray sends. The environment of this process does not reach these workers; it reaches
    workers of a Ray that this process starts."""
    environment = {"env_vars": {HIDE_GPUS: "1"}}
    return environment if inside_copy() else environment | {"py_modules": [str(ROOT / name) for name in PACKAGES]}


def _quieten() -> None:
    """Set what Ray reads at import: less output on the console, and no handler that swallows ctrl-C."""
    os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # errors of tasks whose result nobody awaits any more
    os.environ.setdefault("TUNE_DISABLE_SIGINT_HANDLER", "1")
    os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
    os.environ.setdefault("TUNE_GLOBAL_CHECKPOINT_S", "inf")  # the ledger is the truth; Tune's own state is not needed
    os.environ.setdefault("RAY_task_events_max_num_task_in_gcs", "10000")  # a trial has dozens of them, each a few KB
    os.environ.setdefault("RAY_worker_maximum_startup_concurrency", "16")
    os.environ.setdefault(HIDE_GPUS, "1")
    os.environ.setdefault("RAY_TRAIN_ENABLE_WORKER_STRUCTURED_LOGGING", "0")
    os.environ.setdefault("RAY_TRAIN_ENABLE_CONTROLLER_STRUCTURED_LOGGING", "0")
