"""All private names of Ray that a study needs, each with its reason. "Watch for" names a public API to use instead.

No other module of `study` imports such a name. `tests/study/engine/test_ray_internals.py` checks that, and reports
names that a new version of Ray has removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from study.signals import restore_sigterm

RAYS_WATCHER = "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER"
"""Ray Train's switch for its own watcher of machines that are about to be shut down. A study turns it off: the
coordinator's watcher also serves groups of one worker. A group trains until its machine is gone, while Train would
restart all workers at the deadline. Watch for: a field of `ray.train.RunConfig`."""
ONE_MACHINE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's switch for nodes that other machines can reach. Without it, as on macOS, a node listens on the loopback alone.
Watch for: an argument of `ray.init` for the address to listen at."""

FOR_MEMORY = re.compile(
    r"low on memory\. Memory on the node \(IP: (?P<ip>[^,]+), ID: (?P<node>\w+)\) was (?P<used>[^()]+) \("
)
"""Pattern of Ray's message if Ray killed a process to free a machine's memory."""
CRASHED = re.compile(
    r"worker process has died\. Worker exit type: SYSTEM_ERROR Worker exit detail: "
    r"(?P<detail>.*?)\.?( Some common causes|$)",
    re.DOTALL,
)
"""Pattern of Ray's message for a process that ended unexpectedly. Causes that Ray guesses are left out."""


def address_file() -> Path:
    """Return the file in which `ray start` stores the address of its cluster. Watch for: `ray.init(address="auto")`
    that does not search other users' processes."""
    from ray._common.utils import get_ray_address_file

    return Path(get_ray_address_file(None))


def bootstrap_address(text: str | None) -> str | None:
    """Return HOST:PORT of a cluster that `text` names in one of Ray's ways; None for a local cluster. Raises
    `ValueError` if `text` names no cluster. Watch for: a public function in `ray.util`."""
    from ray._private.services import canonicalize_bootstrap_address

    address: str | None = canonicalize_bootstrap_address(text)
    return address


def listen_on_loopback() -> None:
    """Make a Ray that this process starts listen on this machine alone (`ONE_MACHINE`)."""
    from ray._private import ray_constants

    os.environ[ONE_MACHINE] = "0"  # for Ray's other processes; this one has already read it
    ray_constants.ENABLE_RAY_CLUSTER = False


@contextlib.contextmanager
def without_ray_handlers() -> Iterator[None]:
    """Prevent Ray from installing two handlers while it starts or joins a cluster. Its handler of SIGTERM would call
    `sys.exit`. Its handler of messages about dead processes would print all details, whatever `log_to_driver` is, while
    the study prints one sentence. Watch for: arguments of `ray.init`."""
    from ray._private import utils, worker

    utils.set_sigterm_handler = lambda handler: None
    worker.listen_error_messages = lambda worker, ended: None
    try:
        yield
    finally:
        restore_sigterm()


def processes() -> Any:
    """Return the module `psutil` that comes with Ray. Watch for: psutil among Ray's requirements."""
    from ray._private.services import psutil

    return psutil


def asks_for_a_token() -> bool:
    """Return whether the cluster of this process requires a token. Watch for: a public function in `ray.util`."""
    from ray._private.authentication.authentication_utils import is_token_auth_enabled

    return bool(is_token_auth_enabled())


def machines_that_leave() -> set[str]:
    """Return Ray's ids of the nodes that are being drained, as after a cloud's notice. Watch for: this state in
    `ray.util.state.list_nodes`."""
    import ray._private.state

    return set(ray._private.state.state.get_draining_nodes())


def machines_that_stay() -> set[str]:
    """Return Ray's ids of the nodes that live and are not about to be shut down; empty if Ray does not answer."""
    import ray

    try:
        return {node["NodeID"] for node in ray.nodes() if node["Alive"]} - machines_that_leave()
    except Exception:  # Ray's control service may be away for a while
        return set()


def unwrap_error(error: BaseException) -> BaseException:
    """Return the inner error of Train's error for a worker that does not answer any more; return any other error
    unchanged. Watch for: such an error in `ray.train`."""
    inner: BaseException = getattr(error, "health_check_failure", error)
    return inner


def death_of(error: BaseException) -> tuple[str, str] | None:
    """Return node and cause, in words, of the death of a process that died by itself or was killed; None if it was
    asked to end, its machine is gone, or nothing is known. Watch for: node and cause in
    `ray.exceptions.ActorDiedError`."""
    import ray._private.state

    if memory := FOR_MEMORY.search(str(error)):
        return memory["node"], f"Ray killed a process on {memory['ip']}, as its memory was full ({memory['used']})"
    if not isinstance(error, ray.exceptions.ActorDiedError) or error.actor_id is None:
        return None
    try:
        actor = ray._private.state.state.actor_table(error.actor_id)
    except Exception:  # Ray's control service may be away for a while
        return None
    crash = CRASHED.search(actor["DeathCause"].actor_died_error_context.error_message) if actor else None
    if crash is None or "SIGTERM" in crash["detail"]:  # machines are shut down by SIGTERM
        return None
    pid, ip, node = actor["Pid"], actor["Address"]["IPAddress"], actor["Address"]["NodeID"]
    return node, (
        f"process {pid} on {ip} died ({crash['detail']}); of a crash logs/*-{pid}.err in Ray's session folder there "
        "tells, of a kill to free memory `dmesg`"
    )


