"""Real studies on a real Ray cluster, as small as they can be. Each test starts processes, so there are few.

The studies run as a person would run them, in processes of their own: kill -9 included. They join one cluster that all
tests share, which asks for a token; that a study can also start Ray by itself is tested in `test_study_deaths.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from reports.facts.answer import Answer
from reports.facts.results import Results
from reports.ledger import Curves, Progress, is_soup
from reports.ledger.finals import SOUP_SHARES
from search_spaces.goals import SELECTION
from tests.conftest import PLANTED, TOKEN

pytestmark = pytest.mark.ray

ROOT = Path(__file__).resolve().parents[3]
SMALL = (
    *("--scale", "laptop"),
    *("--set", "optimisation.max_steps=8"),
    *("--set", "evaluation.tasks=STS13,TREC,STSBenchmark"),
)


def command(results: Path, *arguments: str) -> list[str]:
    return [sys.executable, str(ROOT / "study" / "run.py"), *SMALL, "--results", str(results), *arguments]


def run(cluster: dict[str, str], results: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(results, *arguments), env=cluster, capture_output=True, text=True, timeout=280, cwd=results.parent
    )


def records(results: Path) -> dict[str, dict]:
    return {path.name: json.loads(path.read_text()) for path in sorted((results / "ledger").glob("*.json"))}


def scores(record: dict) -> dict[str, dict]:
    return {task: numbers for part in record["evaluations"] for task, numbers in part["scores"].items()}


def no_secret_in(results: Path, *printed: str) -> None:
    """The secrets of the environment, and the cluster's token, are in no file of the results and in no line printed."""
    secrets = [*(value.rpartition(":")[2].partition("@")[0] for value in PLANTED.values()), TOKEN]
    read = 0
    for path in [path for path in results.rglob("*") if path.is_file()]:
        content = path.read_bytes()
        if path.suffix == ".npz":
            with zipfile.ZipFile(path) as packed:
                content += b"".join(map(packed.read, packed.namelist()))
        read += len(content)
        assert not [secret for secret in secrets if secret.encode() in content], path
    assert read > 100_000  # of a whole study, its models too
    assert not [secret for secret in secrets if secret in "".join(printed)]


SPACE = """
from search_spaces import Domain, Row, Space
from trainables.recipe import Recipe
LAPTOP = {"encoder.name": "scenes-small", "corpus.nli": "scenes", "evaluation.senteval": "scenes"}
SPACE = Space(
    "mine", "Mine", "nobody", Recipe().preferring({"objective.name": "mine", "optimisation.learning_rate": 5e-4}),
    {**LAPTOP, "evaluation.protocol": "fast"},
    rows=(Row("odd", {"objective.name": "odd"}), Row("good", {})),
    domains=(Domain("objective.temperature", low=0.1, high=2.0),),
    goals=("sts", "transfer"),
)
"""
PLUGIN = """
from trainables.errors import UserError
from trainables.objectives import OBJECTIVES


class Mine(OBJECTIVES["scl"]):
    name = "mine"


class Odd(OBJECTIVES["scl"]):
    name = "odd"

    def module(self, dim):
        raise UserError("nothing can be learnt from this one")


OBJECTIVES.add(Mine, Odd)
"""


@pytest.mark.slow
def test_two_workers_explore_stop_fail_and_report(cluster: dict[str, str], tmp_path: Path) -> None:
    """Workers 2, rows, Optuna, ASHA over two goals and a plugin's objective in one study of a person's own: a
    stopped trial frees its workers for the next, and a trial that cannot work says why and disturbs no other."""
    results = tmp_path / "results"
    (tmp_path / "mine.py").write_text(SPACE)
    (tmp_path / "objective.py").write_text(PLUGIN)
    arguments = "--space ./mine.py --plugin objective.py --workers 2 --search optuna --trials 3 --finals none"
    done = run(cluster, results, *arguments.split(), "--scheduler", "asha")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED: nothing can be learnt from this one" in done.stdout
    assert "1 trial failed" in done.stderr
    by_file = records(results)
    assert len(by_file) == 4
    statuses = sorted(record["status"] for record in by_file.values())
    assert set(statuses) <= {"finished", "pruned"}
    assert "pruned" in statuses  # the test would prove nothing if no trial had been stopped
    study = json.loads((results / "study.json").read_text())
    assert by_file[f"{study['row_hashes']['good']}-0.json"]["status"] == "finished"  # rows are never stopped
    for record in by_file.values():
        assert record["cost"]["workers"] == 2
        stopped = record["status"] == "pruned"
        assert (SELECTION.of(scores(record), {}) is None) == stopped
        assert record["versions"]["plugins"]
        assert record["training"]["steps"] < 8 if stopped else record["training"]["steps"] == 8
        course = record["training"].get("rungs", [])
        assert bool(course) == (record["recipe_hash"] in study["explored"])
        assert all(rung["scores"].keys() == {"sts", "transfer"} for rung in course)
        if stopped:
            assert record["training"]["stopped"] == f"stopped at rung {course[-1]['rung']}"
    assert (results / "report.md").is_file()
    assert "[5/5]" in done.stdout
    assert done.stdout.count("sts: a development score") == 1
    assert "Traceback" not in done.stdout + done.stderr
    assert len(done.stdout.splitlines()) < 25  # no flood
    row = by_file[f"{study['row_hashes']['good']}-0.json"]
    assert (results / row["checkpoint"] / "modules.json").is_file()
    assert (results / row["evaluations"][0]["predictions"]).is_file()
    assert list((results / "tensorboard").rglob("events.*"))
    assert "live page: http://127.0.0.1:" in done.stdout
    rung = Progress.load(results)
    assert rung.ended
    no_secret_in(results, done.stdout, done.stderr)
    pruned = statuses.count("pruned")
    assert rung.counts == {"queued": 0, "running": 0, "finished": 4 - pruned, "stopped": pruned, "failed": 1}
    assert {key for key, curve in Curves(results).all().items() if curve.points} == {path[:-5] for path in by_file}


