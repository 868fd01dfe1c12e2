"""Ray's metrics of a study: their values, that Ray exports them, and that Grafana's panels name them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ray.util.metrics import Gauge

from reports.ledger import LEDGER, Ledger
from study.callbacks import prometheus
from study.callbacks.prometheus import GAUGES, Prometheus
from study.testing.callbacks import Followed, record, study_state, trial

ROOT = Path(__file__).resolve().parents[3]
PANELS = ROOT / "deploy" / "grafana" / "study.json"


@pytest.fixture
def gauges(monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, ...], float]:
    """What the gauges were last set to: by name and the values of their own tags."""
    values: dict[tuple[str, ...], float] = {}

    class RecordedGauge(Gauge):
        def set(self, value: float, tags: Mapping[str, str] | None = None) -> None:
            super().set(value, tags)
            assert self.info["default_tags"] == {"space": "scl_tau", "study": "results"}
            values[(self.info["name"], *(tags or {}).values())] = value

    monkeypatch.setattr(prometheus, "Gauge", RecordedGauge)
    return values


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(prometheus.time, "monotonic", lambda: now[0])
    return now


def states(gauges: dict[tuple[str, ...], float]) -> dict[str, float]:
    return {tags[0]: value for (name, *tags), value in gauges.items() if name == "ses_trials"}


def test_they_follow_a_study(gauges: dict[tuple[str, ...], float], clock: list[float], tmp_path: Path) -> None:
    state = study_state(tmp_path / "results")
    first, second, third, fourth = (trial(state, number) for number in range(4))
    Ledger(tmp_path / "results" / LEDGER).write(record(first))  # by an earlier run of the study
    state = study_state(tmp_path / "results")
    followed = Followed(state, Prometheus(state))
    followed.tick()
    assert states(gauges) == {"queued": 4, "running": 0, "finished": 1, "stopped": 0, "failed": 0}
    assert gauges["ses_best_score", "selection"] == 65.0
    assert ("ses_busy_share",) not in gauges  # no worker of this run has ended a trial

    followed.started([second, third])
    for step, at in ((10, 101.0), (30, 103.0)):
        clock[0] = at
        followed.step(second, step, 90, {"loss": 1.0, "tokens_per_second": 500.0})
        followed.step(third, 2 * step, 180, {"loss": 1.0})
    followed.tick()
    assert states(gauges) == {"queued": 2, "running": 2, "finished": 1, "stopped": 0, "failed": 0}
    assert gauges["ses_steps_per_second",] == pytest.approx(10 + 20)
    assert gauges["ses_tokens_per_second",] == 500.0

    clock[0] = 110.0
    followed.step(second, 90, 90, {"loss": 1.0, "tokens_per_second": 500.0})  # from now on it is evaluated
    followed.step(third, 200, 1000, {"loss": 1.0})
    followed.tick()
    assert gauges["ses_steps_per_second",] == pytest.approx(140 / 7)
    assert gauges["ses_tokens_per_second",] == 0.0

    followed.finished(second, record(second, stopped="stopped by asha"))
    followed.failed(third, "no memory")
    followed.started([fourth])
    followed.finished(fourth, record(fourth))
    followed.tick()
    assert states(gauges) == {"queued": 4, "running": 0, "finished": 2, "stopped": 1, "failed": 1}
    assert gauges["ses_crew_seconds", "busy"] == 18.0
    assert gauges["ses_crew_seconds", "idle"] == 2.0
    assert gauges["ses_busy_share",] == pytest.approx(0.9)
    assert {name for name, *_ in gauges} == set(GAUGES)


def test_they_are_set_every_five_seconds_at_most_unless_a_trial_begins_or_ends(
    gauges: dict[tuple[str, ...], float], clock: list[float], tmp_path: Path
) -> None:
    state = study_state(tmp_path / "results")
    followed = Followed(state, Prometheus(state))
    followed.tick()
    gauges.clear()
    clock[0] += 4.9
    followed.tick()
    assert not gauges
    followed.started([trial(state)])
    followed.tick()
    assert states(gauges)["running"] == 1
    gauges.clear()
    clock[0] += 5.1
    followed.tick()
    assert gauges
    followed.close()
    assert states(gauges)["running"] == 0


def test_every_panel_of_grafana_shows_a_metric_that_is_exported_and_every_metric_has_one() -> None:
    board = json.loads(PANELS.read_text(encoding="utf-8"))
    variables = {variable["name"]: variable for variable in board["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    known = {f"ray_{name}": {"space", "study", *tags} for name, (_, tags) in GAUGES.items()}
    named: set[str] = set()
    queries = [variables[name]["definition"] for name in ("space", "study")]
    for panel in board["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}"
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"
            values = re.findall(r"\bray_\w+", target["expr"])
            assert values
            named |= set(values)
            queries.append(target["expr"])
            (group,) = re.findall(r"by \(([^)]*)\)", target["expr"])
            tags = set(group.split(", ")) | set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert all(tags <= known[name] for name in values), panel["title"]
    assert named == set(known)
    for query in queries:
        assert set(re.findall(r"\$(\w+)", query)) <= set(variables)
        for name, chosen in re.findall(r"(ray_\w+){([^}]*)}", query):
            assert set(re.findall(r"(\w+)=~", chosen)) <= known[name]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


FOLLOW = """
import sys, time, urllib.request
from pathlib import Path
import ray
from study.callbacks.prometheus import GAUGES, Prometheus
from study.testing.callbacks import Followed, study_state, record, trial

ray.init(address="auto", log_to_driver=False)
state = study_state(Path(sys.argv[1]))
told, first = Followed(state, Prometheus(state)), trial(state)
told.started([first])
told.finished(first, record(first))
told.tick()
node = ray.nodes()[0]
address = f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"
deadline = time.monotonic() + 90
lines = []
while len({line.partition("{")[0] for line in lines}) < len(GAUGES) and time.monotonic() < deadline:
    time.sleep(1)
    text = urllib.request.urlopen(address).read().decode()
    # Other tests' studies ran on this cluster, too.
    lines = [line for line in text.splitlines() if line.startswith("ray_ses_") and 'space="scl_tau"' in line]
print("\\n".join(lines))
"""


@pytest.mark.slow
@pytest.mark.ray
def test_ray_exports_them(cluster: dict[str, str], tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", FOLLOW, str(tmp_path / "results")],
        env={**cluster, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    values: dict[str, list[dict[str, Any]]] = {}
    for line in answer.stdout.splitlines():
        name, _, rest = line.partition("{")
        values.setdefault(name, []).append(dict(re.findall(r'(\w+)="([^"]*)"', rest)) | {"value": line.split()[-1]})
    assert set(values) == {f"ray_{name}" for name in GAUGES}
    for name, (_, tags) in GAUGES.items():
        for sample in values[f"ray_{name}"]:
            assert (sample["space"], sample["study"]) == ("scl_tau", "results")
            assert set(tags) <= set(sample)
    by_state = {sample["state"]: float(sample["value"]) for sample in values["ray_ses_trials"]}
    assert by_state == {"queued": 4, "running": 0, "finished": 1, "stopped": 0, "failed": 0}
    assert float(values["ray_ses_busy_share"][0]["value"]) == pytest.approx(0.9)