def make_failed_start_callback(died: Callable[[Mapping[int, BaseException]], Any]) -> Any:
    """Return a callback for Train that calls `died` if workers fail before they run anything. Watch for: the same in
    `ray.train.UserCallback`."""
    from ray.train.v2._internal.execution.callback import ControllerCallback

    class Starts(ControllerCallback):
        def after_controller_state_update(self, previous_state: Any, current_state: Any) -> None:
            error = getattr(current_state, "training_failed_error", None)
            cause = getattr(getattr(error, "controller_failure", None), "__cause__", None)
            if cause is not None:
                died({0: cause})

    return Starts()


def cluster_config() -> Any:
    """Return a managed service's limits of the nodes that may be added (`node_group_configs`); None if Ray itself runs
    the cluster. Watch for: the same in `ray.autoscaler.sdk`."""
    import ray._private.state

    return ray._private.state.state.get_cluster_config()


def living_kinds() -> Mapping[str, int] | None:
    """Return the number of living nodes by kind, as Ray's autoscaler (version 1 or 2) reports them; None before it
    reports. Watch for: the same in `ray.autoscaler.sdk`."""
    from ray._private.ray_constants import DEBUG_AUTOSCALING_STATUS
    from ray.autoscaler.v2.sdk import get_cluster_status
    from ray.autoscaler.v2.utils import is_autoscaler_v2
    from ray.experimental.internal_kv import _internal_kv_get, internal_kv_get_gcs_client

    if is_autoscaler_v2(fetch_from_server=True):
        status = get_cluster_status(internal_kv_get_gcs_client().address)
        reported = status.stats.autoscaler_version != "0"
        return (
            Counter(node.ray_node_type_name for node in (*status.active_nodes, *status.idle_nodes))
            if reported
            else None
        )
    written = _internal_kv_get(DEBUG_AUTOSCALING_STATUS)
    report = json.loads(written).get("autoscaler_report") if written else None
    return {**report["active_nodes"]} or None if report else None


def local_trainer(loop: Callable[[Mapping[str, Any]], None], config: Mapping[str, Any]) -> Any:
    """Return a Train run inside this process, without torch's own trainer: one worker needs no process group. Watch
    for: `ray.train.DataParallelTrainer`."""
    import ray.train
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    scaling = ray.train.ScalingConfig(num_workers=0)
    return DataParallelTrainer(loop, train_loop_config=dict(config), scaling_config=scaling)


def replace_actor_manager(events: Callable[[], Any]) -> None:
    """Make every later Tune run of this process restart a trial whose actor Ray killed for memory, and wake up for the
    study's own events.

    Tune would take such a death for its own error and end the run. It also checks for foreign events only every tenth
    of a second, and a worker would wait that long at a rung. `events` returns the reference of the next event. Watch
    for: Tune restarting such a trial (the test reports it), and callbacks that may give a reference to wait for.
    """
    import ray
    from ray.air.execution._internal import RayActorManager
    from ray.exceptions import OutOfMemoryError, RayActorError
    from ray.tune.execution import tune_controller

    class Actors(RayActorManager):
        """Tune's manager of actors, with these two changes."""

        def next(self, timeout: float | None = None) -> bool:
            if super().next(timeout=0):
                return True
            awaited = [
                *self._resource_manager.get_resource_futures(),
                *self._actor_state_events.get_futures(),
                *self._actor_task_events.get_futures(),
            ]
            ray.wait([*awaited, events()], num_returns=1, timeout=timeout)
            return bool(super().next(timeout=0))

        def _actor_task_failed(self, tracked_actor_task: Any, exception: Exception) -> None:
            if isinstance(exception, OutOfMemoryError):
                exception = RayActorError(error_msg=str(exception))
            super()._actor_task_failed(tracked_actor_task, exception)

    tune_controller.RayActorManager = Actors


def disable_logger_statistics() -> None:
    """Stop later Tune runs of this process from searching their callbacks for Ray's own loggers, for usage statistics.
    That search imports MLflow, W&B and others wherever they are installed: a thousand modules, and the first trial
    would wait. Watch for: Ray checking by name."""
    from ray.air._internal import usage

    usage.tag_callbacks = lambda callbacks: False
