"""A small cluster made of Linux namespaces: a head and nodes of one core, each with its own network.

The cluster has its own namespaces (users, mounts, network, processes), which need no rights on the machine. Its ports,
mounts and processes do not affect those outside, and all its processes end with the first one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import psutil

from benchmarks.chaos._work import LOG
from trainables.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
NAMESPACES = ("unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--kill-child")
NODES = 2
NETWORK = "10.77.0"
PORT = 6379
AGENTS = (
    "--dashboard-agent-grpc-port=6401 --dashboard-agent-listen-port=6402 --metrics-export-port=6403 "
    "--runtime-env-agent-port=6404"
)
"""Ports of a node's agents. If a raylet chooses the ports, it waits only few seconds for the agents to report them."""
START_SECONDS = 400.0
"""Longest wait, in seconds, until the cluster runs on a busy machine."""
QUICK_DEATH = {
    "RAY_health_check_initial_delay_ms": "3000",
    "RAY_health_check_period_ms": "2000",
    "RAY_health_check_timeout_ms": "5000",
    "RAY_health_check_failure_threshold": "4",
}
"""Settings of Ray: an unreachable node counts as dead after about half a minute; by default it takes twice as long."""
SHARED_CORES = {
    "RAY_worker_maximum_startup_concurrency": "2",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_worker_register_timeout_seconds": "300",
}
"""Settings of Ray for nodes that all share this machine's cores, where processes start slowly."""


def check_namespaces() -> None:
    """Raise `UserError` if users of this machine may not create namespaces."""
    if subprocess.run([*NAMESPACES, "--mount-proc", "true"], capture_output=True).returncode:
        raise UserError("chaos needs Linux namespaces, and this machine lets nobody make them: `unshare -rmnp` fails")


def run_inside(module: str, arguments: Sequence[str]) -> subprocess.Popen[str]:
    """Start a module in its own namespaces, with its output in a pipe. When the module ends, its processes end too."""
    command = [*NAMESPACES, "--mount-proc", sys.executable, "-m", module, *arguments]
    environment = {**os.environ, "PYTHONPATH": python_path()}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


