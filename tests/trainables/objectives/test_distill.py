"""Distillation: each loss against loops, what of a batch counts, the teacher asked once, and known by what it holds."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.naive_distill import DISTILL_ORACLES, SCORED_DISTILL_ORACLES
from tests.objective_batches import (
    build,
    check_equal,
    check_finite,
    check_shares,
    embedded,
    gradients,
    grouped,
    options,
)
from trainables.encoders import load_encoder
from trainables.encoders.embedding_store import EmbeddingStore
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.objectives.objective import EmbeddedBatch
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe
from trainables.trial import check_recipes
from trainables.trial.build import build_encoder, build_training
from trainables.trial.run import run_trial


def config_of(matches: str, taught: bool = False) -> Any:
    """taught: the teacher's scores stand in the data."""
    tau = {"temperature": 0.3} if matches == "similarities" else {}
    return options("distill", matches=matches, **tau, **({} if taught else {"teacher": SCENES_ENCODER}))


def batch_of(matches: str, seed: int = 1, taught: bool = False) -> EmbeddedBatch:
    batch = grouped(seed)
    assert batch.guide is not None
    if not taught:
        return replace(batch, guide=batch.guide[:, :-1]) if matches == "embeddings" else batch
    score = torch.randn(len(batch.label), generator=torch.Generator().manual_seed(seed))
    score[seed % 3 :: 4] = torch.nan
    return replace(batch, score=score, guide=None)


EACH = [*((matches, False) for matches in DISTILL_ORACLES), *((matches, True) for matches in SCORED_DISTILL_ORACLES)]


@pytest.mark.parametrize(("matches", "taught"), EACH)
class TestEachLoss:
    def test_against_loops(self, matches: str, taught: bool):
        config = config_of(matches, taught)
        objective = build(config)
        oracles = SCORED_DISTILL_ORACLES if taught else DISTILL_ORACLES
        for seed in range(4):
            batch = batch_of(matches, seed, taught)
            ours, theirs = objective(batch).value, oracles[matches](batch, config)
            check_equal(ours, theirs, batch, objective)
            assert ours.item() > 1e-3

    def test_a_learner_that_is_the_teacher_has_nothing_to_learn(self, matches: str, taught: bool):
        batch, objective = batch_of(matches, 1, taught), build(config_of(matches, taught))
        guide = grouped(1).guide if batch.guide is None else batch.guide
        assert guide is not None
        cosines = torch.nn.functional.cosine_similarity(guide[batch.premise], guide[batch.hypothesis], dim=1)
        same = replace(batch, projected=guide.clone().requires_grad_(), score=cosines + 0.7 if taught else None)
        value = objective(same).value
        assert abs(value.item()) < 1e-12
        assert all(float(gradient.abs().max()) < 1e-12 for gradient in gradients(value, same, objective))


@pytest.mark.parametrize("dims", [(), ("3",)])
def test_beside_a_teacher_of_unit_length_only_directions_count(dims: tuple[str, ...]):
    """A model that ends in Normalize would else shrink a learner of another length for as long as it trains. Lengths
    are rounded, and an empty text has none."""
    batch = batch_of("embeddings")
    lengths = torch.tensor([0.0, 1.005, 1.0])[torch.arange(len(batch.guide)) % 3].unsqueeze(1)
    guide = torch.nn.functional.normalize(batch.guide, dim=1) * lengths
    batch = replace(batch, guide=guide.double())
    objective = build(options("distill", matches="embeddings", teacher=SCENES_ENCODER, dims=dims))
    value = objective(batch).value
    longer = objective(replace(batch, projected=5 * batch.projected)).value
    torch.testing.assert_close(longer, value)
    for workers in (2, 3):
        check_shares(batch, objective, workers)
    if not dims:
        check_equal(value, DISTILL_ORACLES["embeddings"](batch, config_of("embeddings")), batch, objective)
    far = replace(batch, guide=1.02 * guide.double())  # a control
    longer = objective(replace(far, projected=5 * far.projected)).value
    assert longer > 2 * objective(far).value


