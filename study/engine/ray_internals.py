"""Everything private of Ray that a study needs, each with why, and the public name that would replace it.

No other module of `study` imports such a name (`tests/study/engine/test_ray_internals.py`, which also says what a new
version of Ray has taken away).
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

from study.signals import hear_again

RAYS_WATCHER = "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER"
"""Ray Train's switch for its own watcher of machines that are about to go. It is off: the coordinator's serves groups
of one worker too, and a group trains until its machine is gone, where Train would start all anew at the deadline.
Watch for: a field of `ray.train.RunConfig`."""
ONE_MACHINE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's switch for nodes that other machines reach; without it, as on macOS, a node listens on the loopback alone.
Watch for: an argument of `ray.init` for the address to listen at."""

FOR_MEMORY = re.compile(
    r"low on memory\. Memory on the node \(IP: (?P<ip>[^,]+), ID: (?P<node>\w+)\) was (?P<used>[^()]+) \("
)
"""What Ray says where it killed a process to keep a machine's memory."""
CRASHED = re.compile(
    r"worker process has died\. Worker exit type: SYSTEM_ERROR Worker exit detail: "
    r"(?P<detail>.*?)\.?( Some common causes|$)",
    re.DOTALL,
)
"""What it says of one that ended without having been asked to. The causes that it goes on to guess at are left out."""


def address_file() -> Path:
    """Where `ray start` notes the address of the cluster that it began. Watch for: `ray.init(address="auto")` without a
    search through the processes of others."""
    from ray._common.utils import get_ray_address_file

    return Path(get_ray_address_file(None))


def bootstrap_address(text: str | None) -> str | None:
    """HOST:PORT of a cluster that is named in one of Ray's ways; None for a local one. `ValueError` where it is none.
    Watch for: the same in `ray.util`."""
    from ray._private.services import canonicalize_bootstrap_address

    address: str | None = canonicalize_bootstrap_address(text)
    return address


def listen_on_loopback() -> None:
    """Have a Ray that this process starts answer on this machine alone (`ONE_MACHINE`)."""
    from ray._private import ray_constants

    os.environ[ONE_MACHINE] = "0"  # for Ray's other processes; this one has read it
    ray_constants.ENABLE_RAY_CLUSTER = False


@contextlib.contextmanager
def left_to_the_study() -> Iterator[None]:
    """Inside, Ray starts or joins, and leaves two things to this process: SIGTERM, at which Ray would have it end by
    `sys.exit`; and the word of processes that died, which the study says itself, in one sentence, and of which Ray
    prints all it knows, whatever `log_to_driver` is. Watch for: arguments of `ray.init`."""
    from ray._private import utils, worker

    utils.set_sigterm_handler = lambda handler: None
    worker.listen_error_messages = lambda worker, ended: None
    try:
        yield
    finally:
        hear_again()


def processes() -> Any:
    """The `psutil` that Ray brings along. Watch for: Ray naming psutil among what it requires."""
    from ray._private.services import psutil

    return psutil


def asks_for_a_token() -> bool:
    """Whether the cluster that this process talks to lets nobody in without its token. Watch for: the same in
    `ray.util`."""
    from ray._private.authentication.authentication_utils import is_token_auth_enabled

    return bool(is_token_auth_enabled())


def machines_that_leave() -> set[str]:
    """Nodes that are drained, as a cloud's notice has them. Watch for: `ray.util.state.list_nodes` telling it."""
    import ray._private.state

    return set(ray._private.state.state.get_draining_nodes())


def machines_that_stay() -> set[str]:
    """Nodes that live and are not about to go; none where Ray does not answer."""
    import ray

    try:
        return {node["NodeID"] for node in ray.nodes() if node["Alive"]} - machines_that_leave()
    except Exception:  # its control service may be away for a while
        return set()


