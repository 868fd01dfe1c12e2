"""A trial that its worker handed over gets the record that it would have had there."""

from __future__ import annotations

import pickle

import pytest
import ray

from study.engine.records import HandedTrial, TrialRun
from study.engine.scoring import score_apart
from study.trial import SourceFile, Trial
from trainables.evaluation_config import EvaluationConfig
from trainables.machine import machine
from trainables.plugins import has_run
from trainables.recipe import Recipe
from trainables.trial.run import run_trial

SOURCE = SourceFile("plugin", "/a/worker/may/not/have/it.py", "OF_A_HANDED_TRIAL = True")


def test_a_handed_trial_is_scored_after_its_sources_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe().preferring({"encoder.name": "scenes-small", "optimisation.epochs": 0})
    trial = Trial(recipe, 0, "row", evaluation=EvaluationConfig("scenes", ("STS12",), "fast"))
    run = TrialRun(trial, (SOURCE,), {"busy": 1.5}, machine(), saved=False)
    handed = run_trial(recipe, 0, trial.evaluation, hand_over=True)
    sent = pickle.dumps(HandedTrial(run, handed))
    monkeypatch.setattr(ray, "get", lambda reference: pickle.loads(reference))
    event = score_apart._function([sent])
    assert has_run(SOURCE.text)
    assert (event.key, event.card) == (trial.key, None)
    record = event.record
    assert record.scores.keys() == {"STS12"}
    assert record.scores["STS12"]["spearman_wmean"] is not None
    assert record.cost["crew"] == {"busy": 1.5}
    assert record.versions["plugins"]
    assert record.predictions == [f"predictions/{trial.key}-{record.evaluations[0].name}.npz"]
    assert event.predictions
