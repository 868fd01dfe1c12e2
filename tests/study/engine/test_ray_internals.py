"""What a study needs of Ray beyond its public names: that it is there, that it stands in one file, and what it does."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray._private import ray_constants
from ray.air.execution import PlacementGroupResourceManager
from ray.air.execution._internal import RayActorManager
from ray.exceptions import OutOfMemoryError, RayActorError
from ray.train.v2._internal.constants import ENABLE_PREEMPTION_WATCHER_ENV_VAR
from ray.tune.execution import tune_controller

from study.engine import ray_internals
from study.engine.ray_internals import ONE_MACHINE, RAYS_WATCHER, care_for_actors

STUDY = Path(ray_internals.__file__).parents[1]
PRIVATE = re.compile(r"ray\.(.*\.)?(_\w*|v2|air|autoscaler|experimental|execution|core)(\.|$)")
"""Modules of Ray that promise nothing."""


def named(source: str) -> Iterator[tuple[str, str]]:
    """All that it names of Ray: a module, and what of it; empty for the module itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("ray"):
            yield from ((str(node.module), each.name) for each in node.names)
        elif isinstance(node, ast.Import):
            yield from ((each.name, "") for each in node.names if each.name.startswith("ray"))
        elif isinstance(node, ast.Attribute) and PRIVATE.search(whole := ast.unparse(node)):
            yield whole, ""


def private(source: str) -> set[str]:
    """Those that Ray may take away."""
    names = {f"{module}.{name}".rstrip(".") for module, name in named(source)}
    return {name for name in names if PRIVATE.search(name)}


def found(name: str) -> bool:
    """Whether Ray has it: a module, or something in one."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            here: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        try:
            for part in parts[length:]:
                here = getattr(here, part)
        except AttributeError:
            return False
        return True
    return False


def test_ray_has_all_that_a_study_needs_of_it() -> None:
    tree = ast.parse(Path(ray_internals.__file__).read_text())
    broken = []
    for part in tree.body:
        if isinstance(part, ast.FunctionDef):
            gone = sorted(name for name in private(ast.unparse(part)) if not found(name))
            purpose = " ".join(str(ast.get_docstring(part)).split())
            said = f"Ray {ray.__version__} has no {{}} any more, which `{part.name}` needs: {purpose}"
            broken += map(said.format, gone)
    assert not broken, "\n".join(broken)
    assert hasattr(ray_constants, "ENABLE_RAY_CLUSTER"), "a Ray of one's own would listen to other machines"
    assert ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR == ONE_MACHINE
    assert ENABLE_PREEMPTION_WATCHER_ENV_VAR == RAYS_WATCHER


def test_a_name_that_is_gone_is_found() -> None:
    assert private("def f():\n    from ray._private.gone import name\n    ray._private.state.state.no()") >= {
        "ray._private.gone.name",
        "ray._private.state.state.no",
    }
    assert not found("ray._private.gone.name")
    assert not found("ray._private.state.state.no")
    assert found("ray._private.state.state.get_draining_nodes")
    assert not private("import ray.train\nfrom ray.util.metrics import Gauge\nfrom ray import tune")


def test_they_stand_in_one_file() -> None:
    files = [file for file in STUDY.rglob("*.py") if file != Path(ray_internals.__file__)]
    assert len(files) > 50
    assert {str(file): names for file in files if (names := private(file.read_text()))} == {}


def killed(manager: RayActorManager) -> list[Any]:
    """What the actor's owner is told when its task ends with that error."""
    told: list[Any] = []
    actor = SimpleNamespace(actor_id=1, _on_error=lambda tracked, error: told.append(error))
    manager._cleanup_actor = lambda tracked_actor: None
    manager._actor_task_failed(
        SimpleNamespace(_tracked_actor=actor, _on_error=None), OutOfMemoryError("1 worker was killed")
    )
    return told


def test_an_actor_that_ray_kills_for_its_memory_is_told_as_a_death(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune_controller, "RayActorManager", RayActorManager)
    care_for_actors(object)
    (error,) = killed(tune_controller.RayActorManager(PlacementGroupResourceManager()))
    assert isinstance(error, RayActorError)
    assert "1 worker was killed" in str(error)


def test_tune_by_itself_ends_the_study() -> None:
    """If this fails, Ray has learned it, and that part of `care_for_actors` can go."""
    with pytest.raises(RuntimeError, match="unexpected exception"):
        killed(RayActorManager(PlacementGroupResourceManager()))


def test_tune_wakes_up_for_the_study_s_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for them beside its own, and deals with its own alone."""
    monkeypatch.setattr(tune_controller, "RayActorManager", RayActorManager)
    care_for_actors(lambda: "the study's")
    manager = tune_controller.RayActorManager(PlacementGroupResourceManager())
    waited: list[tuple[list[object], float]] = []

    def wait(references: list[object], num_returns: int, timeout: float) -> tuple[list[object], list[object]]:
        waited.append((references, timeout))
        return [], references

    monkeypatch.setattr(ray, "wait", wait)
    assert manager.next(timeout=0.1) is False
    assert waited == [([], 0), (["the study's"], 0.1), ([], 0)]


COUNTED = """
import sys
from ray.air._internal import usage
from study.engine.ray_internals import count_no_loggers
from study.engine.tune_loop import StudyLoop
import study.engine.launch
assert "scipy" not in sys.modules, "a study waits for SciPy before its first trial"
if sys.argv[1] == "ours":
    count_no_loggers()
usage.tag_callbacks([StudyLoop(None)])
print(*(name for name in sys.modules if name.startswith("ray.air.integrations.")))
"""


@pytest.mark.parametrize("by", ["ours", "ray"])
def test_no_trial_waits_for_the_loggers_of_others(by: str) -> None:
    """Ray by itself imports them all. If that fails, it has learned better, and `count_no_loggers` can go."""
    done = subprocess.run([sys.executable, "-c", COUNTED, by], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert ("ray.air.integrations.mlflow" in done.stdout) == (by == "ray")
