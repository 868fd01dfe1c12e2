"""Embeddings that were trained at several widths are scored at each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.senteval import Evaluation
from trainables.senteval.evaluation import Embeddings
from trainables.trial import save_and_score


def test_the_record_has_the_scores_of_each_width(monkeypatch: pytest.MonkeyPatch):
    def scored(config: EvaluationConfig, embeddings: Embeddings) -> Evaluation:
        return Evaluation("fast", {"MR": {"test_accuracy": float(embeddings.vectors.sum())}}, {}, {}, 0.0, 0.0)

    monkeypatch.setattr(save_and_score, "score_senteval", scored)
    embeddings = Embeddings(np.arange(6, dtype=np.float32).reshape(2, 3), "digits", 0.0)
    pairs = Recipe().override({"objective.name": "mnrl", "corpus.layout": "pairs"})
    found: Any = save_and_score.scores_at_widths(
        pairs.override({"objective.dims": ("2", "1")}), EvaluationConfig(), embeddings
    )
    assert found == {"widths": {"2": {"MR": {"test_accuracy": 8.0}}, "1": {"MR": {"test_accuracy": 3.0}}}}
    assert save_and_score.scores_at_widths(pairs, EvaluationConfig(), embeddings) == {}
    assert (
        save_and_score.scores_at_widths(Recipe().override({"optimisation.epochs": 0}), EvaluationConfig(), embeddings)
        == {}
    )
