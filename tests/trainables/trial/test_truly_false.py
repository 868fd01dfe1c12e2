"""A training on the built-in corpus counts which negatives are truly false, and is the same as without these counts."""

from __future__ import annotations

import pytest

from trainables.corpora import scenes
from trainables.recipe import Recipe
from trainables.training.checkpoint import TrainingProgress
from trainables.training.distributed import Workers
from trainables.training.loop import Watcher, train
from trainables.trial.build import build_encoder, build_training

COUNTS = {"judged_anchors", "false_negatives", "caught_false_negatives", "wrongly_masked_negatives"}


def trained(nli: str) -> TrainingProgress:
    recipe = Recipe().preferring(
        {
            "encoder.name": "scenes-small",
            "encoder.layers": 1,
            "corpus.nli": nli,
            "corpus.layout": "pairs",
            "objective.name": "mnrl",
            "objective.false_negatives": "self",
            "objective.filter_margin": 0.0,
            "optimisation.batch_size": 64,
            "optimisation.max_steps": 3,
        }
    )
    encoder = build_encoder(recipe, 1, None)
    training = build_training(recipe, 1, encoder)
    return train(training.model, training.sampler, recipe, 1, Watcher(), Workers())


@pytest.mark.slow
def test_the_built_in_corpus_is_judged_and_trains_as_its_file_does():
    judged, plain = trained("scenes"), trained(str(scenes.ensure() / "nli" / "train.jsonl"))
    assert judged.last_loss == plain.last_loss
    assert {name: judged.sums[name] for name in plain.sums} == plain.sums
    assert judged.sums.keys() - plain.sums.keys() == COUNTS
    assert judged.sums["judged_anchors"] == judged.sums["anchors"] == 3 * 64
    masked = judged.sums["caught_false_negatives"] + judged.sums["wrongly_masked_negatives"]
    assert masked == judged.sums["filtered_negatives"] == 3 * 64 * 63 - judged.sums["negatives"]
    assert 0 < judged.sums["false_negatives"] < 100