class Machines:
    """The cluster. Create it within `run_inside`."""

    def __init__(self, scratch: Path) -> None:
        """`scratch`: an empty folder with a short path, as paths of sockets must be short."""
        self.scratch = scratch
        self.disk, self.log, self.session = scratch / "disk", scratch / "log", scratch / "ray"
        self.disk.mkdir()
        self.session.mkdir()
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
        self.environment |= SHARED_CORES | QUICK_DEATH
        self.environment |= {"PYTHONPATH": python_path(), "HF_HUB_OFFLINE": "1", LOG: str(self.log)}
        self.environment |= {"RAY_worker_niceness": "0", "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}
        self.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.environment |= {"RAY_TMPDIR": str(scratch), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid.uuid4().hex}
        os.environ.update(self.environment)  # this process calls the cluster too
        self.head: subprocess.Popen[bytes] | None = None
        self.nodes: dict[int, subprocess.Popen[bytes]] = {}
        self.killed: set[bytes] = set()
        """Ray's ids of killed nodes that Ray lists as alive for another half minute."""
        do("mount -t tmpfs -o size=64m none", self.disk)
        do("mount --make-shared", self.disk)
        do(f"ip link set lo up; ip link add br0 type bridge; ip addr add {NETWORK}.1/24 dev br0; ip link set br0 up")

    @property
    def address(self) -> str:
        return f"{NETWORK}.1:{PORT}"

    def ready(self) -> None:
        """Start dead parts of the cluster, and wait until all nodes have joined. Ray allows its processes a fixed 30
        seconds to start, so on a busy machine it may take several tries."""
        deadline = time.monotonic() + START_SECONDS
        addresses = {f"{NETWORK}.{number}" for number in range(1, NODES + 2)}
        while self.killed & self._listed().keys() or not self.joined() >= addresses:
            if time.monotonic() > deadline:
                raise UserError("the cluster does not start; is this machine too busy?")
            if self.head is None or self.head.poll() is not None:
                self.kill_all()
                self._start_head()
            elif f"{NETWORK}.1" in self.joined():
                for number in range(2, NODES + 2):
                    if number not in self.nodes or self.nodes[number].poll() is not None:
                        self._start_node(number)
            time.sleep(0.5)

    def joined(self) -> set[str]:
        """Return the addresses of living nodes."""
        return {address for name, address in self._listed().items() if name not in self.killed}

    def _listed(self) -> dict[bytes, str]:
        """Return the addresses of nodes that Ray lists as alive, by id."""
        from ray._raylet import GcsClient  # type: ignore[attr-defined]

        if self.head is None or self.head.poll() is not None or not _listens(f"{NETWORK}.1", PORT):
            return {}
        try:
            nodes = GcsClient(address=self.address).get_all_node_info(timeout=5)
        except Exception:  # Ray raises no narrower class: the head has not started yet
            return {}
        return {node.node_id: node.node_manager_address for node in nodes.values() if node.state == 0}

    def kill_node(self, number: int) -> None:
        """Kill a node with all its processes."""
        kill(tree(self.nodes[number].pid))
        self.nodes.pop(number).wait()
        address = f"{NETWORK}.{number}"
        self.killed |= {name for name, listed in self._listed().items() if listed == address}

    def kill_all(self, more: Sequence[int] = ()) -> None:
        """Kill head, nodes and further processes, and remove Ray's state."""
        started = [process for process in (self.head, *self.nodes.values()) if process is not None]
        kill([*(each for process in started for each in tree(process.pid)), *more])
        for process in started:
            process.wait()
        self.head = None
        self.nodes.clear()
        do("rm -rf", self.session)
        self.session.mkdir()

    def link(self, number: int, state: Literal["up", "down"]) -> None:
        """Set a node's link. While it is down, nothing reaches or leaves the node."""
        do(f"ip link set v{number} {state}")

    def raylet(self, number: int) -> int:
        """Return the process id of a node's raylet."""
        return next(each for each in tree(self.nodes[number].pid) if "/raylet/raylet " in command_line(each))

    def _start_head(self) -> None:
        options = f"--head --port={PORT} --num-cpus=0 --include-dashboard=false --temp-dir={self.session}"
        self.head = self._start(["sh", "-c", self._ray(1, options)])

    def _start_node(self, number: int) -> None:
        if number in self.nodes:
            kill(tree(self.nodes[number].pid))
        subprocess.run(["ip", "link", "del", f"v{number}"], capture_output=True)  # the link of a dead node
        ray = self._ray(number, f"--address={self.address} --num-cpus=1")
        # By its host name a worker would be found at 127.0.0.1, and other nodes are not there.
        gloo = f"export GLOO_SOCKET_IFNAME=e{number}"
        script = f"read go; {gloo}; ip link set lo up; mount -t tmpfs none {self.session}; {ray}"
        node = self._start(["unshare", "-n", "-m", "--propagation", "slave", "sh", "-c", script], stdin=subprocess.PIPE)
        self.nodes[number] = node
        time.sleep(0.3)  # until the node has its own network
        do(f"ip link add v{number} type veth peer name e{number} netns {node.pid}; ip link set v{number} master br0 up")
        inside = f"ip addr add {NETWORK}.{number}/24 dev e{number}; ip link set e{number} up"
        do(f"nsenter -t {node.pid} -n sh -c '{inside}'")
        assert node.stdin is not None
        node.stdin.write(b"go\n")
        node.stdin.close()

    def _ray(self, number: int, options: str) -> str:
        return (
            f"exec {sys.executable} -m benchmarks.chaos._node start --block --node-ip-address={NETWORK}.{number} "
            f"--object-store-memory=100000000 --disable-usage-stats {AGENTS} {options}"
        )

    def _start(self, command: Sequence[str], **more: Any) -> subprocess.Popen[bytes]:
        with open(self.scratch / "ray.txt", "ab") as log:
            return subprocess.Popen(
                command, env=self.environment, stdout=log, stderr=log, start_new_session=True, **more
            )


def do(command: str, *path: Path) -> None:
    """Run shell commands; `UserError` if one fails."""
    script = " ".join([command, *map(str, path)])
    done = subprocess.run(["sh", "-ec", script], capture_output=True, text=True)
    if done.returncode:
        raise UserError(f"{script!r} fails: {done.stderr.strip()}")


def processes(*titles: str) -> list[int]:
    """Return the ids of processes whose command line starts with one of these texts."""
    return [number for number in psutil.pids() if command_line(number).startswith(titles)]


def tree(process: int) -> list[int]:
    """Return the ids of the process and of all its descendants."""
    with contextlib.suppress(psutil.Error):
        return [process, *(child.pid for child in psutil.Process(process).children(recursive=True))]
    return [process]


def command_line(process: int) -> str:
    """Return the command line of a process; empty if the process has ended."""
    with contextlib.suppress(psutil.Error):
        return " ".join(psutil.Process(process).cmdline())
    return ""


def python_path() -> str:
    """Return a value of PYTHONPATH that includes this checkout."""
    return os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))


def kill(numbers: Sequence[int]) -> None:
    """Kill the processes of these ids with SIGKILL."""
    for number in numbers:
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)


def until(happened: Callable[[], Any], seconds: float) -> bool:
    """Wait at most `seconds` until `happened` returns true; return whether it did."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _listens(host: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0
