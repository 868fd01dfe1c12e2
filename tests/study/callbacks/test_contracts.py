"""Every callback bears whatever happens in a study, and every tracker keeps the same of a trial."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from study.callbacks import CALLBACKS, CallbackEntry
from study.callbacks.tensorboard import FOLDER, OF
from study.testing.callbacks import CallbackContract, TrackedRun, TrackerContract, study_state

TRACKERS = ("tensorboard", "mlflow", "wandb")
BLOCK, FILE_HEADER, HEADER = 32768, 7, 7
FULL, LAST = 1, 4
"""Kinds of chunks that end a message in a file of Weights & Biases, whose format is that of LevelDB's log."""


class TestOthers(CallbackContract):
    @pytest.fixture(params=[name for name in CALLBACKS if name not in TRACKERS])
    def entry(self, request: pytest.FixtureRequest) -> CallbackEntry:
        return CALLBACKS[request.param]


class TestTensorBoard(TrackerContract):
    """Read back as TensorBoard itself reads it."""

    @pytest.fixture
    def entry(self) -> CallbackEntry:
        pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
        return CALLBACKS["tensorboard"]

    def tracked(self, results: Path) -> Mapping[str, TrackedRun]:
        return {path.read_text(): self._run(path.parent) for path in (results / FOLDER).glob(f"*/*/{OF}")}

    def _run(self, folder: Path) -> TrackedRun:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

        events = EventAccumulator(str(folder)).Reload()
        tags = events.Tags()

        def text(name: str) -> str:
            shown = events.Tensors(f"{name}/text_summary")[-1].tensor_proto.string_val[0].decode()
            return str(shown).splitlines()[0].strip()

        content = events.PluginTagToContent("hparams")
        started = HParamsPluginData.FromString(content["_hparams_/session_start_info"]).session_start_info
        ended = "ended/text_summary" in tags["tensors"]
        return TrackedRun(
            text("trial"),
            {key: getattr(value, value.WhichOneof("kind")) for key, value in started.hparams.items()},
            {name: {event.step: event.value for event in events.Scalars(name)} for name in tags["scalars"]},
            "_hparams_/session_end_info" in content and not ended,
            text("ended").partition(": ")[2] if ended else "",
        )


@pytest.fixture(scope="module")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store that MLflow has just made, which takes it seconds."""
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    pytest.importorskip("sqlalchemy", reason="MLflow's SQLite store needs it")
    path = tmp_path_factory.mktemp("mlflow") / "store.db"
    mlflow.MlflowClient(f"sqlite:///{path}").search_experiments()
    return path.read_bytes()


class TestMLflow(TrackerContract):
    """In a SQLite store, read back with MLflow's client."""

    @pytest.fixture
    def entry(
        self, empty_store: bytes, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
    ) -> CallbackEntry:
        path = tmp_path_factory.mktemp("store") / "store.db"
        path.write_bytes(empty_store)
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{path}")
        return CALLBACKS["mlflow"]

    def tracked(self, results: Path) -> Mapping[str, TrackedRun]:
        from mlflow import MlflowClient

        client = MlflowClient()
        experiments = [
            experiment for experiment in client.search_experiments() if experiment.name.startswith(f"{results.name} ")
        ]
        assert len(experiments) <= 1  # one of the study, however often it is run
        runs = client.search_runs([experiment.experiment_id for experiment in experiments], "tags.space = 'scl_tau'")
        return {
            run.data.tags["key"]: TrackedRun(
                run.info.run_name or "",
                run.data.params,
                {
                    name: {point.step: point.value for point in client.get_metric_history(run.info.run_id, name)}
                    for name in run.data.metrics
                },
                run.info.status == "FINISHED",
                run.data.tags.get("reason", ""),
            )
            for run in runs
        }

    def test_a_store_that_cannot_be_opened_is_told(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "store.db").write_text("no database")
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'store.db'}")
        callback = CALLBACKS["mlflow"].build(study_state(tmp_path / "results"))
        with pytest.raises(Exception, match="not a database"):
            callback.close()


@pytest.mark.slow  # MLflow keeps the same contract, in a quarter of the time
class TestWeightsAndBiases(TrackerContract):
    """Offline, read back from the files that `wandb sync` would send."""

    @pytest.fixture
    def entry(self, monkeypatch: pytest.MonkeyPatch) -> CallbackEntry:
        pytest.importorskip("wandb", reason="Weights & Biases is not installed")
        monkeypatch.setenv("WANDB_MODE", "offline")
        monkeypatch.delenv("WANDB_API_KEY", raising=False)
        return CALLBACKS["wandb"]

    def tracked(self, results: Path) -> Mapping[str, TrackedRun]:
        """A server puts the files of one id together."""
        runs: dict[str, TrackedRun] = {}
        paths = sorted((results / "wandb").glob("offline-run-*/*.wandb"), key=lambda path: path.stat().st_mtime_ns)
        for path in paths:
            run, summary = TrackedRun(""), dict[str, Any]()
            for message in _messages(path):
                kind = message.WhichOneof("record_type")
                if kind == "run":
                    assert message.run.project == "scl_tau"
                    assert message.run.run_group.startswith(f"{results.name} ")
                    run.name, id = message.run.display_name, message.run.run_id
                    run.parameters |= {item.key: json.loads(item.value_json) for item in message.run.config.update}
                elif kind == "history":
                    values = _values(message.history.item)
                    for name in values.keys() - {"_step", "_runtime", "_timestamp"}:
                        run.points.setdefault(name, {})[values["_step"]] = values[name]
                elif kind == "summary":
                    summary |= _values(message.summary.update)
                elif kind == "exit":
                    assert message.exit.exit_code == int(summary["status"] in ("failed", "interrupted"))
            run.finished, run.reason = summary["status"] == "finished", summary["reason"]
            for name, points in runs.get(id, TrackedRun("")).points.items():
                run.points[name] = points | run.points.get(name, {})
            runs[id] = run
        return {run.parameters["key"]: run for run in runs.values()}


def _messages(path: Path) -> Iterator[Any]:
    """Of one run's file."""
    from wandb.proto.wandb_internal_pb2 import Record

    content, offset, parts = path.read_bytes(), FILE_HEADER, b""
    while offset + HEADER <= len(content):
        if BLOCK - offset % BLOCK < HEADER:  # the rest of a block that is too short for a header
            offset += BLOCK - offset % BLOCK
            continue
        _, length, kind = struct.unpack("<IHB", content[offset : offset + HEADER])
        parts += content[offset + HEADER : offset + HEADER + length]
        offset += HEADER + length
        if kind in (FULL, LAST):
            yield Record.FromString(parts)
            parts = b""


def _values(items: Any) -> dict[str, Any]:
    return {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in items}


@pytest.mark.parametrize("name", ["mlflow", "wandb"])
def test_a_tracker_is_off_where_nobody_asks_for_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("MLFLOW_TRACKING_URI", "WANDB_MODE", "WANDB_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    assert CALLBACKS[name].build(study_state(tmp_path)) is None


def test_the_contract_can_fail(tmp_path: Path) -> None:
    class Outside(type(CALLBACKS["progress"].build(study_state(tmp_path / "results")))):  # type: ignore[misc]
        def close(self) -> None:
            (self.results.parent / "beside").write_text("")

    with pytest.raises(AssertionError):
        CallbackContract().test_it_bears_whatever_happens(CallbackEntry("outside", Outside, "writes beside"), tmp_path)
