"""Functions that build the parts of a trial from a recipe."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import torch

from trainables.corpora.batch import Sampler
from trainables.corpora.layouts import Layout, make_sampler, training_sentences
from trainables.corpora.scene_meanings import meanings_of
from trainables.encoders import ENCODERS, load_encoder
from trainables.encoders.adapter import AdaptedEncoder
from trainables.encoders.contract import BaseEncoder, Encoder, TrainableEncoder, as_token_encoder, trainable
from trainables.encoders.embedding_store import EmbeddingStore
from trainables.encoders.lora import LoraEncoder
from trainables.encoders.own_modules import differences_from_original, equals_original_model, kept_model_end
from trainables.encoders.pooling import Pooling
from trainables.encoders.postprocess import Postprocessed
from trainables.encoders.projection import Projection
from trainables.encoders.transformer import TransformerEncoder
from trainables.objectives import chosen_objective, guide_config
from trainables.objectives.contrastive import Contrastive
from trainables.objectives.losses.distill import Distill
from trainables.objectives.widths import Widths
from trainables.recipe import Recipe
from trainables.record_parts import CorpusFiles, TrainedEncoder
from trainables.training.model import StudyModel
from trainables.trial.data_requests import sampler_request

ENOUGH_SENTENCES = 100_000
"""Most training sentences for the mean and the covariance of `pooling.after`."""


@dataclass(frozen=True)
class TrainingParts:
    """The trained model and its training data."""

    model: StudyModel
    sampler: Sampler
    description: CorpusFiles


def build_encoder(recipe: Recipe, seed: int, embedding_folder: Path | None) -> BaseEncoder:
    """Return the encoder at the start of a trial. Its random draws depend on the seed only.

    `embedding_folder`: a folder in which trials share embeddings of frozen encoders.
    """
    base = load_base(recipe, seed)
    if recipe.encoder.adapter == "mlp":
        return AdaptedEncoder(base, embedding_folder)
    if recipe.encoder.adapter == "lora" and recipe.trains:  # untrained, LoRA adds nothing
        assert isinstance(base, TransformerEncoder), "the entry of a kind with lora=True loads one"
        return LoraEncoder(base, recipe.encoder)
    return base


def load_base(recipe: Recipe, seed: int) -> BaseEncoder:
    """Return the encoder without an adapter. Afterwards torch draws the numbers of the seed from the first one on."""
    torch.manual_seed(seed)
    own = ENCODERS[recipe.encoder.kind].options
    encoder = load_encoder(
        recipe.encoder,
        recipe.part(Pooling),
        masked_lm=recipe.objective.mlm > 0 and recipe.trains,
        training_precision=recipe.optimisation.precision,
        evaluation_precision=recipe.encoder.precision,
        options=recipe.part(own) if own else None,
    )
    torch.manual_seed(seed)
    return encoder


def build_training(recipe: Recipe, seed: int, encoder: Encoder, embedding_folder: Path | None = None) -> TrainingParts:
    """Return sampler and model. Raises `UserError` if the encoder cannot be trained.

    `embedding_folder`: see `build_encoder`.
    """
    learner = trainable(encoder)
    sampler, description = build_sampler(recipe, seed, encoder, embedding_folder)
    return TrainingParts(build_model(recipe, learner, embedding_folder), sampler, description)


def build_sampler(
    recipe: Recipe, seed: int, encoder: Encoder, embedding_folder: Path | None = None
) -> tuple[Sampler, CorpusFiles]:
    """Return the sampler of batches and a description of the corpus. `embedding_folder`: see `build_encoder`."""
    layout = recipe.part(Layout)
    request = sampler_request(recipe, seed, as_token_encoder(encoder) if layout.draws_tokens else None)
    if layout.mines:
        with torch.random.fork_rng(devices=[]):  # so that a head is drawn as without mining
            if layout.miner is None:
                miner = load_base(recipe, seed)
            else:
                miner = load_encoder(layout.miner, evaluation_precision=recipe.encoder.precision)
            request = dataclasses.replace(request, embed=EmbeddingStore(miner, embedding_folder).encode)
    sampler, description = make_sampler(layout, request)
    return sampler, cast(CorpusFiles, description)  # a plugin's layout may have more entries


def build_model(recipe: Recipe, encoder: TrainableEncoder, embedding_folder: Path | None = None) -> StudyModel:
    """Return the model to train. Raises `UserError` if the size of embeddings does not fit the objective."""
    objective, guide = chosen_objective(recipe), _guide(recipe, embedding_folder)
    if isinstance(objective, Widths):
        objective.check_dim(encoder.dim)
    if isinstance(objective, Distill) and guide is not None:
        objective.check_teacher(recipe.part(Projection).size(encoder.dim), guide.dim)
    return StudyModel(
        encoder,
        recipe.part(Projection),
        objective,
        mlm=recipe.objective.mlm,
        mean_over_workers=recipe.objective.workers == "mean",
        count_padding=recipe.part(Pooling).counts_padding,
        guide=guide,
        meanings=meanings_of(recipe.flat().get("corpus.nli")) if isinstance(objective, Contrastive) else None,
    )


def _guide(recipe: Recipe, embedding_folder: Path | None) -> EmbeddingStore | None:
    """Return the frozen guide (for false negatives) or teacher (for distillation); None without one. Its embeddings are
    computed once."""
    config = guide_config(recipe)
    if config is None:
        return None
    with torch.random.fork_rng(devices=[]):  # so that a head is drawn as without a guide
        return EmbeddingStore(load_encoder(config, evaluation_precision=recipe.encoder.precision), embedding_folder)


def base_fingerprint(encoder: BaseEncoder) -> str:
    """Return the fingerprint of the encoder without its adapter. Call it before training, which changes the weights.
    The base of an adapter does not change; encoders that share a base share its fingerprint."""
    if isinstance(encoder, LoraEncoder):
        return encoder.base_fingerprint
    return encoder.store.fingerprint if isinstance(encoder, AdaptedEncoder) else encoder.fingerprint()


def describe_encoder(
    recipe: Recipe, fingerprint: str, encoder: Encoder, model: StudyModel | None = None
) -> TrainedEncoder:
    """Describe the encoder for the trial's record. Entry `fresh`: newly initialised parameters, also of `model`."""
    around = [name for name, _ in model.named_parameters() if not name.startswith("encoder.")] if model else []
    fresh = [*getattr(encoder, "fresh", ()), *around]
    omitted, ending = differences_from_original(recipe), kept_model_end(recipe.encoder)
    description: TrainedEncoder = {"name": recipe.encoder.name, "fingerprint": fingerprint, "fresh": fresh}
    if omitted:
        description["left_out"] = ", ".join(omitted)
    if ending:
        description["saved_with"] = ", ".join(ending)
    if equals_original_model(recipe):
        description["whole"] = True
    if reason := getattr(encoder, "unsavable", None):
        description["unsavable"] = reason
    return description


def postprocessed(recipe: Recipe, encoder: Encoder) -> Encoder:
    """Return the encoder with the postprocessing of `pooling.after`, fitted on the training sentences."""
    if recipe.pooling.after == "none":
        return encoder
    sentences = training_sentences(recipe.part(Layout), sampler_request(recipe, seed=0), ENOUGH_SENTENCES)
    return Postprocessed(encoder, sentences, recipe.pooling.after)