@pytest.mark.slow
def test_models_of_the_finals_are_averaged_and_one_is_left_to_ship(cluster: dict[str, str], tmp_path: Path) -> None:
    results = tmp_path / "results"
    search = ("--space", "scl_tau", "--search", "optuna", "--trials", "1", "--finals", "1x2")
    done = run(cluster, results, *search)
    assert done.returncode == 0, done.stdout + done.stderr
    ship = Answer.of(Results.load(results)).ship
    assert ship is not None
    assert "Ship " in done.stdout
    soups = {name: record for name, record in records(results).items() if is_soup(record["seed"])}
    assert len(soups) == len(SOUP_SHARES) + (2 if ship.share else 0)
    assert all(record["training"] == {"stopped": None} for record in soups.values())
    kept = {record["checkpoint"] for record in records(results).values()} - {None}
    assert {f"models/{path.name}" for path in (results / "models").iterdir() if path.is_dir()} == kept
    soup_models = [checkpoint for checkpoint in kept if is_soup(int(checkpoint.rpartition("-")[2]))]
    assert soup_models == [*filter(None, [ship.averaged])]


@pytest.mark.slow
def test_declutrs_spans_with_masked_language_modelling(cluster: dict[str, str], tmp_path: Path) -> None:
    """`test_lora.py` trains on spans without Ray. CLSR's population is the study of a job, below, SupMPN's that of a
    bucket, in `test_study_deaths.py`; all other tests' are SCL's."""
    results, row = tmp_path / "results", "small A=2 P=2 tau=5e-2 subsuming"
    done = run(cluster, results, "--space", "declutr_sampling", "--only", row, "--set", "objective.mlm=1.0")
    assert done.returncode == 0, done.stdout + done.stderr
    (record,) = records(results).values()
    assert record["status"] == "finished"
    assert 0 < (SELECTION.of(scores(record), {}) or 0) <= 100
    assert (results / record["checkpoint"] / "modules.json").is_file()
    assert row in (results / "report.md").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("sent", [True, False])
def test_ray_job_submit_with_token_authentication(sent: bool, cluster: dict[str, str], tmp_path: Path) -> None:
    """The README's line, to its end: from a bare checkout that is sent along, and on a cluster that was started in the
    checkout, as a person would first try it. Here with CLSR's space, whose two seeds train as one population."""
    results = tmp_path / "results"
    job = ["ray", "job", "submit", *(["--working-dir", str(ROOT)] if sent else [])]
    job += ["--", "python", "study/run.py", "--space", "clsr_main", "--seeds", "2"]
    job += [*SMALL, "--only", "BERT-base", "--only", "CLSR-BERT-base", "--results", str(results)]
    denied = subprocess.run(
        job, env={**cluster, "RAY_AUTH_MODE": "disabled"}, capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert denied.returncode != 0  # the token is really asked for
    for _ in range(20):  # a head that has just started has no agent for jobs yet, and says so
        done = subprocess.run(job, env=cluster, capture_output=True, text=True, timeout=280, cwd=tmp_path)
        if "No available agent" not in done.stdout + done.stderr:
            break
        time.sleep(3)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "succeeded" in done.stdout + done.stderr
    assert "scale laptop" in done.stdout
    finished = [*records(results).values()]
    assert len(finished) == 1 + 2  # an encoder that is evaluated as it is has one seed
    assert {record["status"] for record in finished} == {"finished"}
    assert all(0 < (SELECTION.of(scores(record), {}) or 0) <= 100 for record in finished)
    trained = [record for record in finished if record["training"].get("steps")]
    assert [record["training"]["population"] for record in trained] == [2, 2]
    (kept,) = [record["checkpoint"] for record in trained if record["checkpoint"]]  # of the row's best seed
    assert (results / kept / "modules.json").is_file()
    assert "CLSR-BERT-base" in (results / "report.md").read_text()
