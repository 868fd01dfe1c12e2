"""Clusters: how many trials fit, also on one that grows and with elastic workers; waiting; Ray that starts slowly."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reports.ledger.request import Request
from study.check import check_plan
from study.cli.options import parse
from study.engine import cluster as module
from study.engine.address import listens
from study.engine.autoscaler import UNKNOWN_KIND, NodeKind, kinds_of
from study.engine.cluster import (
    Allotment,
    Cluster,
    allot,
    awaited,
    find_cluster,
    inside_copy,
    start_cluster,
    wait_for_room,
)
from study.engine.launch import _begin_clock
from study.engine.ray_internals import ONE_MACHINE
from study.search.budget import Budget
from study.testing.agenda import SimulatedClock
from study.trial import Resources
from tests.conftest import end_head, free_port, start_head
from tests.study.plans import plan_of
from trainables.errors import UserError

HEAD = {"CPU": 4.0}
GPU_NODES = NodeKind({"CPU": 16.0, "GPU": 4.0}, 3)


def alone(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """What starting Ray changes in this process is undone, and nothing of the person's is touched."""
    from ray._private import ray_constants

    monkeypatch.setattr(ray_constants, "ENABLE_RAY_CLUSTER", True)
    monkeypatch.setenv(ONE_MACHINE, "1")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(home))
    monkeypatch.setenv("HOME", str(home))


def request_of(*arguments: str) -> Request:
    return parse(["--space", "scl_ablation", *arguments])


@pytest.mark.parametrize(
    ("file", "gpus"),
    [("nvidia0", 3), ("nvidiactl", 3), ("nvhost-gpu", 3), ("nvmap", 3), ("kfd", 3), ("dxg", 3), ("nvme0", 0)],
)
def test_torch_is_asked_for_gpus_where_there_may_be_one(
    file: str, gpus: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / file).touch()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr(module, "running_cluster", lambda: None)
    monkeypatch.setattr(module, "DEVICES", tmp_path)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 3)
    assert find_cluster().gpus == gpus


class TestWorkers:
    @pytest.mark.parametrize(("text", "numbers"), [("1", (1, 1)), ("4", (4, 4)), ("2:8", (2, 8)), ("3:3", (3, 3))])
    def test_a_number_or_a_range(self, text: str, numbers: tuple[int, int]) -> None:
        request = request_of("--workers", text)
        assert request.workers == numbers

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("0", "must be at least 1"),
            ("0:2", "must be at least 1"),
            ("4:2", "did you mean 2:4"),
            ("2:", "MIN:MAX such as 1:4"),
            (":2", "MIN:MAX such as 1:4"),
            ("1:2:3", "MIN:MAX such as 1:4"),
            ("two", "must be a number"),
            ("1.5", "must be a number"),
        ],
    )
    def test_mistakes(self, text: str, sentence: str) -> None:
        with pytest.raises(UserError, match=sentence):
            request_of("--workers", text)

    def test_elastic_trials_are_counted_with_all_their_workers(self) -> None:
        nodes = Cluster(True, ({"CPU": 8.0},))
        allotment = allot(nodes, request_of("--workers", "1:4"))
        assert allotment == Allotment(Resources(1, 4), 2)
        assert allot(nodes, request_of("--workers", "2:16")).concurrent == 1  # it begins with what there is
        assert allot(nodes, request_of("--workers", "2:4", "--concurrent", "9")).concurrent == 4
        with pytest.raises(UserError, match="needs 9 workers of 1 CPU each"):
            allot(nodes, request_of("--workers", "9:12"))


