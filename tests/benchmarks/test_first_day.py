"""The script for a bare GPU machine: what it calls is there, and takes the options that it gives."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from unittest.mock import create_autospec

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.gpu import _models, gpu
from search_spaces import load_space
from study.cli.options import parse
from tests.licences import pinned
from tests.project.test_deploy import with_tools

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "gpu" / "first_day.sh"
PARTS = ("tests", "objectives", "studies", "peer")
PYTHON = """#!{python} -IS
import json, sys
with open({log!r}, "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit({gpus} == 0 and "is_available" in sys.argv[-1])
"""
"""A `python3` that notes what it is asked to do."""


def calls(folder: Path, part: str, gpus: int = 1) -> list[list[str]]:
    """What Python is called for by a part of the script, in a checkout of its own with what `prepare` makes."""
    script, made, site = (folder / path for path in (SCRIPT.relative_to(ROOT), "build/gpu", "build/gpu-site"))
    for parent in (script.parent, made, site / "ray", folder / "bin"):
        parent.mkdir(parents=True)
    shutil.copy(SCRIPT, script)
    subprocess.run(["tar", "cJf", made / "ray.tar.xz", "-C", site, "ray"], check=True)
    python, log = folder / "bin" / "python3", folder / "log"
    python.write_text(PYTHON.format(python=sys.executable, log=str(log), gpus=gpus))
    python.chmod(0o755)
    environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}", "OUT": str(folder / "out")}
    subprocess.run(["bash", script, part], env=environment, check=part != "prepare", capture_output=True, timeout=60)
    return [json.loads(line) for line in log.read_text().splitlines()]


@pytest.mark.parametrize("gpus", [0, 1])
@pytest.mark.parametrize("part", PARTS)
def test_what_a_part_calls_is_there(part: str, gpus: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    install, cuda, *work = calls(tmp_path, part, gpus)
    assert install[:3] == ["-m", "pip", "install"]
    assert "is_available" in cuda[-1]
    assert work
    for first, second, *arguments in work:
        if (first, second) == ("-m", "benchmarks"):
            assert arguments[0] == "gpu"
            assert gpu._parser().parse_args(arguments[1:]).smoke == (gpus == 0)
        elif (first, second) == ("-m", "pytest"):
            assert (ROOT / arguments[2]).is_file()
        elif first == "study/run.py":
            request = parse([second, *arguments])
            assert request.space is not None
            labels = [row.label for row in load_space(request.space).rows]
            assert all(any(fnmatch(label, row) for label in labels) for row in request.only)
            assert (request.gpus_per_worker is None) == (gpus == 0)
        else:
            assert first == "-c"
        if "write_model" in second:
            monkeypatch.setattr(_models, "write_model", writing := create_autospec(_models.write_model))
            exec(second, {"__name__": "no module"})
            shape, encoder = writing.call_args.args
            assert shape in _models.SHAPES
            assert any(f"encoder.name={encoder}" in call for call in work)


def test_a_part_that_fails_is_told_and_the_next_one_runs(tmp_path: Path):
    calls(tmp_path, "objectives")
    environment = with_tools(tmp_path / "bin", {"timeout": "exit 124\n"})
    command = ["bash", tmp_path / "benchmarks/gpu/first_day.sh", "objectives"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert len(re.findall(r"^FAILED, or took more than \d+ s: python3 -m benchmarks gpu", done.stdout, re.M)) == 2


def needs(packages: Iterable[str]) -> set[str]:
    """Those packages, and all that they need in turn on that machine."""
    ahead, seen = list(packages), set[str]()
    while ahead:
        if (line := ahead.pop()) in seen:
            continue
        seen.add(line)
        package, own = Requirement(line), []
        with contextlib.suppress(PackageNotFoundError):  # of what only that machine needs
            own = [Requirement(line) for line in requires(package.name) or ()]
        for extra in ("", *package.extras):
            machine = {"extra": extra, "python_version": "3.12", "python_full_version": "3.12.0"}
            ahead += [str(need) for need in own if need.marker is None or need.marker.evaluate(machine)]
    return {canonicalize_name(Requirement(line).name) for line in seen}


def test_what_that_machine_lacks_is_fetched(tmp_path: Path):
    """And nothing else is, each in the version of the constraints; the rest stands at the head of the script. Ray goes
    without what its dashboard needs."""
    has = re.findall(r"[\w-]+", SCRIPT.read_text().partition("It has ")[2].partition(".\n")[0].replace(" and ", " "))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    needed = needs([*(package.replace("[default,", "[") for package in project), "hypothesis", "pytest"])
    call = calls(tmp_path, "prepare")[0]
    prepared = {*call[call.index("--dest") + 2 :], "ray"}
    assert prepared <= needed
    assert needed <= prepared | needs(has)
    assert prepared <= pinned()


def test_parts_take_less_than_ten_minutes():
    text = SCRIPT.read_text()
    for part in PARTS:
        body = text.partition(f"\n{part}() {{")[2].partition("\n}")[0]
        assert 0 < sum(map(int, re.findall(r"^  run (\d+)", body, re.M))) < 580, part


def test_without_a_part_it_says_how_it_is_used():
    done = subprocess.run(["bash", SCRIPT], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert all(part in done.stderr for part in (*PARTS, "prepare"))