def within(error: BaseException) -> BaseException:
    """What Train's error of a worker that does not answer any more has inside; any other error itself. Watch for: such
    an error in `ray.train`."""
    inner: BaseException = getattr(error, "health_check_failure", error)
    return inner


def death_of(error: BaseException) -> tuple[str, str] | None:
    """Where a process died by itself, or was killed: the node, and what Ray says of it. None where it was asked to end,
    its machine is gone, or nothing is known. Watch for: `ray.exceptions.ActorDiedError` telling node and cause."""
    import ray._private.state

    if memory := FOR_MEMORY.search(str(error)):
        return memory["node"], f"Ray killed a process on {memory['ip']}, as its memory was full ({memory['used']})"
    if not isinstance(error, ray.exceptions.ActorDiedError) or error.actor_id is None:
        return None
    try:
        actor = ray._private.state.state.actor_table(error.actor_id)
    except Exception:  # its control service may be away for a while
        return None
    crash = CRASHED.search(actor["DeathCause"].actor_died_error_context.error_message) if actor else None
    if crash is None or "SIGTERM" in crash["detail"]:  # by which machines are shut down
        return None
    pid, ip, node = actor["Pid"], actor["Address"]["IPAddress"], actor["Address"]["NodeID"]
    return node, (
        f"process {pid} on {ip} died ({crash['detail']}); of a crash logs/*-{pid}.err in Ray's session folder there "
        "tells, of a kill to free memory `dmesg`"
    )


def care_for_starts(died: Callable[[Mapping[int, BaseException]], Any]) -> Any:
    """A callback for Train that is given an error where workers fail before they run anything. Watch for: the same in
    `ray.train.UserCallback`."""
    from ray.train.v2._internal.execution.callback import ControllerCallback

    class Starts(ControllerCallback):
        """Of a group of several workers."""

        def after_controller_state_update(self, previous_state: Any, current_state: Any) -> None:
            error = getattr(current_state, "training_failed_error", None)
            cause = getattr(getattr(error, "controller_failure", None), "__cause__", None)
            if cause is not None:
                died({0: cause})

    return Starts()


def cluster_config() -> Any:
    """What a managed service says of the nodes that may come, with `node_group_configs`; None where Ray itself runs the
    cluster. Watch for: the same in `ray.autoscaler.sdk`."""
    import ray._private.state

    return ray._private.state.state.get_cluster_config()


def living_kinds() -> Mapping[str, int] | None:
    """The living nodes' kinds, name to number, as Ray's autoscaler (version 1 or 2) reports them; None before. Watch
    for: the same in `ray.autoscaler.sdk`."""
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
    """A Train run in this very process, without torch's own trainer: alone there is no process group to set up. Watch
    for: `ray.train.DataParallelTrainer`."""
    import ray.train
    from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

    scaling = ray.train.ScalingConfig(num_workers=0)
    return DataParallelTrainer(loop, train_loop_config=dict(config), scaling_config=scaling)


def care_for_actors(events: Callable[[], Any]) -> None:
    """Have every later Tune run of this process begin a trial again whose actor Ray killed for memory, and wake up for
    the study's own events.

    Tune takes such a death for a fault of its own and ends the run; and it looks for events of others every tenth of a
    second, for which a worker would wait at a rung. `events` gives the reference of the next one. Watch for: Tune
    beginning such a trial again, which the test says, and a callback that may give a reference to wait for.
    """
    import ray
    from ray.air.execution._internal import RayActorManager
    from ray.exceptions import OutOfMemoryError, RayActorError
    from ray.tune.execution import tune_controller

    class Actors(RayActorManager):
        """Tune's actors."""

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


def count_no_loggers() -> None:
    """Have later Tune runs of this process not look which callbacks are Ray's own loggers, for the statistics of its
    use: to see that they are not, it imports MLflow, W&B and others wherever they are installed, a thousand modules for
    which the first trial would wait. Watch for: Ray asking by name."""
    from ray.air._internal import usage

    usage.tag_callbacks = lambda callbacks: False
