"""What a study survives, on a real Ray cluster: workers that die, a trial that fails by itself, SIGTERM, a machine that
shares no folder with the study's, and a results folder that is a bucket."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from reports.ledger import Progress
from tests.conftest import end_head, free_port, start_head
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.trial.run import run_trial

pytestmark = pytest.mark.ray

ROOT = Path(__file__).resolve().parents[3]
TASKS = ("--scale", "laptop", "--set", "evaluation.tasks=STS13,TREC,STSBenchmark")
ROW = ("--space", "scl_npos_nneg", "--only", "3p3n-lambda0.5-SCL")
ONE_PLACE = ("--concurrent", "1", "--cpus-per-worker", "1")
LONG = (*TASKS, "--set", "optimisation.max_steps=60", "--set", "optimisation.epochs=20")
MANY = (*TASKS, "--set", "optimisation.max_steps=500", "--set", "optimisation.batch_size=16")
"""Quick steps, and more of them than go by while a machine is told of its end."""


def command(results: Path | str, *arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "study" / "run.py"), "--results", str(results), *arguments]


def start(environment: dict[str, str], folder: Path, results: Path | str, *arguments: str) -> subprocess.Popen[str]:
    with open(folder / "console.txt", "a") as console:
        return subprocess.Popen(
            command(results, *arguments), env=environment, stdout=console, stderr=console, text=True, cwd=folder
        )


def run(
    environment: dict[str, str], folder: Path, results: Path | str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """The same to its end."""
    return subprocess.run(
        command(results, *arguments), env=environment, capture_output=True, text=True, timeout=280, cwd=folder
    )


def output(folder: Path) -> str:
    return (folder / "console.txt").read_text()


def until(happened: Callable[[], Any], study: subprocess.Popen[str], what: str, seconds: float = 240) -> Any:
    """Wait for something that a running study does."""
    deadline = time.monotonic() + seconds
    while not (outcome := happened()):
        assert study.poll() is None, f"the study ended before {what}"
        assert time.monotonic() < deadline, f"no sign of {what}"
        time.sleep(0.1)
    return outcome


def ended(study: subprocess.Popen[str], folder: Path, seconds: float = 280) -> int:
    """The exit status of a study, once it has ended."""
    try:
        return study.wait(seconds)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"the study goes on and on:\n{output(folder)}") from None


def trains(results: Path, attempt: int = 1) -> bool:
    """Whether the one trial is past its fifth step, in its so many-th attempt."""
    progress = Progress.load(results)
    return progress is not None and any(
        options.attempt == attempt and (options.step or 0) >= 5 for options in progress.running
    )


def shown_running(results: Path) -> bool:
    """Whether the live page shows any trial as running."""
    progress = Progress.load(results)
    return progress is None or bool(progress.running)


def records(results: Path) -> dict[str, dict[str, Any]]:
    return {path.name: json.loads(path.read_text()) for path in sorted((results / "ledger").glob("*.json"))}


def scores(by_task: dict[str, Any]) -> dict[str, Any]:
    """Without what depends on the clock."""
    return {
        task: {name: value for name, value in numbers.items() if name != "seconds"} for task, numbers in by_task.items()
    }


def group_processes(cluster: dict[str, str]) -> list[int]:
    """Of this test's cluster: Tune's actors, in which groups of one worker run."""
    outcome = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            title = (folder / "cmdline").read_bytes().decode()
            environment = (folder / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if title.startswith("ray::ResourceTrainable") and cluster["RAY_AUTH_TOKEN_PATH"] in environment:
            outcome.append(int(folder.name))
    return outcome


@pytest.mark.slow
def test_a_killed_group_and_a_stopped_study_cost_no_bit(cluster: dict[str, str], tmp_path: Path) -> None:
    """A trial's process is killed by SIGKILL in the midst of its training, then the study is stopped by SIGTERM and
    begun again. The scores are those of the same trial unbroken, and without Ray, to the last bit."""
    options = (*ROW, *LONG)
    broken = tmp_path / "broken"
    study = start(cluster, tmp_path, broken, *options)
    try:
        until(lambda: trains(broken), study, "a fifth step")
        (process,) = group_processes(cluster)
        os.kill(process, signal.SIGKILL)
        until(lambda: not shown_running(broken), study, "the live page knows of the death")
        until(lambda: trains(broken, attempt=2), study, "a fifth step of another group")
        study.send_signal(signal.SIGTERM)
        assert study.wait(60) == 143, output(tmp_path)
    finally:
        study.kill()
    text = output(tmp_path)
    assert "stopped; run the same command again to continue" in text
    assert "Traceback" not in text
    assert not records(broken)
    (checkpoint,) = (broken / "train").iterdir()  # of the step at which it was stopped
    assert json.loads((checkpoint / "state.json").read_text())["step"] >= 5
    assert not group_processes(cluster)

    done = run(cluster, tmp_path, broken, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = records(broken).values()
    evaluation = json.loads((broken / "study.json").read_text())["evaluation"]
    assert record["training"]["resumed_seconds"] > 0
    unbroken = run_trial(Recipe.from_flat(record["recipe"]), record["seed"], EvaluationConfig.from_flat(evaluation))
    assert scores(record["evaluations"][0]["scores"]) == scores(json.loads(json.dumps(unbroken.scores)))
    assert not list((broken / "train").glob("*"))


SPACE = """
from search_spaces import Row, Space
from trainables.recipe import Recipe
LAPTOP = {"encoder.name": "scenes-small", "corpus.nli": "scenes", "evaluation.senteval": "scenes"}
ROWS = (Row("wrong", {"objective.name": "wrong"}), Row("full", {"objective.name": "full"}), Row("good", {}),
        Row("../../../escaped\\x1b[31m/" + 300 * "x", {"objective.temperature": 0.2}))
