"""What MLflow gets of a study, in a SQLite store, read back with MLflow's client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from study.callbacks import WATCHERS, Outlook, Watcher
from tests.watched import MEASURED, outlook, record, trial

pytestmark = pytest.mark.xdist_group("watchers_mlflow")  # one process makes what they share

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
pytest.importorskip("sqlalchemy", reason="MLflow's SQLite store needs it")


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store that MLflow has just made, which takes it seconds."""
    path = tmp_path_factory.mktemp("mlflow") / "store.db"
    mlflow.MlflowClient(f"sqlite:///{path}").search_experiments()
    return path.read_bytes()


@pytest.fixture
def client(empty_store: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    path = tmp_path / "store.db"
    path.write_bytes(empty_store)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{path}")
    monkeypatch.chdir(tmp_path)
    return mlflow.MlflowClient()


def watcher(looked: Outlook) -> Watcher:
    found = WATCHERS["mlflow"].build(looked)
    assert found is not None
    return found


def runs(client: Any, looked: Outlook) -> list[Any]:
    experiment = client.get_experiment_by_name(looked.plan.space.name)
    return list(client.search_runs([experiment.experiment_id]))


def losses(client: Any, run: Any) -> list[tuple[int, float]]:
    return sorted((point.step, point.value) for point in client.get_metric_history(run.info.run_id, "train/loss"))


def test_it_is_off_where_nobody_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert WATCHERS["mlflow"].build(outlook(tmp_path)) is None


def test_a_run_has_the_flat_recipe_all_losses_and_every_score(client: Any, tmp_path: Path) -> None:
    looked = outlook(tmp_path / "results")
    spec = trial(looked)
    watched = watcher(looked)
    watched.started([spec])
    for step in (1, 45, 90):
        watched.step(spec, step, 90, {"loss": 1 / step, "learning_rate": 1e-5})
        watched.tick()
    watched.rung(spec, 1, {"sts": 61.5})
    watched.finished(spec, record(spec))
    watched.close()

    (run,) = runs(client, looked)
    assert run.info.status == "FINISHED"
    assert run.info.run_name == f"{spec.name} seed {spec.seed}"
    told = {key: value for key, value in {**spec.recipe, **spec.evaluation}.items() if value is not None}
    flat = {key: ", ".join(value) if isinstance(value, list | tuple) else value for key, value in told.items()}
    expected = {**flat, "label": spec.name, "seed": spec.seed}
    assert run.data.params == {key: str(value) for key, value in expected.items()}
    metrics = dict(run.data.metrics)
    assert metrics.pop("train/loss") == 1 / 90
    assert metrics.pop("train/learning_rate") == 1e-5
    assert metrics.pop("development/score") == 61.5
    assert metrics.pop("development/rung") == 1
    assert metrics == MEASURED
    assert losses(client, run) == [(1, 1.0), (45, 1 / 45), (90, 1 / 90)]
    tags = {"key": spec.key, "recipe": spec.recipe_hash, "space": "scl_tau", "label": spec.name}
    assert tags.items() <= run.data.tags.items()


def test_stopped_and_failed_trials_say_why(client: Any, tmp_path: Path) -> None:
    looked = outlook(tmp_path / "results")
    watched = watcher(looked)
    stopped, failed = trial(looked, 0), trial(looked, 1)
    watched.started([stopped, failed])
    watched.finished(stopped, record(stopped, stopped="stopped by asha"))
    watched.failed(failed, "CUDA out of memory")
    watched.close()
    found = {run.data.tags["key"]: (run.info.status, run.data.tags["reason"]) for run in runs(client, looked)}
    assert found == {stopped.key: ("KILLED", "stopped by asha"), failed.key: ("FAILED", "CUDA out of memory")}


def test_a_study_that_is_run_again_goes_on_with_its_runs(client: Any, tmp_path: Path) -> None:
    looked = outlook(tmp_path / "results")
    spec = trial(looked)
    first = watcher(looked)
    for step in (1, 2):
        first.step(spec, step, 3, {"loss": float(step)})
    first.close()
    (run,) = runs(client, looked)
    assert run.info.status == "KILLED"
    assert "run it again" in run.data.tags["reason"]

    second = watcher(outlook(tmp_path / "results"))
    second.started([spec])
    for step in (2, 3):  # from a checkpoint of step 1
        second.step(spec, step, 3, {"loss": float(step)})
    second.finished(spec, record(spec))
    second.close()
    (run,) = runs(client, looked)
    assert run.info.status == "FINISHED"
    assert "reason" not in run.data.tags
    assert losses(client, run) == [(1, 1.0), (2, 2.0), (3, 3.0)]

    other = watcher(outlook(tmp_path / "elsewhere"))  # the same trial of another study is another run
    other.started([spec])
    other.close()
    assert len(runs(client, looked)) == 2


def test_a_store_that_cannot_be_opened_is_told_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "store.db").write_text("no database")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'store.db'}")
    watched = watcher(outlook(tmp_path / "results"))
    with pytest.raises(Exception, match="not a database"):
        watched.close()
