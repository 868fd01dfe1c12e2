"""What a person sees of each trial."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from reports.ledger import Ledger, Record
from search_spaces import load_space
from study.console import Console, describe
from study.failures import keep_failure
from study.spec import TrialSpec, to_config
from trainables.recipe import Recipe

SHOWN = load_space("scl_ablation").shown
SCORES = {
    "STSBenchmark": {"dev_spearman_cosine": 60.0},
    "MR": {"dev_accuracy": 70.0},
    **{f"STS{year}": {"spearman_wmean": 50.0, "spearman_mean": 40.0} for year in range(12, 17)},
}


def test_a_line_has_the_spaces_averages_whose_scores_are_there() -> None:
    record = Record({}, "a", 0, scores=SCORES, cost={"seconds": 24.3})
    assert describe(record, SHOWN) == "dev 65.00  STS 50.00  24 s"
    assert describe(Record({}, "a", 0), SHOWN) == "dev —"
    stopped = Record({}, "a", 0, status="pruned", training={"stopped": "diverged: nan"})
    assert describe(stopped, SHOWN) == "diverged: nan"


def test_words_are_explained_once_before_the_first_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = Ledger(tmp_path / "ledger")
    console = Console(SimpleNamespace(remaining=2, queue=[]), ledger, SHOWN, lambda: 90.0)  # type: ignore[arg-type]
    hash_ = Recipe().hash
    for seed in (0, 1):
        spec = TrialSpec({}, hash_, seed, f"row {seed}", str(tmp_path), {"CPU": 1}, 1, False, "")
        trial = SimpleNamespace(config=to_config(spec.key, [spec]), status="RUNNING")
        console.on_trial_start(0, [trial], trial)
        if seed:
            keep_failure(spec, "no such file")
        else:
            ledger.write(Record(Recipe().flat(), hash_, seed, scores=SCORES))
        console.on_trial_complete(0, [trial], trial)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == ("dev: the development score that searches look at; STS, transfer: averages of test scores")
    assert lines[1].startswith("[1/2] row 0      seed 0  dev 65.00  STS 50.00  (0.0 min, about 1.5 left)")
    assert lines[2].startswith("[2/2] row 1      seed 1  FAILED: no such file  (")
    assert len(lines) == 3
    assert console.failed == 1