SPACE = Space("mine", "Mine", "nobody", Recipe(), {**LAPTOP, "evaluation.protocol": "fast"}, rows=ROWS)
"""
PLUGIN = """
from dataclasses import dataclass
import torch
from trainables.objectives import OBJECTIVES

@dataclass(frozen=True)
class Full(OBJECTIVES["scl"]):
    name = "full"
    def loss(self, batch, own=None):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 200.00 GiB")
@dataclass(frozen=True)
class Wrong(OBJECTIVES["scl"]):
    name = "wrong"
    def loss(self, batch, own=None):
        raise RuntimeError("a mistake of this objective")
OBJECTIVES.add(Full, Wrong)
"""


@pytest.mark.slow
def test_a_trial_fails_by_itself_and_its_group_goes_on(cluster: dict[str, str], tmp_path: Path) -> None:
    """One place, one worker group: a mistake and a full GPU memory each end their own trial; the next ones run in the
    same process. A label that would leave the folder names no file."""
    (tmp_path / "mine.py").write_text(SPACE)
    (tmp_path / "objective.py").write_text(PLUGIN)
    results = tmp_path / "a" / "b" / "c" / "results"
    results.parent.mkdir(parents=True)
    arguments = ("--space", "./mine.py", "--plugin", "objective.py", "--concurrent", "1", *TASKS)
    done = run(cluster, tmp_path, results, *arguments, "--set", "optimisation.max_steps=4")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED: RuntimeError: a mistake of this objective" in done.stdout
    assert "FAILED: the GPU's memory is full; lower optimisation.batch_size" in done.stdout
    assert "2 trials failed" in done.stderr
    assert "\x1b" not in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    outcome = records(results)
    assert len(outcome) == 2
    assert sum("starting" in record["cost"]["crew"] for record in outcome.values()) == 1  # one process for all
    kept = [json.loads(path.read_text()) for path in (results / "failures").glob("*.json")]
    assert any("line" in failure["details"] and "a mistake" in failure["details"] for failure in kept)
    named = [path for path in tmp_path.rglob("*") if "escaped" in path.name]
    assert all(path.is_relative_to(results) and len(path.name) < 100 for path in named)
    assert all(re.fullmatch(r"[\w.-]+", path.name) for path in named)


class Apart:
    """A cluster of a head without cores, and machines of one core that see nothing of the head's results and caches."""

    def __init__(self, environment: dict[str, str], hidden: Path) -> None:
        """`hidden`: the folder that the machines do not see."""
        self.hidden, self.session, self.gcs = hidden, Path(f"/tmp/ray-apart-{os.getpid()}"), free_port()
        self.environment = {key: value for key, value in environment.items() if not key.startswith("RAY_A")} | {
            key: value for key, value in environment.items() if key.startswith("RAY_AUTH")
        }
        self.started = list[subprocess.Popen[bytes]]()
        self._until(self._start_head, lambda: not socket.socket().connect_ex(("127.0.0.1", self.gcs)))
        self.environment["RAY_ADDRESS"] = f"127.0.0.1:{self.gcs}"

    def add(self) -> subprocess.Popen[bytes]:
        """One machine more; returns when it has joined."""
        before = set(self.machines())
        return self._until(self._start_machine, lambda: bool(set(self.machines()) - before))

    @staticmethod
    def _until(start: Callable[[], subprocess.Popen[bytes]], is_there: Callable[[], bool]) -> subprocess.Popen[bytes]:
        """Ray gives its processes 30 seconds to start, which no setting changes, so on a busy computer it may take more
        than one try."""
        for _ in range(3):
            process = start()
            deadline = time.monotonic() + 90
            while process.poll() is None and time.monotonic() < deadline:
                if is_there():
                    return process
                time.sleep(0.2)
            end_head(process)
        raise AssertionError("Ray does not start")

    def _start_head(self) -> subprocess.Popen[bytes]:
        head = [f"--port={self.gcs}", "--num-cpus=0", f"--temp-dir={self.session}", "--include-dashboard=false"]
        ports = [*self._ports(), f"--ray-client-server-port={free_port()}"]
        self.started.append(start_head(["ray", "start", "--head", "--block", *head, *ports], self.environment))
        return self.started[-1]

    def _start_machine(self) -> subprocess.Popen[bytes]:
        node = ["ray", "start", "--block", f"--address=127.0.0.1:{self.gcs}", "--num-cpus=1", *self._ports()]
        script = f"mount -t tmpfs none {self.hidden} && exec {' '.join(node)}"
        cache = {"XDG_CACHE_HOME": str(self.hidden / "cache")}
        self.started.append(start_head(["unshare", "-rm", "sh", "-c", script], {**self.environment, **cache}))
        return self.started[-1]

    def machines(self) -> list[str]:
        """Names of those with a core that have joined."""
        return self._ask("").split()

    def announce(self, seconds: int = 3600) -> None:
        """Ray is told, as a cloud would tell it, that every machine with a core goes in so many seconds."""
        assert self._ask(str(seconds))

    def _ask(self, leaving: str) -> str:
        """What `ASK` prints, in a process that has the cluster's token."""
        ask = [sys.executable, "-c", ASK, f"127.0.0.1:{self.gcs}", leaving]
        return subprocess.run(ask, env=self.environment, check=True, capture_output=True, text=True).stdout

    def end(self) -> None:
        for process in reversed(self.started):
            end_head(process)
        shutil.rmtree(self.session, ignore_errors=True)

    def _ports(self) -> list[str]:
        names = ("dashboard-agent-listen-port", "dashboard-agent-grpc-port", "metrics-export-port")
        return [f"--{name}={free_port()}" for name in names]