class TestCores:
    @pytest.mark.parametrize(
        ("cores", "gpus", "share", "expected"),
        [
            (64, 8, 1, 7),  # eight each, less one for scoring
            (256, 8, 1, 8),
            (8, 4, 1, 1),
            (12, 8, 1, 1),  # too few to keep one free
            (2, 1, 1, 1),
            (1, 1, 1, 1),
            (16, 2, 0.5, 3),
            (64, 8, 2, 8),
        ],
    )
    def test_one_core_a_gpu_stays_free_for_scoring(self, cores: int, gpus: int, share: float, expected: int) -> None:
        cluster = Cluster(True, ({"CPU": cores, "GPU": gpus},))
        allotment = allot(cluster, request_of("--gpus-per-worker", str(share)))
        assert (allotment.resources.cpus, allotment.concurrent) == (expected, gpus / share)
        if cores >= 2 * gpus and expected * gpus / share < cores:
            assert cores - allotment.concurrent * expected >= gpus

    def test_the_nodes_that_may_come_count_too(self) -> None:
        """A head without a GPU, of few cores, bounds nobody's."""
        allotment = allot(Cluster(True, ({"CPU": 2.0},), (GPU_NODES,)), request_of("--scale", "paper"))
        assert allotment.resources.per_worker == {"CPU": 3, "GPU": 1}


class TestGrowing:
    def test_the_papers_scale_asks_for_gpus_that_may_come(self) -> None:
        grows = Cluster(True, (HEAD,), (GPU_NODES,))
        assert allot(grows, request_of("--scale", "paper")).concurrent == 12
        assert allot(grows, request_of("--scale", "paper", "--concurrent", "5")).concurrent == 5
        assert allot(grows, request_of("--scale", "paper", "--concurrent", "50")).concurrent == 12
        assert allot(grows, request_of("--scale", "paper", "--workers", "2:4")).concurrent == 3

    def test_nobody_who_did_not_ask_waits_for_a_gpu(self) -> None:
        allotment = allot(Cluster(True, (HEAD,), (GPU_NODES,)), request_of())
        assert allotment.resources.gpus == 0
        full = (NodeKind(GPU_NODES.resources, 0),)
        for kinds in ((), None, full):
            assert allot(Cluster(True, (HEAD,), kinds), request_of("--scale", "paper")).resources.gpus == 0

    def test_without_a_bound_it_is_what_is_asked_for(self) -> None:
        endless = Cluster(True, (HEAD,), (UNKNOWN_KIND,))
        gpus = ("--scale", "paper")
        assert allot(endless, request_of(*gpus, "--concurrent", "64")).concurrent == 64
        assert allot(endless, request_of(*gpus)).concurrent == 1  # at the least; more is for the person to say
        assert allot(Cluster(True, ({"CPU": 8, "GPU": 4},), (UNKNOWN_KIND,)), request_of(*gpus)).concurrent == 4

    def test_what_even_the_grown_cluster_cannot_hold_is_refused(self) -> None:
        with pytest.raises(UserError, match=r"holds, once it has grown, 12 such workers"):
            allot(Cluster(True, (HEAD,), (GPU_NODES,)), request_of("--scale", "paper", "--workers", "13"))
        full = Cluster(True, (HEAD,), (NodeKind(GPU_NODES.resources, 0),))
        with pytest.raises(UserError, match="needs 1 worker"):
            allot(full, request_of("--gpus-per-worker", "1"))

    def test_where_nobody_can_say_whoever_asks_waits(self) -> None:
        unknown = Cluster(True, (HEAD,), None)
        assert allot(unknown, request_of("--gpus-per-worker", "1", "--workers", "2")).concurrent == 1
        assert allot(unknown, request_of("--workers", "9")).resources.workers == 9
        assert allot(unknown, request_of()).concurrent == 4
        with pytest.raises(UserError, match="holds 0 such workers"):
            allot(Cluster(True, ({},), None), request_of())