class TestEdges:
    @pytest.mark.parametrize("taught", [False, True])
    @pytest.mark.parametrize("matches", ["similarities", "margins"])
    def test_finite_where_there_is_nothing_to_compare(self, matches: str, taught: bool):
        """One pair whose second text is the first one's own; then an anchor without a hard negative; of a teacher in
        the data, nothing is known of it."""
        for text, rows in (([7, 7], [(0, 0, 1, 0)]), ([1, 2], [(0, 0, 1, 0)])):
            batch = replace(embedded(text, rows), score=torch.full((1,), torch.nan) if taught else None)
            assert check_finite(batch, build(config_of(matches, taught))) == 0

    def test_finite_at_a_low_temperature(self):
        check_finite(grouped(1), build(options("distill", temperature=0.005, teacher=SCENES_ENCODER)))

    def test_labels_count_for_margins_alone(self):
        batch = grouped(1)
        other = replace(batch, label=torch.full_like(batch.label, 1))
        for matches, alike in (("similarities", True), ("margins", False)):
            objective = build(config_of(matches))
            assert torch.equal(objective(batch).value, objective(other).value) is alike


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built-in encoder."""
    folder = tmp_path_factory.mktemp("school") / "teacher"
    load_encoder(EncoderConfig(name=SCENES_ENCODER)).save(folder)
    return folder


@pytest.fixture
def recipe(small_corpus: Path, teacher: Path) -> Recipe:
    """A small static learner."""
    return Recipe().preferring(
        {
            "encoder.kind": "static",
            "encoder.name": SCENES_ENCODER,
            "corpus.nli": str(small_corpus / "nli" / "train.jsonl"),
            "corpus.limit": 160,
            "corpus.layout": "pairs",
            "objective.name": "distill",
            "objective.teacher": str(teacher),
            "objective.temperature": 0.05,
            "optimisation.learning_rate": 1e-2,
            "optimisation.batch_size": 16,
            "optimisation.epochs": 2,
        }
    )


class TestTeacher:
    @pytest.mark.slow
    def test_a_trial_asks_it_once_and_the_next_one_not_at_all(
        self, recipe: Recipe, small_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        evaluation = EvaluationConfig(str(small_corpus / "senteval"), ("STSBenchmark",), "fast")
        check_recipes([recipe], evaluation)
        written: list[int] = []
        write = EmbeddingStore._write

        def counted(store: EmbeddingStore, sentences: list[str], digests: np.ndarray) -> None:
            written.append(len({*sentences}))
            write(store, sentences, digests)

        monkeypatch.setattr(EmbeddingStore, "_write", counted)
        first, again = (run_trial(recipe, 1, evaluation, embedding_folder=tmp_path / "kept") for _ in "ab")
        assert len(written) == 1, "all sentences of both epochs at once, and none for the second trial"
        assert written[0] > 16
        steps, losses = first.training["steps"], (first.training["last_loss"], again.training["last_loss"])
        assert steps > 4
        assert losses[0] == losses[1]
        assert first.scores["STSBenchmark"] | {"seconds": 0} == again.scores["STSBenchmark"] | {"seconds": 0}

    def test_its_weights_are_part_of_the_recipe_and_its_place_is_not(
        self, recipe: Recipe, teacher: Path, tmp_path: Path
    ):
        shutil.copytree(teacher, tmp_path / "moved")
        moved = recipe.override({"objective.teacher": str(tmp_path / "moved")})
        assert moved.hash == recipe.hash
        encoder = load_encoder(EncoderConfig(name=SCENES_ENCODER))
        encoder.backbone.embeddings.word_embeddings.weight.data[5] += 1  # type: ignore[attr-defined]
        encoder.save(tmp_path / "other")
        assert recipe.override({"objective.teacher": str(tmp_path / "other")}).hash != recipe.hash

    def test_one_that_is_not_there_is_refused_at_once(self, recipe: Recipe):
        with pytest.raises(UserError, match="no encoder at '/nowhere'; name a model folder"):
            check_recipes([recipe.override({"objective.teacher": "/nowhere"})], EvaluationConfig())

    def test_embeddings_of_another_size_are_refused_with_the_head_that_fits(self, recipe: Recipe):
        drawn = recipe.preferring({"encoder.start": "random", "encoder.dim": 32, "objective.matches": "embeddings"})
        with pytest.raises(UserError, match="compares 32 numbers with the 128 of "):
            build_training(drawn, 1, build_encoder(drawn, 1, None))
        fitting = drawn.override({"head.kind": "linear", "head.dim": 128})
        assert build_training(fitting, 1, build_encoder(fitting, 1, None)).model.guide is not None
