"""Averages of a recipe's models, scored in place of a training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import slow_case
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.trial import TrialResult, TrialSpec
from trainables.trial.run import run_trial, run_trials
from trainables.trial.soup import UNTRAINED
from trainables.trial.spec import Soup

EVALUATION = EvaluationConfig("scenes", ("STS12",), "fast")
TRAINING = Recipe().preferring(
    {
        "corpus.nli": "scenes",
        "corpus.limit": 64,
        "optimisation.batch_size": 16,
        "optimisation.max_steps": 3,
        "optimisation.learning_rate": 5e-3,
    }
)
ENCODERS = {
    "layers": {"encoder.name": "scenes-small", "encoder.layers": 1},
    "pooling": {"encoder.name": "scenes-small", "encoder.layers": 1, "pooling.mode": "cls", "encoder.max_length": 9},
    "lora": {"encoder.name": "scenes-small", "encoder.layers": 1, "encoder.adapter": "lora"},
    "static": {"encoder.name": "scenes-small", "encoder.kind": "static"},
}


def score(result: Any) -> float:
    assert isinstance(result, TrialResult)
    return float(result.scores["STS12"]["spearman_all"])


@pytest.mark.parametrize("encoder", [slow_case(name, when=name not in ("layers", "lora")) for name in ENCODERS])
def test_soups_of_one_seed_score_as_it_did_and_as_the_encoder_came(encoder: str, tmp_path: Path) -> None:
    recipe = TRAINING.preferring(ENCODERS[encoder])
    trained = [score(run_trial(recipe, seed, EVALUATION, model_folder=tmp_path / str(seed))) for seed in (0, 1)]
    untrained = score(run_trial(recipe.preferring(UNTRAINED), 0, EVALUATION))
    assert len({*trained, untrained}) == 3

    def soup(share: float, *seeds: int, folder: Path | None = None) -> float:
        models = Soup(tuple(tmp_path / str(seed) for seed in seeds), share)
        (result,) = run_trials([TrialSpec(recipe, 2_000_000, EVALUATION, folder, soup=models)])
        return score(result)

    assert soup(1.0, 0) == pytest.approx(trained[0], abs=1e-3)
    assert soup(0.0, 0, 1) == pytest.approx(untrained, abs=1e-3)
    both = soup(1.0, 0, 1, folder=tmp_path / "averaged")
    assert both not in (*trained, untrained)
    pipeline = Recipe().override(
        {"encoder.kind": "pipeline", "encoder.name": str(tmp_path / "averaged"), "optimisation.epochs": 0}
    )
    # by sentence-transformers, whose last digits differ: pairs of some 1,500 change places, and texts that are cut to
    # the same nine tokens are no longer equal where two libraries multiply their rows (`linear.py`)
    assert score(run_trial(pipeline, 0, EVALUATION)) == pytest.approx(both, abs=0.2)