class TestWaiting:
    ALLOTMENT = Allotment(Resources(1, 1, 3, 1.0), 4)

    def test_a_sentence_says_what_is_awaited(self) -> None:
        sentence = awaited(Cluster(True, (HEAD,), (GPU_NODES,)), self.ALLOTMENT)
        assert sentence == (
            "waiting for 1 worker of 3 CPU and 1 GPU each: the cluster (1 node, 4 CPUs, no GPU) has no GPU yet; its "
            "autoscaler was asked for more; --gpus-per-worker 0 would train on CPUs"
        )
        sentence = awaited(Cluster(True, (HEAD,), None), Allotment(Resources(9, 9), 1))
        assert "has room for 4 yet; Ray cannot tell whether it grows, so the study waits" in sentence

    def test_with_room_for_one_trial_nobody_waits(self) -> None:
        cluster = Cluster(True, ({"CPU": 4, "GPU": 1},), (GPU_NODES,))
        assert awaited(cluster, self.ALLOTMENT) is None
        assert wait_for_room(cluster, self.ALLOTMENT) is cluster
        assert awaited(cluster, Allotment(Resources(1, 8, 3, 1.0), 1)) is None  # an elastic one begins with its least

    @pytest.mark.parametrize(("waited", "text"), [(4.0, ""), (720.0, "the cluster has room after 12 min; ")])
    def test_to_wait_for_room_is_no_time_of_the_study(
        self, waited: float, text: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        clock = SimulatedClock()
        budget = Budget({"minutes": 40.0, "seconds": 9.0}, clock=clock)
        clock.seconds = waited
        _begin_clock(budget)
        assert budget.seconds_left() == 40 * 60
        assert capsys.readouterr().out == (text and f"{text}the limit minutes=40 counts from now on\n")

    def test_it_is_said_at_once_and_then_now_and_again(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """And no places stay held."""
        held: list[object] = []
        now = -100

        def ready(seconds: float) -> bool:
            nonlocal now
            now += 100
            return now >= 700

        def cpus() -> tuple[dict[str, float], ...]:
            return ({"CPU": float(now)},)

        group = SimpleNamespace(wait=ready)
        groups = importlib.import_module("ray.util.placement_group")  # Ray calls a function so, too
        monkeypatch.setattr(groups, "placement_group", lambda bundles: held.append(group) or group)
        monkeypatch.setattr(groups, "remove_placement_group", held.remove)
        monkeypatch.setattr(module.time, "monotonic", lambda: now)
        monkeypatch.setattr(module, "_living_nodes", cpus)
        assert wait_for_room(Cluster(True, (HEAD,), (GPU_NODES,)), self.ALLOTMENT).cpus == 700
        words = [line.partition("(1 node, ")[2].partition(" CPUs")[0] for line in capsys.readouterr().out.splitlines()]
        assert (words, held) == (["0", "300", "600"], [])


class TestKinds:
    BOOTSTRAP: dict[str, Any] = {  # noqa: RUF012
        "max_workers": 5,
        "head_node_type": "head",
        "available_node_types": {
            "head": {"resources": {"CPU": 4}, "max_workers": 0},
            "gpu": {"resources": {"CPU": 16, "GPU": 4, "memory": 1}, "max_workers": 3},
            "cpu": {"resources": {"CPU": 8}, "max_workers": 9},
        },
    }

    def test_nodes_that_were_joined_by_hand_have_no_named_kind(self, tmp_path: Path) -> None:
        assert kinds_of({f"node_{'0a' * 28}": 1, f"node_{'b1' * 28}": 1}, tmp_path / "none") == ()
        assert kinds_of({"": 2}, tmp_path / "none") == ()

    def test_ray_up_says_how_many_may_come(self, tmp_path: Path) -> None:
        file = tmp_path / "ray_bootstrap_config.yaml"
        file.write_text(json.dumps(self.BOOTSTRAP))
        cpus = NodeKind({"CPU": 8}, 5)
        assert kinds_of({"head": 1}, file) == (NodeKind({"CPU": 16, "GPU": 4}, 3), cpus)
        few = kinds_of({"head": 1, "gpu": 2, "cpu": 2}, file)
        assert [kind.most for kind in few] == [1, 1]  # five nodes at most, of all kinds
        assert kinds_of({"headgroup": 1}, file) == (UNKNOWN_KIND,)  # another cluster's file
        assert kinds_of({"headgroup": 1, "workers": 3}, tmp_path / "none") == (UNKNOWN_KIND,)  # KubeRay leaves none


@pytest.mark.parametrize("address", ["somewhere", "somewhere:port", ":6379", "ray://somewhere:10001", "["])
def test_an_address_that_is_none_is_one_sentence(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray.is_initialized", lambda: False)  # another test of this process may have joined one
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(UserError, match=f"RAY_ADDRESS is '{re.escape(address)}', and no Ray cluster is there; name"):
        find_cluster()


class TestStarting:
    @pytest.fixture(autouse=True)
    def at_home(self, tmp_path: Path) -> None:
        self.home = tmp_path

    SLOW = Exception("The current node timed out during startup. This could happen because some of the raylet failed")

    @pytest.mark.parametrize(
        ("answers", "ends"),
        [
            ((SLOW, SimpleNamespace(dashboard_url="127.0.0.1:8265")), contextlib.nullcontext()),
            ((SLOW, SLOW), pytest.raises(UserError, match="Ray did not start on this machine, in two attempts of 30")),
            ((RuntimeError("no space on disk"),), pytest.raises(RuntimeError, match="disk")),
        ],
        ids=["slow", "slow twice", "another error"],
    )
    def test_a_slow_start_is_tried_once_more(
        self,
        answers: Sequence[Any],
        ends: contextlib.AbstractContextManager[object],
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        cores: list[int] = []

        def init(**options: Any) -> object:
            cores.append(options["num_cpus"])
            answer = answers[len(cores) - 1]
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr("ray.init", init)
        monkeypatch.setenv("PYTHONPATH", "")
        alone(monkeypatch, self.home)
        with ends:
            start_cluster(Cluster(False, ({"CPU": 2.0, "GPU": 0.0},)))
        assert cores == [2] * len(answers)
        started = not isinstance(answers[-1], Exception)
        assert ("Ray dashboard: http://127.0.0.1:8265" in capsys.readouterr().out) == started

    def test_what_a_failed_start_leaves_behind_is_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        import ray

        started: list[subprocess.Popen[bytes]] = []
        before = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])

        def init(**options: Any) -> object:
            started.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]))
            raise self.SLOW

        monkeypatch.setattr(ray, "init", init)
        alone(monkeypatch, self.home)
        try:
            assert module._start_ray({"num_cpus": 1, "num_gpus": 0}) is None
            assert started[0].poll() is not None  # long before its minute is over
            assert before.poll() is None
        finally:
            before.kill()
            before.wait()


