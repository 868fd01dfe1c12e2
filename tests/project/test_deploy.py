"""The files in deploy/: each is read by its own schema or linter, and keeps what docs/clusters.md promises.

`ray up` files are checked by Ray's own schema and code, shell scripts by shellcheck. KubeRay's own schema (a CRD of
over a megabyte) comes with no package, so of the `RayJob` the names of its fields are checked. No test here starts a
machine on a cloud, in Kubernetes or under Slurm.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from study.cli.options import parse
from study.engine.autoscaler import NodeKind, kinds_of

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
SCRIPTS = [
    DEPLOY / "ray-up" / "spot_worker.sh",
    DEPLOY / "slurm" / "study.sbatch",
    ROOT / "benchmarks" / "gpu" / "first_day.sh",
]
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
RAY = re.findall(r"^ray==(.*)$", (ROOT / "constraints.txt").read_text(), re.M)[0]


# The fields of the `RayJob` file, as the API references of KubeRay and Kubernetes spell them.
RAY_JOB = {
    *("apiVersion", "kind", "metadata", "name", "spec", "entrypoint", "shutdownAfterJobFinishes", "backoffLimit"),
    *("ttlSecondsAfterFinished", "activeDeadlineSeconds", "rayClusterSpec", "rayVersion", "authOptions", "mode"),
    *("enableInTreeAutoscaling", "autoscalerOptions", "version", "upscalingMode", "idleTimeoutSeconds"),
    *("headGroupSpec", "serviceType", "enableIngress", "workerGroupSpecs", "groupName", "replicas", "minReplicas"),
    *("maxReplicas", "rayStartParams", "template", "restartPolicy", "automountServiceAccountToken"),
    *("terminationGracePeriodSeconds", "nodeSelector", "tolerations", "key", "operator", "effect", "containers"),
    *("image", "env", "value", "envFrom", "secretRef", "ports", "containerPort", "resources", "requests", "limits"),
    *("securityContext", "runAsNonRoot", "runAsUser", "fsGroup", "seccompProfile", "type", "capabilities", "drop"),
    *("allowPrivilegeEscalation", "volumes", "persistentVolumeClaim", "claimName", "volumeMounts", "mountPath"),
    "readOnly",
}
NAMED_FREELY = ("rayStartParams", "nodeSelector", "requests", "limits")
"""Fields whose own entries have names that the references leave open, and texts as values."""


def fields(part: Any) -> Iterator[str]:
    """The names of all fields; where names are free, what is there beside texts."""
    for name, value in part.items() if isinstance(part, dict) else ():
        yield name
        if name in NAMED_FREELY:
            yield from (f"{name}: {item!r}" for item in value.values() if not isinstance(item, str))
        else:
            yield from fields(value)
    if isinstance(part, list):
        yield from (name for item in part for name in fields(item))


def study_commands(text: str) -> Iterator[list[str]]:
    """Arguments of each `python study/run.py` in a file, comments included."""
    plain = re.sub(r"\\?\n#? +", " ", text)
    for arguments in re.findall(r"python study/run\.py ((?:--\S+(?: (?!-)\S+)? ?)+)", plain):
        yield shlex.split(arguments)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
class TestEveryFile:
    def test_images_have_a_version(self, path: Path) -> None:
        text = path.read_text()
        assert ":latest" not in text
        for image in re.findall(r"^ *(?:- )?image: (?!\*)(?:&\w+ )?(\S+)$", text, re.M):
            assert image.endswith(f":{VERSION}"), image
        for base in re.findall(r"^FROM (\S+)", text, re.M):
            assert base == f"rayproject/ray:{RAY}-py311"

    def test_no_dashboard_is_open_and_tokens_are_asked_for(self, path: Path) -> None:
        text = path.read_text()
        assert "0.0.0.0" not in text
        for line in text.splitlines():
            if "ray start" in line and "--head" in line and not line.lstrip().startswith("#"):
                assert "--dashboard-host=127.0.0.1" in text
                assert "RAY_AUTH_MODE=token" in text

    def test_study_commands_can_be_read(self, path: Path) -> None:
        for arguments in study_commands(path.read_text()):
            assert parse(arguments).space

    def test_a_page_links_it(self, path: Path) -> None:
        page = (ROOT / "docs" / ("watching.md" if path.parent.name == "grafana" else "clusters.md")).read_text()
        if path.suffix != ".dockerignore":
            assert f"](../{path.relative_to(ROOT)})" in page


class TestKubeRay:
    @pytest.fixture
    def job(self) -> dict[str, Any]:
        return yaml.safe_load((DEPLOY / "kuberay" / "rayjob.yaml").read_text())

    def test_its_fields_are_those_of_the_reference(self, job: dict[str, Any]) -> None:
        assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
        assert {*fields(job)} == RAY_JOB

    def test_it_grows_from_no_gpu_on_machines_that_are_taken_away(self, job: dict[str, Any]) -> None:
        cluster = job["spec"]["rayClusterSpec"]
        assert cluster["rayVersion"] == RAY
        assert cluster["authOptions"]["mode"] == "token"
        assert cluster["enableInTreeAutoscaling"]
        assert cluster["headGroupSpec"]["serviceType"] == "ClusterIP"
        (group,) = cluster["workerGroupSpecs"]
        assert group["minReplicas"] == group["replicas"] == 0
        pod = group["template"]["spec"]
        (container,) = pod["containers"]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == "1"
        drain = {item["name"]: item["value"] for item in container["env"]}["RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S"]
        assert 60 <= int(drain) < pod["terminationGracePeriodSeconds"] < 120
        for template in (cluster["headGroupSpec"]["template"], group["template"]):
            assert template["spec"]["restartPolicy"] == "Never"  # the autoscaler's second version wants it
            for item in template["spec"]["containers"]:
                assert item["resources"]["requests"] == item["resources"]["limits"]

    def test_the_study_asks_for_all_that_may_come(self, job: dict[str, Any]) -> None:
        (arguments,) = study_commands(job["spec"]["entrypoint"])
        request = parse(arguments)
        (group,) = job["spec"]["rayClusterSpec"]["workerGroupSpecs"]
        limits = group["template"]["spec"]["containers"][0]["resources"]["limits"]
        assert request.scale == "paper"
        assert request.concurrent == group["maxReplicas"]
        assert request.cpus_per_worker == int(limits["cpu"]) - 1  # one is left for scoring
        assert "--results s3://" in job["spec"]["entrypoint"]


class TestRayUp:
    @pytest.fixture
    def config(self) -> dict[str, Any]:
        from ray.autoscaler._private.util import prepare_config

        return prepare_config(yaml.safe_load((DEPLOY / "ray-up" / "aws.yaml").read_text()))

    def test_ray_itself_accepts_it(self, config: dict[str, Any]) -> None:
        from ray.autoscaler._private.util import validate_config

        validate_config(config)
        with pytest.raises(jsonschema.ValidationError):
            validate_config({**config, "workers": 3})

    def test_workers_are_spot_machines_and_none_is_kept(self, config: dict[str, Any]) -> None:
        workers = config["available_node_types"]["spot-gpu"]
        assert workers["min_workers"] == 0
        assert workers["node_config"]["InstanceMarketOptions"] == {"MarketType": "spot"}
        assert "InstanceMarketOptions" not in config["available_node_types"]["head"]["node_config"]
        assert workers["max_workers"] <= config["max_workers"]

    def test_a_study_reads_from_it_how_far_the_cluster_grows(self, config: dict[str, Any], tmp_path: Path) -> None:
        file = tmp_path / "ray_bootstrap_config.yaml"
        file.write_text(json.dumps(config))
        assert kinds_of({"head": 1}, file) == (NodeKind({"CPU": 8, "GPU": 1}, 16),)

    def test_only_ssh_from_one_address_is_let_in(self, config: dict[str, Any]) -> None:
        (rule,) = config["provider"]["security_group"]["IpPermissions"]
        assert rule["FromPort"] == rule["ToPort"] == 22
        assert [entry["CidrIp"].rpartition("/")[2] for entry in rule["IpRanges"]] == ["32"]
        assert config["file_mounts"] == {"/home/ray/.ray/auth_token": "~/.ray/auth_token"}

    def test_ray_starts_in_the_projects_folder_of_the_image(self, config: dict[str, Any]) -> None:
        folder = re.findall(r"^WORKDIR (\S+)$", (DEPLOY / "Dockerfile").read_text(), re.M)[0]
        for name in ("head_start_ray_commands", "worker_start_ray_commands"):
            assert config[name][0] == "ray stop"
            assert config[name][1].startswith(f"cd {folder} && RAY_AUTH_MODE=token ")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_shellcheck_finds_nothing(script: Path, tmp_path: Path) -> None:
    shellcheck = Path(sys.executable).parent / "shellcheck"
    done = subprocess.run([shellcheck, script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    bad = tmp_path / "bad.sh"
    bad.write_text("#!/bin/bash\nrm -rf $1/*\n")
    assert subprocess.run([shellcheck, bad], capture_output=True, timeout=60, check=False).returncode == 1


def with_tools(folder: Path, tools: dict[str, str]) -> dict[str, str]:
    """The environment in which commands of these names are scripts of ours."""
    for name, text in tools.items():
        (folder / name).write_text(f"#!/bin/bash\n{text}")
        (folder / name).chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


class TestSpotWorker:
    """The script, with a `ray` and a `wget` of ours."""

    @contextlib.contextmanager
    def run(self, folder: Path, wget: str) -> Iterator[subprocess.Popen[str]]:
        tools = {
            "ray": f'trap "echo drained >> {folder}/log; exit 143" TERM\necho "$@" >> {folder}/log\n'
            "while :; do sleep 0.05; done\n",
            "wget": wget,
        }
        environment = {**with_tools(folder, tools), "SECONDS_BETWEEN": "0.1"}
        process = subprocess.Popen([SCRIPTS[0], "10.0.0.1:6379"], env=environment, stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.kill()

    def test_a_notice_drains_the_node(self, tmp_path: Path) -> None:
        notice = f'[[ "$*" != *instance-action* ]] || test -e {tmp_path}/notice\n'
        with self.run(tmp_path, notice) as process:
            time.sleep(1)
            assert process.poll() is None
            (tmp_path / "notice").touch()
            assert process.wait(timeout=20) == 143
        assert (tmp_path / "log").read_text().splitlines() == ["start --address=10.0.0.1:6379 --block", "drained"]

    def test_so_does_being_told_to_end(self, tmp_path: Path) -> None:
        with self.run(tmp_path, "exit 4\n") as process:  # no such service here
            _until((tmp_path / "log").is_file)
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == 143
        assert (tmp_path / "log").read_text().splitlines()[-1] == "drained"


class TestSlurm:
    TEXT = SCRIPTS[1].read_text()

    def test_its_directives_are_options_of_sbatch(self) -> None:
        options = dict(re.findall(r"^#SBATCH --([\w-]+)(?:=(\S+))?$", self.TEXT, re.M))
        assert len(options) == self.TEXT.count("#SBATCH")
        assert options.keys() == {
            "job-name", "nodes", "ntasks-per-node", "exclusive", "gpus-per-node", "time", "output", "requeue",
            "open-mode", "signal",
        }  # fmt: skip
        assert options["ntasks-per-node"] == "1"
        assert re.fullmatch(r"B:TERM@\d+", options["signal"])
        first = next(i for i, line in enumerate(self.TEXT.splitlines()) if line and not line.startswith("#"))
        assert "#SBATCH" not in "\n".join(self.TEXT.splitlines()[first:])  # sbatch reads none after a command

    def run(self, folder: Path, *arguments: str, nodes: int = 2) -> subprocess.Popen[str]:
        """The script, with a Slurm, a Ray and a Python of ours that write down what they are asked."""
        log = f"""words=$*; echo "$(basename "$0") ${{words//$'\\n'/ }}" >> {folder}/log\n"""
        tools = {
            "scontrol": log + '[[ "$*" != show* ]] || printf "n1\\nn2\\n"\n',
            "srun": log + '[[ "$*" != *hostname* ]] || echo 10.0.0.7\n',
            "ray": log,
            "python": log + f'[[ "$1" != - ]] || exit 0\ntrap "echo checkpoint >> {folder}/log; exit 143" TERM\n'
            f"touch {folder}/running\nwhile [ -e {folder}/running ]; do sleep 0.05; done\n",
        }
        (folder / ".venv" / "bin").mkdir(parents=True)
        (folder / ".venv" / "bin" / "activate").touch()
        slurm = {"JOB_NUM_NODES": nodes, "JOB_NODELIST": "n[1-2]", "JOB_ID": 7, "CPUS_ON_NODE": 32, "GPUS_ON_NODE": 4}
        environment = {
            **with_tools(folder, tools),
            **{f"SLURM_{name}": str(value) for name, value in slurm.items()},
            "HOME": "/home/me",
            "SCRATCH": "/scratch/me",
        }
        return subprocess.Popen(
            ["bash", SCRIPTS[1], *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
        )

    def log(self, folder: Path) -> list[str]:
        return [line.strip() for line in (folder / "log").read_text().splitlines()]

    def ran(self, folder: Path, *arguments: str, nodes: int = 2) -> list[str]:
        """What is written down of a study that ends well."""
        process = self.run(folder, *arguments, nodes=nodes)
        _until((folder / "running").exists)
        (folder / "running").unlink()
        assert process.wait(timeout=60) == 0
        return self.log(folder)

    def test_head_workers_and_the_study(self, tmp_path: Path) -> None:
        log = self.ran(tmp_path)
        starts = [line for line in log if line.startswith("srun") and "ray start" in line]
        head = next(line for line in starts if "--head" in line)
        assert "--nodelist=n1" in head
        assert "--node-ip-address=10.0.0.7 --port=20007 --dashboard-host=127.0.0.1 --num-cpus=32 --num-gpus=4" in head
        (worker,) = [line for line in starts if "--head" not in line]
        assert "--nodes=1 --ntasks=1 --exclude=n1" in worker
        assert "ray start --address=10.0.0.7:20007 --block" in worker
        study = "study/run.py --space scl_ablation --scale paper --seeds 3 --senteval /home/me/data/senteval"
        ran = log.index(f"python {study} --results /scratch/me/studies/scl_ablation")
        assert log.index("python - 2") < ran  # both nodes are awaited; what starts them runs beside

    def test_one_node_needs_no_worker(self, tmp_path: Path) -> None:
        log = self.ran(tmp_path, "--space", "scl_tau", nodes=1)
        assert "python study/run.py --space scl_tau" in log
        assert not any("--exclude" in line for line in log)

    def test_told_to_end_the_study_takes_a_checkpoint_and_the_job_is_queued_again(self, tmp_path: Path) -> None:
        process = self.run(tmp_path)
        _until((tmp_path / "running").exists)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 143
        assert self.log(tmp_path)[-2:] == ["checkpoint", "scontrol requeue 7"]


def _until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < give_up, "it took too long"
        time.sleep(0.05)
