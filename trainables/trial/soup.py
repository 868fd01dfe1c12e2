"""Scoring of a soup: the average of a recipe's trained models, mixed with the original encoder. Nothing is trained."""

from __future__ import annotations

import tempfile
from pathlib import Path

from trainables.encoders.average import average_models
from trainables.recipe import Recipe, Value
from trainables.senteval import import_late
from trainables.training.distributed import Workers
from trainables.trial.build import base_fingerprint, build_encoder, describe_encoder
from trainables.trial.evaluation import Evaluator
from trainables.trial.measure import TrialClock
from trainables.trial.reporter import Reporter
from trainables.trial.result import TrialResult, Unscored
from trainables.trial.save_and_score import embed_and_score, save_model
from trainables.trial.spec import TrialSpec

UNTRAINED: dict[str, Value] = {"optimisation.epochs": 0, "encoder.adapter": "none"}


def score_soup(
    spec: TrialSpec, *, workers: Workers | None = None, reporter: Reporter | None = None, hand_over: bool = False
) -> TrialResult | Unscored:
    """Average the models of `spec.soup`, embed and score. Raises `UserError` if the models cannot be averaged."""
    import_late()
    assert spec.soup is not None
    clock, workers, reporter = TrialClock(), workers or Workers(), reporter or Reporter()
    start = build_encoder(spec.recipe.preferring(UNTRAINED), spec.seed, None)
    fingerprint = base_fingerprint(start)
    evaluator = Evaluator(spec.evaluation, workers)
    evaluator.before_training(start)
    reporter.begin(1)
    with tempfile.TemporaryDirectory() as scratch:
        untrained, averaged = Path(scratch) / "untrained", Path(scratch) / "averaged"
        start.save(untrained)
        average_models(spec.soup.models, untrained, spec.soup.share, averaged)
        encoder = build_encoder(_from(spec.recipe, averaged), spec.seed, None)
    clock.training_ended()
    return embed_and_score(
        spec,
        encoder,
        evaluator,
        clock,
        training={},
        data={
            "encoder": describe_encoder(spec.recipe, fingerprint, encoder),
            "averaged": {"models": [model.name for model in spec.soup.models], "share": spec.soup.share},
        },
        model=save_model(encoder, spec.model_folder) if workers.rank == 0 else None,
        hand_over=hand_over,
    )


def _from(recipe: Recipe, model: Path) -> Recipe:
    """Return the recipe that loads a saved model and trains nothing. The model already lacks the layers that the recipe
    leaves out. A merged adapter is always in fp32."""
    merged: dict[str, Value] = {"encoder.dtype": "fp32"} if recipe.encoder.adapter == "lora" else {}
    return recipe.preferring({**UNTRAINED, **merged, "encoder.name": str(model), "encoder.layers": None})
