"""Ctrl-C and SIGTERM, at every stage of a study, without Ray: the exit code, a sentence, a report of what is done."""

from __future__ import annotations

import importlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reports.ledger import Ledger, StudyInfo
from reports.testing import made_record
from study.plan import Plan
from study.run import main
from study.signals import defer_signals
from tests.study.cli.test_cli import TINY
from tests.study.plans import CLUSTER

BEFORE = (
    "study.cli.options.parse",
    "study.plan.read_request",
    "study.engine.cluster.find_cluster",
    "study.check.check_plan",
    "study.dry_run.preview",
)
"""Stages before anything is written."""
WITHIN = (
    "study.engine.launch.prepare_results",
    "study.search.tune_searcher.TuneSearcher",
    "study.engine.launch.start_cluster",
    "study.engine.launch._run_trials",
    "study.engine.launch.save_info",
)
"""Of the study."""
AFTER = ("reports.report.write_unrecorded", "reports.facts.looks.record_look")
CODES = {signal.SIGTERM: 143, signal.SIGINT: 130}


def finish_one(plan: Plan, *_: object) -> int:
    trial = plan.fixed_trials()[0]
    scores = {"STSBenchmark": {"dev_spearman_cosine": 61.0}}
    recipe, protocol, model = trial.recipe, plan.evaluation.protocol, f"models/{trial.key}"
    plan.ledger.write(
        made_record(recipe.flat(), recipe.hash, trial.seed, scores=scores, protocol=protocol, checkpoint=model)
    )
    return 0


@pytest.fixture
def without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("study.engine.cluster.find_cluster", lambda: CLUSTER)
    monkeypatch.setattr("study.engine.launch.start_cluster", lambda cluster: None)
    monkeypatch.setattr("study.engine.launch._run_trials", finish_one)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of which one trial has finished."""
    folder = tmp_path_factory.mktemp("begun") / "results"
    with pytest.MonkeyPatch.context() as patch:
        without_ray.__wrapped__(patch)
        assert main([*TINY, "--results", str(folder)]) == 0
    return folder


@pytest.mark.parametrize(
    ("stage", "number"),
    [(stage, (*CODES,)[index % 2]) for index, stage in enumerate((*BEFORE, *WITHIN, *AFTER))],
)
@pytest.mark.usefixtures("without_ray")
def test_a_signal_is_answered_at_every_stage(
    stage: str,
    number: signal.Signals,
    begun: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    results = tmp_path / "results"
    shutil.copytree(begun, results)
    (results / "report.md").unlink()
    strike(monkeypatch, stage, number)
    before = [signal.signal(signal.SIGINT, signal.default_int_handler), signal.getsignal(signal.SIGTERM)]
    try:
        code = main([*TINY, "--results", str(results), "--seeds", "2"])
    finally:
        signal.signal(signal.SIGINT, before[0])
    assert code == CODES[number]
    assert signal.getsignal(signal.SIGTERM) is before[1]
    out, err = capsys.readouterr()
    assert "stopped; run the same command again to continue" in out
    assert "Traceback" not in out + err
    assert "no trial had finished" not in out
    assert StudyInfo.load(results).status_counts["finished"] == 1
    assert (f"report: {results / 'report.md'}" in out) == (stage in WITHIN)
    assert ("\nModel  python -m reports export " in out) == (stage in WITHIN)
    assert len(Ledger(results / "ledger").read()) == 1


def strike(monkeypatch: pytest.MonkeyPatch, stage: str, number: int) -> None:
    """Have a signal come once that stage is reached, and go on with the stage if nobody minds."""
    module, _, name = stage.rpartition(".")
    before: Callable[..., Any] = getattr(importlib.import_module(module), name)

    def struck(*given: Any, **named: Any) -> Any:
        monkeypatch.setattr(stage, before)
        signal.raise_signal(number)
        return before(*given, **named)

    monkeypatch.setattr(stage, struck)


@pytest.mark.parametrize("number", CODES)
def test_what_is_written_at_the_end_is_written_whole(number: signal.Signals) -> None:
    done = []

    def write() -> None:
        with defer_signals():
            signal.raise_signal(number)
            done.append(1)

    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            write()
    finally:
        signal.signal(number, before)
    assert done == [1]


@pytest.mark.slow
@pytest.mark.parametrize("number", CODES)
def test_a_process_ends_with_the_code_of_its_signal(number: signal.Signals, tmp_path: Path) -> None:
    """Until its last line, in which Ray ends."""
    strike = f"import signal; signal.raise_signal({int(number)})"
    (tmp_path / "slow.py").write_text(strike)
    handled = "import atexit, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    line = f"{handled}from study.run import command; atexit.register(lambda: exec({strike!r})); sys.exit(command())"
    arguments = [sys.executable, "-c", line, "--keys", "--plugin", str(tmp_path / "slow.py")]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (CODES[number], "")
    assert "stopped; run the same command again" in done.stdout
