"""What a study needs of Ray beyond its public names: that it is there, that it stands in one file, and what it does."""

from __future__ import annotations

import ast
import pkgutil
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
from ray.core.generated.common_pb2 import ActorDeathCause, ActorDiedErrorContext
from ray.exceptions import ActorDiedError, OutOfMemoryError, RayActorError
from ray.train.v2._internal.constants import ENABLE_PREEMPTION_WATCHER_ENV_VAR
from ray.tune.execution import tune_controller

from study.engine import ray_internals
from study.engine.ray_internals import ONE_MACHINE, RAYS_WATCHER, death_of, replace_actor_manager
from tests.conftest import slow_case

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


def exists(name: str) -> bool:
    """Whether Ray has it: a module, or something in one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


def test_ray_has_all_that_a_study_needs_of_it() -> None:
    tree = ast.parse(Path(ray_internals.__file__).read_text())
    broken = []
    for part in tree.body:
        if isinstance(part, ast.FunctionDef):
            reason = sorted(name for name in private(ast.unparse(part)) if not exists(name))
            purpose = " ".join(str(ast.get_docstring(part)).split())
            sentence = f"Ray {ray.__version__} has no {{}} any more, which `{part.name}` needs: {purpose}"
            broken += map(sentence.format, reason)
    assert not broken, "\n".join(broken)
    assert hasattr(ray_constants, "ENABLE_RAY_CLUSTER"), "a Ray of one's own would listen to other machines"
    assert ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR == ONE_MACHINE
    assert ENABLE_PREEMPTION_WATCHER_ENV_VAR == RAYS_WATCHER


def test_a_name_that_is_gone_is_found() -> None:
    assert private("def f():\n    from ray._private.gone import name\n    ray._private.state.state.no()") >= {
        "ray._private.gone.name",
        "ray._private.state.state.no",
    }
    assert not exists("ray._private.gone.name")
    assert not exists("ray._private.state.state.no")
    assert exists("ray._private.state.state.get_draining_nodes")
    assert not private("import ray.train\nfrom ray.util.metrics import Gauge\nfrom ray import tune")


def test_they_stand_in_one_file() -> None:
    files = [file for file in STUDY.rglob("*.py") if file != Path(ray_internals.__file__)]
    assert len(files) > 50
    assert {str(file): names for file in files if (names := private(file.read_text()))} == {}


def killed(manager: RayActorManager) -> list[Any]:
    """What the actor's owner is told when its task ends with that error."""
    deaths: list[Any] = []
    actor = SimpleNamespace(actor_id=1, _on_error=lambda tracked, error: deaths.append(error))
    manager._cleanup_actor = lambda tracked_actor: None
    manager._actor_task_failed(
        SimpleNamespace(_tracked_actor=actor, _on_error=None), OutOfMemoryError("1 worker was killed")
    )
    return deaths


def test_an_actor_that_ray_kills_for_its_memory_is_told_as_a_death(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune_controller, "RayActorManager", RayActorManager)
    replace_actor_manager(object)
    (error,) = killed(tune_controller.RayActorManager(PlacementGroupResourceManager()))
    assert isinstance(error, RayActorError)
    assert "1 worker was killed" in str(error)


def test_tune_by_itself_ends_the_study() -> None:
    """If this fails, Ray has learned it, and that part of `replace_actor_manager` can go."""
    with pytest.raises(RuntimeError, match="unexpected exception"):
        killed(RayActorManager(PlacementGroupResourceManager()))