ASK = """
import sys, time
from ray._raylet import GcsClient
from ray.core.generated import autoscaler_pb2, gcs_pb2
address, leaving = sys.argv[1:]
gcs = GcsClient(address=address)
for name, node in gcs.get_all_node_info(timeout=60).items():
    if node.state == gcs_pb2.GcsNodeInfo.ALIVE and node.resources_total.get("CPU"):
        print(name.hex())
        if leaving:
            spot = autoscaler_pb2.DrainNodeReason.Value("DRAIN_NODE_REASON_PREEMPTION")
            accepted, why = gcs.drain_node(name.hex(), spot, "spot", int(1000 * (time.time() + int(leaving))))
            assert accepted, why
"""
"""Lists the machines with a core; Ray's own commands for it take seconds each."""


@pytest.fixture
def apart(cluster: dict[str, str], tmp_path: Path) -> Iterator[Apart]:
    """Machines that share no folder with the study's."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a folder of their own (unshare -rm)")
    made = Apart(cluster, tmp_path)
    try:
        yield made
    finally:
        made.end()


@pytest.mark.slow
def test_a_spot_machine_goes_and_another_one_comes(apart: Apart, tmp_path: Path) -> None:
    """No folder in common. A notice brings a checkpoint at once; then the machine is gone, the study waits, another
    machine comes, and the trial goes on there from the checkpoint. Its model, predictions and losses are all there."""
    results = tmp_path / "results"
    options = (*ROW, *MANY)
    machine = apart.add()
    study = start(apart.environment, tmp_path, results, *options, *ONE_PLACE, "--workers", "1")
    try:
        until(lambda: trains(results), study, "a fifth step")
        assert not (results / "train").exists()  # a minute has not passed
        apart.announce()
        until((results / "train").exists, study, "a checkpoint after the notice", seconds=60)
        (checkpoint,) = (results / "train").iterdir()
        assert {path.name for path in checkpoint.iterdir()} == {"digests.json", "state.json", "state.safetensors"}
        end_head(machine)
        apart.add()
        assert ended(study, tmp_path) == 0, output(tmp_path)
    finally:
        study.kill()
    (record,) = records(results).values()
    assert record["training"]["resumed_seconds"] > 0
    model = results / record["checkpoint"]
    assert (model / "modules.json").is_file()
    assert "STS13" in (model / "README.md").read_text()
    assert (results / record["evaluations"][0]["predictions"]).is_file()
    assert list((results / "progress").glob("*.jsonl"))
    assert not list((results / "train").glob("*"))
    assert not list((results / "incoming").glob("*"))


@pytest.mark.slow
def test_a_group_of_two_machines_trains_past_a_deadline_and_waits_for_a_machine(apart: Apart, tmp_path: Path) -> None:
    """A notice brings a checkpoint, and its end restarts nobody while both machines are there. Once one is gone, the
    console says what is waited for, until there are others, which go on from the checkpoint. It ends there, as 6,000
    steps take minutes."""
    results = tmp_path / "results"
    longer = ("--set", "optimisation.max_steps=6000", "--set", "optimisation.epochs=16")
    machine, _ = apart.add(), apart.add()
    study = start(apart.environment, tmp_path, results, *ROW, *MANY, *longer, *ONE_PLACE, "--workers", "2")

    def step(attempt: int = 1) -> int:
        progress = Progress.load(results)
        steps = [run.step or 0 for run in progress.running if run.attempt == attempt] if progress else []
        return max(steps, default=0)

    try:
        until(lambda: step() >= 100, study, "a hundredth step")
        apart.announce(seconds=8)
        until((results / "train").exists, study, "a checkpoint after the notice", seconds=60)
        time.sleep(12)
        before = step()
        until(lambda: step() > before, study, "further steps after the deadline", seconds=60)
        end_head(machine)
        need = "0 running, 1 waiting for a new worker group (2 workers of 1 CPU each)"
        until(lambda: need in output(tmp_path), study, "what is waited for")
        (checkpoint,) = (results / "train").iterdir()
        trained = json.loads((checkpoint / "state.json").read_text())["step"]
        apart.add(), apart.add()
        assert until(lambda: step(attempt=2), study, "a step of another group") >= trained >= 100
        study.send_signal(signal.SIGTERM)
        assert study.wait(60) == 143, output(tmp_path)
    finally:
        study.kill()


@pytest.mark.slow
def test_results_in_a_bucket_survive_the_study_s_machine(cluster: dict[str, str], tmp_path: Path) -> None:
    """A study whose results are a bucket's is killed by SIGKILL after its first trial, and goes on from another
    machine's empty cache; what was there is not written again. The row is SupMPN's, with its picture."""
    pytest.importorskip("moto", reason="moto plays the object store (extra `dev`)")
    boto3 = pytest.importorskip("boto3", reason="moto brings it")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", free_port(), verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        keys = {"AWS_ACCESS_KEY_ID": "testing", "AWS_SECRET_ACCESS_KEY": "testing", "AWS_DEFAULT_REGION": "us-east-1"}
        own = {name.lower(): value for name, value in keys.items() if name != "AWS_DEFAULT_REGION"}
        store = boto3.client("s3", endpoint_url=f"http://{host}:{port}", region_name="us-east-1", **own)
        store.create_bucket(Bucket="studies")
        url = f"s3://studies/one?endpoint_override={host}:{port}&scheme=http&region=us-east-1"
        few = ("--space", "supmpn_main", "--only", "SupMPN-BERT-base", "--seeds", "2", "--concurrent", "1")
        few = (*few, *TASKS, "--set", "optimisation.max_steps=4")

        def written() -> dict[str, Any]:
            """When each object was written."""
            listed = store.list_objects_v2(Bucket="studies").get("Contents", [])
            return {item["Key"].removeprefix("one/"): item["LastModified"] for item in listed}

        def kept() -> dict[str, Any]:
            time.sleep(1)
            return {name: when for name, when in written().items() if name.startswith("ledger/")}

        first = {**cluster, **keys, "XDG_CACHE_HOME": str(tmp_path / "first")}
        study = start(first, tmp_path, url, *few)
        try:
            until(kept, study, "a first record")
        finally:
            study.kill()
            study.wait()
        before = kept()
        (key,) = (Path(name).stem for name in before)
        # A record promises that the rest is there.
        assert any(name.startswith(f"predictions/{key}-") for name in written())
        assert f"models/{key}/modules.json" in written()
        second = {**cluster, **keys, "XDG_CACHE_HOME": str(tmp_path / "second")}
        done = run(second, tmp_path, url, *few)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "2 trials (2 of 1 row, 2 seeds), 1 of them done" in done.stdout
        assert "report: s3://studies/one/report.md" in done.stdout
        after = kept()
        assert len(after) == 2
        assert before.items() <= after.items()
        assert {"report.md", "study.json", "trials.csv", "pictures/heat-map.svg"} <= written().keys()
        assert not [name for name in written() if name.startswith("train/")]
        text = store.get_object(Bucket="studies", Key="one/report.md")["Body"].read().decode()
        assert "SupMPN-BERT-base" in text
        again = run(second, tmp_path, url, *few)
        assert again.returncode == 0, again.stdout + again.stderr  # nothing left: no Ray, only the report
        assert kept() == after
    finally:
        server.stop()


def without_work(perform: str, results: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A study of one row, under two seeds unless `options` say more, without its
    work, on a Ray that it starts by itself."""
    session = Path(f"/tmp/ray-own-{os.getpid()}")  # so that it does not find the cluster of the other tests
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    work = [sys.executable, "-m", "tests.engine_work", perform, str(results), "--only", "SBERT baseline"]
    try:
        return subprocess.run(
            [*work, "--concurrent", "1", "--seeds", "2", *options],
            cwd=ROOT,
            env={**environment, "RAY_TMPDIR": str(session)},
            capture_output=True,
            text=True,
            timeout=280,
        )
    finally:
        shutil.rmtree(session, ignore_errors=True)


@pytest.mark.slow
def test_a_trial_that_kills_its_process_is_given_up_and_groups_are_renewed(tmp_path: Path) -> None:
    """It is given up after four attempts. The next trials run, each in a process of its own, as they ask for."""
    done = without_work("dying", tmp_path, "--seeds", "3")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "seed 0  FAILED: it was begun 4 times" in done.stdout
    assert [name[-7:] for name in records(tmp_path)] == ["-1.json", "-2.json"]
    assert ["starting" in record["cost"]["crew"] for record in records(tmp_path).values()] == [True, True]


@pytest.mark.slow
def test_several_workers_are_renewed(tmp_path: Path) -> None:
    done = without_work("renewing", tmp_path, "--workers", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ["starting" in record["cost"]["crew"] for record in records(tmp_path).values()] == [True, True]
