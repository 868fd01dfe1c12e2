"""A trial hands its embeddings over, and another process scores them: the same result, to the last bit."""

from __future__ import annotations

import dataclasses
import os
import pickle
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tests.trials import PAIRS, without_seconds
from trainables.encoders.model_card import README
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.training.distributed import Workers
from trainables.trial import Reporter, TrialResult, TrialSpec, Unscored
from trainables.trial.measure import TrialClock, after_scoring, gpus_of
from trainables.trial.run import run_trial, run_trials
from trainables.trial.save_and_score import score

SCORE = """
import pickle, sys
from pathlib import Path
from trainables.trial.save_and_score import score
assert "transformers" not in sys.modules
Path(sys.argv[2]).write_bytes(pickle.dumps(score(pickle.loads(Path(sys.argv[1]).read_bytes()))))
"""
EVALUATION = EvaluationConfig("scenes", ("STS12", "STSBenchmark", "TREC"), "fast", "topics")


@pytest.fixture
def recipe() -> Recipe:
    return PAIRS.override({"corpus.limit": 128})


def in_another_process(unscored: Unscored, folder: Path) -> TrialResult:
    (folder / "in").write_bytes(pickle.dumps(unscored))
    files = [str(folder / name) for name in ("in", "out")]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run([sys.executable, "-c", SCORE, *files], check=True, env=environment, cwd=Path(__file__).parents[3])
    result: TrialResult = pickle.loads((folder / "out").read_bytes())
    return result


@pytest.mark.slow
def test_another_process_gives_the_same_result(recipe: Recipe, tmp_path: Path):
    whole = run_trial(recipe, 1, EVALUATION, model_folder=tmp_path / "whole")
    handed = run_trial(recipe, 1, EVALUATION, model_folder=tmp_path / "handed", hand_over=True)
    assert isinstance(whole, TrialResult)
    assert isinstance(handed, Unscored)
    assert handed.embeddings.vectors.dtype == np.float32
    assert not (tmp_path / "handed" / README).exists()  # it says the scores
    result = in_another_process(handed, tmp_path)
    assert without_seconds(result) == without_seconds(whole)
    assert {"heat_map.after", "TREC", "items.STS12"} <= result.predictions.keys()
    assert result.card is not None
    assert result.card.splitlines()[:20] == (tmp_path / "whole" / README).read_text().splitlines()[:20]
    assert "| STSBenchmark |" in result.card


@pytest.mark.slow
def test_a_population_hands_over_one_by_one(recipe: Recipe, tmp_path: Path):
    frozen = recipe.override({"encoder.adapter": "mlp", "pooling.mode": "mean"})
    recipes = [frozen, frozen.override({"objective.temperature": 0.2})]
    specs = [TrialSpec(recipe, 1, EVALUATION) for recipe in recipes]
    whole = list(run_trials(specs, embedding_folder=tmp_path / "embeddings"))
    handed = list(run_trials(specs, embedding_folder=tmp_path / "embeddings", hand_over=True))
    for whole_result, other in zip(whole, handed, strict=True):
        assert isinstance(other, Unscored)
        result = score(pickle.loads(pickle.dumps(other)))
        assert without_seconds(result) == without_seconds(whole_result)
        assert result.card is None  # no model was saved
    assert isinstance(whole[0], TrialResult)
    assert isinstance(whole[1], TrialResult)
    assert whole[0].scores != whole[1].scores


def test_what_is_stopped_is_not_handed_over(recipe: Recipe):
    result = run_trial(recipe.override({"optimisation.learning_rate": 1e30}), 1, EVALUATION, hand_over=True)
    assert isinstance(result, TrialResult)
    assert result.stopped is not None


@pytest.mark.slow
def test_read_only_embeddings_are_scored(recipe: Recipe, recwarn: pytest.WarningsRecorder):
    """As they come out of memory that processes share."""
    handed = run_trial(recipe.override({"optimisation.epochs": 0}), 1, EVALUATION, hand_over=True)
    assert isinstance(handed, Unscored)
    expected = without_seconds(score(handed))
    handed.embeddings.vectors.flags.writeable = False
    assert without_seconds(score(handed)) == expected
    assert not [warning for warning in recwarn if "writable" in str(warning.message)]


def test_changed_data_is_refused(recipe: Recipe, tmp_path: Path):
    folder = tmp_path / "downstream" / "TREC"
    folder.mkdir(parents=True)
    lines = [f"{label}:x what is {number}" for number in range(40) for label in ("HUM", "DESC")]
    (folder / "train_5500.label").write_text("\n".join(f"{line} in train" for line in lines) + "\n")
    (folder / "TREC_10.label").write_text("\n".join(lines) + "\n")
    own = recipe.override({"optimisation.epochs": 0})
    handed = run_trial(own, 1, EvaluationConfig(str(tmp_path), ("TREC",), "fast"), hand_over=True)
    assert isinstance(handed, Unscored)
    assert score(handed).scores["TREC"]["test_accuracy"] is not None
    (folder / "TREC_10.label").write_text("\n".join(lines[2:]) + "\n")
    with pytest.raises(UserError, match="not those that were embedded"):
        score(handed)


@pytest.mark.slow
def test_seconds_are_counted_once(recipe: Recipe, monkeypatch: pytest.MonkeyPatch):
    """Those in which sentences seen in training are looked for are part of them."""
    monkeypatch.setattr("trainables.trial.save_and_score.overlap", lambda *_: time.sleep(0.3))
    handed = run_trial(recipe, 1, EVALUATION, hand_over=True, reporter=Reporter())
    assert isinstance(handed, Unscored)
    before, after = handed.result.cost, score(handed).cost
    assert before["evaluating_seconds"] == 0
    assert after["evaluation_seconds"] > after["evaluating_seconds"] > 0.3
    for name in ("seconds", "evaluation_seconds"):
        assert after[name] == pytest.approx(before[name] + after["evaluating_seconds"])
    assert after["train_seconds"] == before["train_seconds"]
    assert after["seconds"] == pytest.approx(after["train_seconds"] + after["evaluation_seconds"])
    held = after_scoring(before, 1.5, 2)
    assert held["gpu_seconds"] == before["gpu_seconds"] + 3.0
    assert held["workers"] == before["workers"]


@pytest.mark.parametrize(("before", "memory", "after"), [(20.0, 30.0, 30.0), (20.0, 10.0, 20.0), (None, 30.0, None)])
def test_the_peak_is_the_larger_one(before: float | None, memory: float, after: float | None):
    cost = {**TrialClock().cost(Workers()), "peak_memory_mb": before}
    assert after_scoring(cost, 1.5, memory=memory)["peak_memory_mb"] == after  # type: ignore[arg-type]


def test_a_share_of_a_gpu_counts_as_that_share(monkeypatch: pytest.MonkeyPatch):
    """As Ray gave it to each worker: `--gpus-per-worker 0.25`."""
    from study.engine.worker import _workers

    alone: Any = SimpleNamespace(count=1)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert gpus_of(_workers(alone, 0.25)) == 0.25
    assert gpus_of(dataclasses.replace(_workers(alone, 0.25), count=4)) == 1.0
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpus_of(_workers(alone, 0.0)) == 0.0
