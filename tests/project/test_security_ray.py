"""Nobody without the token gets into a cluster; a Ray that a study starts by itself answers on this machine alone."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import grpc
import pytest

pytestmark = pytest.mark.ray

ROOT = Path(__file__).resolve().parents[2]
METRICS = (44217, 44227)
"""Where Ray's autoscaler and dashboard tell their metrics; the node's port is free to choose."""
PRIVATE = """
import json, psutil, time
from pathlib import Path
from study.engine.cluster import Cluster, find_cluster, start_cluster

assert not find_cluster().joined
start_cluster(Cluster(False, ({"CPU": 1.0, "GPU": 0.0},)))
import ray

@ray.remote
def work():
    return 1

assert ray.get(work.remote()) == 1
def listening():
    own = psutil.Process()
    return [
        tuple(connection.laddr)
        for process in (own, *own.children(recursive=True))
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]

(node,) = ray.nodes()
deadline = time.monotonic() + 60
while node["MetricsExportPort"] not in {port for _, port in listening()} and time.monotonic() < deadline:
    time.sleep(0.5)
context = ray.get_runtime_context()
print("found", json.dumps({
    "sockets": listening(),
    "metrics": node["MetricsExportPort"],
    "address": context.gcs_address,
    "folder": oct(Path(ray._private.worker._global_node.get_temp_dir_path()).parent.stat().st_mode & 0o777),
    "token": oct((Path.home() / ".ray" / "auth_token").stat().st_mode & 0o777),
}), flush=True)
input()
"""
JOIN = """
import ray
ray.init(logging_level="ERROR")
print("let in", len(ray.nodes()))
"""


def answer_of(address: str, token: str | None) -> str:
    """What Ray's head says to a call of anyone on this machine: the status of the answer."""
    call = grpc.insecure_channel(address).unary_unary("/ray.rpc.NodeInfoGcsService/GetAllNodeInfo")
    try:
        call(b"", timeout=60, metadata=[("authorization", f"Bearer {token}")] if token else [])
    except grpc.RpcError as error:
        return str(error.code().name)
    return "OK"


def answer(url: str, token: str | None = None, content: dict[str, str] | None = None) -> int:
    """The status of the answer."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = None if content is None else json.dumps(content).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=60) as answered:
            return int(answered.status)
    except urllib.error.HTTPError as error:
        return error.code


def page(url: str) -> str | None:
    """What anybody on this machine is told there; None where that is nothing."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answered:
            return str(answered.read().decode())
    except (OSError, http.client.HTTPException):
        return None


def without_token(environment: dict[str, str], home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in environment.items() if not name.startswith("RAY_")}
    return {**kept, "HOME": str(home), "RAY_GCS_RPC_SERVER_CONNECT_TIMEOUT_S": "5", **more}


@pytest.mark.slow
def test_nobody_joins_with_another_token(cluster: dict[str, str]) -> None:
    """Ray's own client tries for long before it gives up, so the head is asked as that client would ask it."""
    done = subprocess.run([sys.executable, "-c", JOIN], env=cluster, capture_output=True, text=True, timeout=200)
    assert done.stdout.endswith("let in 1\n"), done.stderr
    token = Path(cluster["RAY_AUTH_TOKEN_PATH"]).read_text()
    assert answer_of(cluster["RAY_ADDRESS"], token) == "OK"
    for wrong in (None, "f" * 64, token[:-1]):
        assert answer_of(cluster["RAY_ADDRESS"], wrong) == "UNAUTHENTICATED"


@pytest.mark.slow
def test_the_dashboard_and_its_jobs_ask_for_it(cluster: dict[str, str], tmp_path: Path) -> None:
    dashboard, token = cluster["RAY_API_SERVER_ADDRESS"], Path(cluster["RAY_AUTH_TOKEN_PATH"]).read_text()
    ran = tmp_path / "ran"
    job = {"entrypoint": f"touch {ran}"}
    for wrong in (None, "f" * len(token), token[:-1]):
        for page in ("/api/jobs/", "/api/version", "/nodes?view=summary", "/api/cluster_status", "/logs"):
            assert answer(dashboard + page, wrong) in (401, 403), page
        assert answer(f"{dashboard}/api/jobs/", wrong, job) in (401, 403)
    assert not ran.exists()
    assert answer(f"{dashboard}/api/version", token) == 200


@pytest.mark.slow
def test_a_ray_of_its_own_is_its_users_alone(tmp_path: Path) -> None:
    session = Path(f"/tmp/ray-alone-{os.getpid()}")  # short, as paths of sockets must be
    environment = without_token(dict(os.environ), tmp_path, RAY_TMPDIR=str(session), PYTHONPATH=str(ROOT))
    code = [sys.executable, "-c", PRIVATE]
    pipe = subprocess.PIPE
    study = subprocess.Popen(code, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    try:
        lines: list[str] = []
        for line in study.stdout:
            lines.append(line)
            if line.startswith("found "):
                break
        assert lines[-1].startswith("found "), "".join(lines)
        state = json.loads(lines[-1].removeprefix("found "))
        assert len(state["sockets"]) > 5
        assert {host for host, _ in state["sockets"]} <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
        pages = {port: page(f"http://127.0.0.1:{port}/metrics") for _, port in state["sockets"]}
        answering = {port for port, text in pages.items() if text is not None}
        assert state["metrics"] in answering <= set(METRICS) | {state["metrics"]}
        assert all(text.startswith("# HELP ") for text in map(pages.get, answering))
        assert state["folder"] == "0o700"
        assert state["token"] == "0o600"
        token = (tmp_path / ".ray" / "auth_token").read_text().strip()
        assert answer_of(state["address"], token) == "OK"
        for wrong in (None, "f" * len(token), token[:-1]):
            assert answer_of(state["address"], wrong) == "UNAUTHENTICATED"
    finally:
        study.kill()
        study.wait()
        shutil.rmtree(session, ignore_errors=True)