def test_tune_wakes_up_for_the_study_s_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for them beside its own, and deals with its own alone."""
    monkeypatch.setattr(tune_controller, "RayActorManager", RayActorManager)
    replace_actor_manager(lambda: "the study's")
    manager = tune_controller.RayActorManager(PlacementGroupResourceManager())
    waited: list[tuple[list[object], float]] = []

    def wait(references: list[object], num_returns: int, timeout: float) -> tuple[list[object], list[object]]:
        waited.append((references, timeout))
        return [], references

    monkeypatch.setattr(ray, "wait", wait)
    assert manager.next(timeout=0.1) is False
    assert waited == [([], 0), (["the study's"], 0.1), ([], 0)]


GUESSES = " Some common causes include: (1) the process was killed by the OOM killer due to high memory usage, (2) ..."
CRASH = "Worker unexpectedly exits with a connection error code 2. End of file."


def table(message: str) -> dict[str, Any]:
    """What Ray keeps of an actor, as far as it is looked at."""
    cause = ActorDeathCause(actor_died_error_context=ActorDiedErrorContext(error_message=message))
    return {"Pid": 7, "Address": {"IPAddress": "10.0.0.5", "NodeID": "n1"}, "DeathCause": cause}


@pytest.mark.parametrize(
    ("kind", "detail", "exists"),
    [
        ("SYSTEM_ERROR", CRASH + GUESSES, CRASH[:-1]),
        ("SYSTEM_ERROR", "Worker exits unexpectedly. Worker exits with an exit code 3.", "exit code 3"),
        ("SYSTEM_ERROR", "Worker exits with an exit code 1. The process receives a SIGTERM.", None),
        ("INTENDED_USER_EXIT", "Worker exits by an user request. exit_actor() is called.", None),
        ("INTENDED_SYSTEM_EXIT", "Worker exits as the job finished.", None),
    ],
)
def test_a_process_that_nobody_asked_to_end_is_told_from_others(
    kind: str, detail: str, exists: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what Ray 2.60 says."""
    message = f"The actor is dead because its worker process has died. Worker exit type: {kind} Worker exit detail: "
    monkeypatch.setattr(ray._private.state.state, "actor_table", {"a1": table(message + detail)}.get)
    error = ActorDiedError(ActorDiedErrorContext(error_message="", actor_id=b"a" * 16))
    error.actor_id = "a1"
    death = death_of(error)
    assert (death is None) == (exists is None)
    if exists and death:
        assert death[0] == "n1"
        assert death[1].startswith("process 7 on 10.0.0.5 died (")
        assert f"{exists})" in death[1]
        assert "logs/*-7.err" in death[1]


def test_a_machine_that_died_and_what_nobody_knows_are_no_deaths_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    reason = "The actor died because its node has died. Node Id: n1\n\tthe actor's node was terminated unexpectedly"
    known = {"a1": table(reason), "a2": {}}
    monkeypatch.setattr(ray._private.state.state, "actor_table", known.__getitem__)
    errors: list[BaseException] = [ActorDiedError(), RayActorError(), OutOfMemoryError("of another kind")]
    for actor in ("a1", "a2", "the control service is away"):
        error = ActorDiedError()
        error.actor_id = actor
        errors.append(error)
    assert [death_of(error) for error in errors] == [None] * 6


def test_a_process_that_ray_killed_for_memory_is_told_with_its_machine() -> None:
    error = OutOfMemoryError(
        "1 worker(s) were killed due to the node running low on memory. Memory on the node (IP: 10.0.0.5, ID: 4aa9) "
        "was 11.36GB used / 23.54GB limit (0.482762)\nOOM kill reason: ..."
    )
    deaths = ("4aa9", "Ray killed a process on 10.0.0.5, as its memory was full (11.36GB used / 23.54GB limit)")
    assert death_of(error) == deaths
    assert death_of(RayActorError(error_msg=str(error))) == deaths  # what `replace_actor_manager` makes of it


def test_machines_that_stay_live_and_have_no_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [{"NodeID": name, "Alive": name != "dead"} for name in ("stays", "leaves", "dead")]
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    monkeypatch.setattr(ray_internals, "machines_that_leave", lambda: {"leaves"})
    assert ray_internals.machines_that_stay() == {"stays"}
    monkeypatch.delattr(ray, "nodes")
    assert ray_internals.machines_that_stay() == set()


COUNTED = """
import sys
from ray.air._internal import usage
from study.engine.ray_internals import disable_logger_statistics
from study.engine.tune_loop import StudyLoop
import study.engine.launch
assert "scipy" not in sys.modules, "a study waits for SciPy before its first trial"
if sys.argv[1] == "ours":
    disable_logger_statistics()
usage.tag_callbacks([StudyLoop(None)])
print(*(name for name in sys.modules if name.startswith("ray.air.integrations.")))
"""


@pytest.mark.slow
@pytest.mark.parametrize("by", ["ours", slow_case("ray")])
def test_no_trial_waits_for_the_loggers_of_others(by: str) -> None:
    """Ray by itself imports them all. If that fails, it has learned better, and `disable_logger_statistics` can go."""
    done = subprocess.run([sys.executable, "-c", COUNTED, by], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert ("ray.air.integrations.mlflow" in done.stdout) == (by == "ray")
