"""A search with finals whose head dies by SIGKILL in each of its phases: the answer is the undisturbed one."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from reports.ledger import LEDGER, STUDY, Ledger, StudyInfo, is_fresh
from tests.conftest import end_head, free_port, start_head

pytestmark = [pytest.mark.ray, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[3]
SEARCH = ("--space", "scl_tau", "--scale", "laptop", "--search", "optuna", "--sampler", "random", "--goals", "sts")


class Head:
    """A machine with Ray, and the study on it: killed, both are gone at once, and another one takes their place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session = Path(f"/tmp/ray-finals-{os.getpid()}")  # short, as paths of sockets must be
        self.console = folder / "console.txt"
        self.start()

    def start(self) -> None:
        self.port = free_port()
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")} | {
            "HF_HUB_OFFLINE": "1",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "RAY_AUTH_MODE": "disabled",
        }
        options = [f"--port={self.port}", "--num-cpus=2", f"--temp-dir={self.session}", "--include-dashboard=false"]
        options += [f"--dashboard-agent-{name}-port={free_port()}" for name in ("listen", "grpc")]
        options += [f"--{name}={free_port()}" for name in ("metrics-export-port", "ray-client-server-port")]
        self.head = start_head(["ray", "start", "--head", "--block", *options], self.environment)
        self.environment["RAY_ADDRESS"] = f"127.0.0.1:{self.port}"
        deadline = time.monotonic() + 120
        while socket.socket().connect_ex(("127.0.0.1", self.port)):
            assert time.monotonic() < deadline, "the head does not start"
            time.sleep(0.2)

    def study(self, results: Path, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.engine_work", "command", "made_up", *SEARCH, "--results", str(results)]
        with self.console.open("ab") as console:
            return subprocess.Popen(
                [*command, *options],
                env=self.environment,
                stdout=console,
                stderr=console,
                cwd=ROOT,
                start_new_session=True,
            )

    def whole(self, results: Path, *options: str) -> dict[str, Any]:
        """The answer of a study that is left alone from now on."""
        study = self.study(results, *options)
        try:
            assert study.wait(280) == 0, self.console.read_text()
        finally:
            study.kill()
        assert "Traceback" not in self.console.read_text()
        answer: dict[str, Any] = json.loads((results / "answer.json").read_text())
        return answer

    def killed(self, results: Path, when: Callable[[], bool], *options: str) -> None:
        """A study whose machine dies once that is so."""
        study = self.study(results, *options)
        deadline = time.monotonic() + 240
        while not when():
            assert study.poll() is None, self.console.read_text()
            assert time.monotonic() < deadline, self.console.read_text()
            time.sleep(0.02)
        study.kill()
        end_head(self.head)
        assert study.wait(60) != 0
        self.start()

    def end(self) -> None:
        end_head(self.head)
        shutil.rmtree(self.session, ignore_errors=True)


@pytest.fixture
def head(tmp_path: Path) -> Iterator[Head]:
    own_head = Head(tmp_path)
    yield own_head
    own_head.end()


def trials(results: Path) -> tuple[int, int]:
    """How many have a record: of those that explore, and of the finals."""
    seeds = [int(path.stem.rpartition("-")[2]) for path in (results / LEDGER).glob("*.json")]
    return sum(not is_fresh(seed) for seed in seeds), sum(map(is_fresh, seeds))


def finalists(results: Path) -> Sequence[str]:
    if not (results / STUDY).is_file():
        return ()
    finals = StudyInfo.load(results).finals
    return finals.finalists if finals else ()


def test_a_search_whose_head_dies_in_every_phase_ends_in_the_same_answer(head: Head, tmp_path: Path) -> None:
    """In the exploration, between it and the finalists, and in the finals; and so it goes on from 20 to 40 recipes."""
    whole, struck = tmp_path / "whole", tmp_path / "struck"
    twenty, forty = ("--trials", "20"), ("--trials", "40")
    answer = head.whole(whole, *twenty)
    assert answer["kind"] == "open"  # no verdict without predictions
    assert answer["figure"] == "STSBenchmark test_spearman_cosine"
    assert answer["picked"][0]["gains"].keys() == {"base", "baseline", "encoder"}
    explored, finals = trials(whole)
    head.killed(struck, lambda: trials(struck)[0] >= 12, *twenty)
    assert trials(struck)[1] == 0
    head.killed(struck, lambda: trials(struck)[1] > 0 or bool(finalists(struck)), *twenty)
    head.killed(struck, lambda: bool(finalists(struck)) and trials(struck)[1] > 8, *twenty)
    assert trials(struck)[1] < finals
    before = {path: path.read_bytes() for path in (struck / LEDGER).glob("*.json")}
    assert head.whole(struck, *twenty) == answer
    assert trials(struck) == (explored, finals)
    assert [path for path, content in before.items() if path.read_bytes() != content] == []

    more = head.whole(whole, *forty)
    assert head.whole(struck, *forty) == more
    chosen_by = {(record.recipe_hash, record.seed) for record in Ledger(whole / LEDGER).read()}
    for key in finalists(whole):
        seeds = {seed for recipe_hash, seed in chosen_by if recipe_hash == key}
        assert min(map(is_fresh, seeds)) is False  # one that chose
        assert sum(map(is_fresh, seeds)) == 5