class TestAlone:
    """A Ray that a study starts by itself: with a token, on this machine alone, in a folder of its user's.
    `tests/project/test_security_ray.py` asks the real one."""

    @pytest.fixture(autouse=True)
    def at_home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        alone(monkeypatch, tmp_path)

    def test_ray_is_told_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import ray
        from ray._private import ray_constants

        options: dict[str, Any] = {}

        def init(**arguments: Any) -> object:
            options.update(arguments, mode=os.environ.get("RAY_AUTH_MODE"), switch=os.environ[ONE_MACHINE])
            return SimpleNamespace(dashboard_url=None)

        monkeypatch.setattr(ray, "init", init)
        monkeypatch.delenv("RAY_AUTH_MODE")
        before = os.umask(0o002)  # as Debian and Fedora have it for users with a group of their own
        try:
            start_cluster(Cluster(False, ({"CPU": 2.0, "GPU": 0.0},)))
        finally:
            os.umask(before)
        assert (options["address"], options["switch"]) == ("local", "0")
        assert options["mode"] is None  # Ray's own default
        assert not ray_constants.ENABLE_RAY_CLUSTER
        parent = Path(options["_temp_dir"]).parent
        assert parent == tmp_path / f"ray-{os.getuid()}"
        assert parent.stat().st_mode & 0o777 == 0o700
        token = tmp_path / ".ray" / "auth_token"
        assert token.stat().st_mode & 0o777 == 0o600
        assert token.parent.stat().st_mode & 0o777 == 0o700
        assert len(token.read_text()) == 64

    def test_what_all_may_read_or_enter_is_closed(self, tmp_path: Path) -> None:
        token, folder = tmp_path / ".ray" / "auth_token", tmp_path / f"ray-{os.getuid()}"
        token.parent.mkdir()
        token.write_text("mine")
        token.chmod(0o644)
        module._keep_token_private()
        assert (token.read_text(), token.stat().st_mode & 0o777) == ("mine", 0o600)
        folder.mkdir(mode=0o755)
        assert module._own_folder() == folder / "ray"
        assert folder.stat().st_mode & 0o777 == 0o700

    def test_a_folder_that_somebody_else_put_there_is_not_taken(self, tmp_path: Path) -> None:
        (tmp_path / "theirs").mkdir()
        (tmp_path / f"ray-{os.getuid()}").symlink_to(tmp_path / "theirs")
        with pytest.raises(UserError, match="belongs to somebody else; set RAY_TMPDIR"):
            module._own_folder()

    @pytest.mark.parametrize(("asks", "warned"), [(True, False), (False, True)])
    def test_who_joins_a_cluster_without_a_token_is_warned(
        self, asks: bool, warned: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        import ray

        monkeypatch.setattr(ray, "is_initialized", lambda: True)
        monkeypatch.setattr(module, "asks_for_a_token", lambda: asks)
        monkeypatch.setattr(module, "_living_nodes", lambda: ({"CPU": 2.0},))
        monkeypatch.setattr(module, "find_kinds", lambda: ())
        module.find_cluster()
        assert ("asks for no token" in capsys.readouterr().out) is warned


@pytest.mark.parametrize(
    ("job", "copied"),
    [
        (None, False),
        ({}, False),
        ({"runtime_env": {"env_vars": {"A": "1"}}}, False),
        ({"runtime_env": {"working_dir": "gcs://_ray_pkg_0123.zip"}}, True),
    ],
)
def test_only_a_job_with_a_working_directory_runs_in_a_copy(
    job: dict[str, Any] | None, copied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    if job is not None:
        monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", json.dumps(job))
    assert inside_copy() is copied
    # Else it is started where `ray start` was typed, and workers on other machines are sent our packages.
    assert ("py_modules" in module._runtime_env()) is not copied


class TestSchedulersNeedARungScore:
    def check(self, *arguments: str) -> None:
        search = ("--search", "grid", "--scheduler", "asha", "--scale", "laptop")
        check_plan(plan_of("--space", "scl_tau", *search, *arguments))

    def test_without_it_a_sentence_says_what_would_work(self) -> None:
        with pytest.raises(UserError) as refused:
            self.check("--set", "evaluation.tasks=CR,STS12")
        assert str(refused.value) == (
            "--scheduler asha judges trials by the development score of STSBenchmark, which is not among "
            "evaluation.tasks (CR, STS12); add it with --set evaluation.tasks=CR,STS12,STSBenchmark, or leave "
            "--scheduler out"
        )

    def test_data_that_is_missing_is_seen(self, tmp_path: Path) -> None:
        from trainables.corpora import scenes

        (tmp_path / "downstream").mkdir()
        (tmp_path / "downstream" / "CR").symlink_to(scenes.ensure() / "senteval" / "downstream" / "CR")
        with pytest.raises(
            UserError, match=r"judges trials by the development score of STSBenchmark: .* holds no task"
        ):
            self.check("--senteval", str(tmp_path))


# --- one real cluster, whose autoscaler starts a second (pretended) machine on this one

WAIT = """
import sys
from study.engine.cluster import allot, find_cluster, wait_for_room
from study.cli.options import parse

cluster = find_cluster()
request = parse(["--space", "scl_ablation", "--scale", "paper"])
allotment = allot(cluster, request)
print("at first", cluster.gpus, allotment.concurrent, flush=True)
grown = wait_for_room(cluster, allotment)
print("then", grown.gpus, len(grown.nodes), flush=True)

import os
import ray

def visible():
    return os.environ.get("CUDA_VISIBLE_DEVICES")

class Actor:
    def visible(self):
        return visible()

for gpus in (0, 0.5, 1):
    options = {"num_cpus": 0.5, "num_gpus": gpus}
    actor = ray.remote(Actor).options(**options).remote()
    found = ray.get(ray.remote(visible).options(**options).remote()) if gpus < 1 else "-"
    print(gpus, "GPUs:", found, ray.get(actor.visible.remote()), flush=True)
    del actor
"""


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A head without a GPU whose autoscaler, Ray's own, may add two nodes with one; the environment of its users."""
    from ray._private.services import get_node_ip_address

    gcs, session = free_port(), f"/tmp/ray-grow-{os.getpid()}"
    address = f"{get_node_ip_address()}:{gcs}"
    empty: list[str] = []
    commands = dict.fromkeys(
        ("initialization", "setup", "head_setup", "worker_setup", "head_start_ray", "worker_start_ray"), empty
    )
    config = {
        "cluster_name": "fake",
        "max_workers": 2,
        "upscaling_speed": 1.0,
        "idle_timeout_minutes": 5,
        "docker": {},
        "auth": {},
        "provider": {
            "type": "fake_multinode",
            "use_node_id_as_ip": True,
            "disable_node_updaters": True,
            "disable_launch_config_check": True,
            "gcs_address": address,
        },
        "head_node_type": "ray.head.default",
        "available_node_types": {
            "ray.head.default": {"resources": {"CPU": 1}, "node_config": {}, "min_workers": 0, "max_workers": 0},
            "gpu": {"resources": {"CPU": 2, "GPU": 1}, "node_config": {}, "min_workers": 0, "max_workers": 2},
        },
        "file_mounts": {},
        "cluster_synced_files": [],
        "file_mounts_sync_continuously": False,
        "rsync_exclude": [],
        "rsync_filter": [],
        **{f"{name}_commands": value for name, value in commands.items()},
    }
    (tmp_path / "ray_bootstrap_config.yaml").write_text(json.dumps(config))
    (tmp_path / "token").write_text("a-token-for-this-test-only-0123456789abcdef")
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("RAY_")},
        "HOME": str(tmp_path),  # where `ray up` leaves that file
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token"),
        "RAY_FAKE_CLUSTER": "1",
        "CUDA_VISIBLE_DEVICES": "6,7",  # of the machine that it pretends to be
        "RAY_worker_niceness": "0",
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(module.ROOT),
    }
    start = ["ray", "start", "--head", "--block", f"--port={gcs}", "--num-cpus=1", f"--temp-dir={session}"]
    start += [f"--autoscaling-config={tmp_path / 'ray_bootstrap_config.yaml'}", "--include-dashboard=false"]
    start += [f"--{name}={free_port()}" for name in ("metrics-export-port", "ray-client-server-port")]
    start += [f"--dashboard-agent-{name}-port={free_port()}" for name in ("listen", "grpc")]
    head = start_head(start, environment)
    try:
        give_up = time.monotonic() + 120
        while not listens(address):
            assert head.poll() is None, "ray start ended"
            assert time.monotonic() < give_up, "no cluster answers"
            time.sleep(0.3)
        yield {**environment, "RAY_ADDRESS": address}
    finally:
        end_head(head)
        shutil.rmtree(session, ignore_errors=True)


@pytest.mark.ray
@pytest.mark.slow
def test_a_head_without_a_gpu_asks_its_autoscaler_for_one_and_waits(growing: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WAIT], env=growing, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    joining, *lines = done.stdout.splitlines()
    assert joining == f"joining the Ray cluster at {growing['RAY_ADDRESS']} ..."
    assert lines[0] == "at first 0.0 2"
    assert lines[1].startswith("waiting for 1 worker of 1 CPU and 1 GPU each: the cluster (1 node, 1 CPUs, no GPU)")
    assert "its autoscaler was asked for more" in lines[1]
    assert lines[-4] in ("then 1.0 2", "then 2.0 3")
    # Who asks for no GPU sees none, and who asks for one, or a share, sees that alone.
    assert [line.replace("7", "6") for line in lines[-3:]] == ["0 GPUs:  ", "0.5 GPUs: 6 6", "1 GPUs: - 6"]
