"""What a trial takes of memory: nothing stays of it, and its peak is the same, first or fourth in its process."""

from __future__ import annotations

import dataclasses
import gc
import json
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainables.trial.real_trials import BATCHES
from tests.trainables.trial.test_warm import FEW
from tests.trials import PAIRS
from trainables.training.memory import held_bytes
from trainables.trial import TrialResult, TrialSpec, save_and_score
from trainables.trial.evaluation import score_senteval
from trainables.trial.peak import PEAK_RESET, Peak
from trainables.trial.result import Unscored
from trainables.trial.run import run_trial, run_trials

MB_A_TRIAL = 10.0
"""The most that a process may grow by, each trial."""
SAME = 0.1
"""Peaks of one recipe may differ by this share, between the first trial of a process and any later one."""
linux = pytest.mark.skipif(
    not PEAK_RESET.exists() or torch.cuda.is_available(), reason="resident memory, which Linux tells"
)


@linux
@pytest.mark.slow
def test_trials_of_minilms_shape_leave_nothing_and_take_the_same(tmp_path: Path) -> None:
    """In a process of its own, whose first trial imports and reads what the others use, too."""
    count = len(BATCHES) + 1
    command = [sys.executable, "-m", "tests.trainables.trial.real_trials", str(tmp_path / "encoder"), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    figures = json.loads(done.stdout.splitlines()[-1])
    assert (figures[-1]["after"] - figures[0]["after"]) / (count - 1) < MB_A_TRIAL
    assert figures[-1]["batch"] == figures[0]["batch"]
    assert figures[-1]["peak"] == pytest.approx(figures[0]["peak"], rel=SAME)
    assert figures[0]["peak"] > 4 * 4 * 30_522 * 384 / 2**20, "weights, gradients, and what AdamW keeps"


def test_a_measured_pass_lets_go_of_its_graph(make_encoder: Any) -> None:
    encoder = make_encoder()
    parameter = weakref.ref(next(encoder.parameters()))
    assert held_bytes(encoder, [[5, 6, 7], [5, 6]]) > 0
    del encoder
    gc.collect()
    assert parameter() is None


class TestPeak:
    def test_what_is_taken_above_what_was_there(self) -> None:
        held = torch.ones(64 * 2**18)  # 64 MiB, which were there before
        peak = Peak()
        taken = torch.ones(128 * 2**18)
        del taken
        assert peak.in_mebibytes() == pytest.approx(128, abs=16)
        assert Peak().in_mebibytes() == pytest.approx(0, abs=16)
        assert len(held)

    def test_unknown_where_the_system_does_not_tell(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        if torch.cuda.is_available():
            pytest.skip("a GPU always tells")
        monkeypatch.setattr("trainables.trial.peak.PEAK_RESET", tmp_path / "nowhere" / "clear_refs")
        assert Peak().in_mebibytes() is None
        monkeypatch.undo()
        monkeypatch.setattr("trainables.trial.peak.STATUS", tmp_path / "nowhere")
        assert Peak().in_mebibytes() is None
        lines = ["Name:\tpython", "VmHWM:\t 200 kB", "VmRSS:\t 100 kB", "RssFile:\t 50 kB"]
        for missing in range(1, 4):
            (tmp_path / "status").write_text("\n".join(lines[:missing] + lines[missing + 1 :]) + "\n")
            monkeypatch.setattr("trainables.trial.peak.STATUS", tmp_path / "status")
            assert Peak().in_mebibytes() is None


ALONE = PAIRS.override({"corpus.limit": 64})


@linux
class TestTrials:
    """In this process, which has run others."""

    def test_of_an_earlier_trials_peak_nothing_is_seen(self) -> None:
        first = peak_of(run_trial(ALONE, 1, FEW))
        torch.ones(400 * 2**18)  # 400 MiB, gone at once
        assert peak_of(run_trial(ALONE, 1, FEW)) == pytest.approx(first, rel=SAME, abs=16)

    @pytest.mark.slow
    def test_members_of_a_population_take_all_that_it_takes(self, tmp_path: Path) -> None:
        frozen = ALONE.override({"encoder.adapter": "mlp", "pooling.mode": "mean"})
        recipes = [frozen.override({"objective.temperature": 0.1 * number}) for number in (1, 2, 3)]
        peaks = [
            [
                peak_of(result)
                for result in run_trials([TrialSpec(recipe, 1, FEW) for recipe in recipes], embedding_folder=folder)
            ]
            for folder in (tmp_path / "first", tmp_path / "second")
        ]
        for members in peaks:
            assert members == pytest.approx([peaks[0][0]] * 3, rel=SAME, abs=16)
        assert peaks[0][0] > 16

    @pytest.mark.slow
    def test_scoring_counts_here_and_in_another_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        alone = peak_of(run_trial(ALONE, 1, FEW))
        handed = run_trial(ALONE, 1, FEW, hand_over=True)
        assert isinstance(handed, Unscored)

        def large(*arguments: Any) -> Any:
            torch.ones(512 * 2**18)  # 512 MiB
            return score_senteval(*arguments)

        monkeypatch.setattr(save_and_score, "score_senteval", large)
        assert peak_of(run_trial(ALONE, 1, FEW)) > 512 > alone
        assert peak_of(save_and_score.score(handed)) > 500
        cost: Any = {**handed.result.cost, "gpu_seconds": 5.0, "peak_memory_mb": 7.0}
        on_a_gpu = dataclasses.replace(handed, result=dataclasses.replace(handed.result, cost=cost))
        assert peak_of(save_and_score.score(on_a_gpu)) == 7.0, "a GPU's memory, and none of it was taken"


def peak_of(result: Any) -> float:
    assert isinstance(result, TrialResult)
    peak: float = result.cost["peak_memory_mb"]
    return peak
