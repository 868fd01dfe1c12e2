"""Embeddings that were trained at several widths are scored at each."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import NO_WEIGHTS
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.senteval import SentEvalResult
from trainables.senteval.evaluation import Embeddings
from trainables.trial import save_and_score
from trainables.trial.check import check_widths


def test_the_record_has_the_scores_of_each_width(monkeypatch: pytest.MonkeyPatch):
    def scored(config: EvaluationConfig, embeddings: Embeddings) -> SentEvalResult:
        return SentEvalResult("fast", {"MR": {"test_accuracy": float(embeddings.vectors.sum())}}, {}, {}, 0.0, 0.0)

    monkeypatch.setattr(save_and_score, "score_senteval", scored)
    embeddings = Embeddings(np.arange(6, dtype=np.float32).reshape(2, 3), "digits", 0.0)
    pairs = Recipe().override({"objective.name": "mnrl", "corpus.layout": "pairs"})
    cut, untrained = (pairs.preferring(more) for more in ({"objective.dims": ("2", "1")}, {"optimisation.epochs": 0}))
    widths = {"widths": {"2": {"MR": {"test_accuracy": 8.0}}, "1": {"MR": {"test_accuracy": 3.0}}}}
    for recipe, record in ((cut, widths), (pairs, {}), (untrained, {})):
        assert save_and_score.scores_at_widths(recipe, EvaluationConfig(), embeddings) == record


@pytest.mark.parametrize("encoder", ["scenes-small", "folder"])
def test_widths_that_are_none_are_refused_before_anything_is_loaded(encoder: str, tmp_path: Path) -> None:
    """What `--dry-run` checks; of a folder its config.json tells."""
    config = {"model_type": "bert", "hidden_size": 128}
    for name in ("config.json", "tokenizer_config.json"):
        (tmp_path / name).write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(NO_WEIGHTS)
    name = encoder if encoder == "scenes-small" else str(tmp_path)
    recipe = Recipe().preferring({"encoder.name": name, "objective.name": "mnrl", "corpus.nli": "scenes"})
    for dims, fits in ((("128", "64"), False), (("127", "64"), True)):
        checked = recipe.override({"corpus.layout": "pairs", "objective.dims": dims})
        with nullcontext() if fits else pytest.raises(UserError, match=r"must be below the 128 numbers of the encoder"):
            check_widths(checked)
