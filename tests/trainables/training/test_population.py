"""A population's members are trained as each would be by itself."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.trials import Leaving
from trainables.corpora.batch import Batch
from trainables.encoders.adapter import AdaptedEncoder
from trainables.encoders.embedding_store import EmbeddingStore
from trainables.encoders.word_vectors import WordVectors
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.training import population_training
from trainables.training.checkpoint import TrainingProgress
from trainables.training.distributed import Workers
from trainables.training.loop import Interrupted, TrainingDivergedError, Watcher, train
from trainables.training.population_training import Member, train_population
from trainables.trial import TrialSpec, population_key
from trainables.trial.build import build_model
from trainables.trial.population import _Watch, run_population
from trainables.trial.run import run_trial

BASE = Recipe().preferring(
    {
        "encoder.name": "scenes-small",
        "encoder.adapter": "mlp",
        "corpus.layout": "pairs",
        "corpus.nli": "scenes",
        "objective.name": "ntxent",
        "objective.temperature": 0.1,
        "optimisation.batch_size": 6,
        "optimisation.epochs": 3,
        "optimisation.optimiser": "sgd",
        "optimisation.learning_rate": 0.2,
        "optimisation.schedule": "cosine",
    }
)
# Everything that members may differ in, heads of uneven sizes among it.
DIFFERENT: tuple[dict[str, Any], ...] = (
    {"head.kind": "linear"},
    {"head.kind": "linear", "objective.temperature": 0.02, "optimisation.weight_decay": 0.1},
    {"head.kind": "linear", "optimisation.momentum": 0.5},
    {"head.kind": "linear", "head.dim": 3, "optimisation.learning_rate": 0.05, "optimisation.schedule": "linear"},
    {"head.kind": "mlp", "head.dim": 9, "optimisation.warmup": 0.5, "optimisation.clip_norm": 0.05},
    {"head.kind": "linear", "optimisation.clip_norm": 0.1},
    {"optimisation.schedule": "constant", "objective.temperature": 1.0},
    {"optimisation.optimiser": "adamw", "optimisation.learning_rate": 0.01, "optimisation.weight_decay": 0.5},
    {"head.kind": "mlp", "optimisation.optimiser": "adamw", "optimisation.learning_rate": 0.003},
)
TEXTS = [f"{a} {b}" for a in ("a", "b", "c", "d") for b in ("p", "q", "r", "s", "t")]
EVALUATION = EvaluationConfig("scenes", ("STSBenchmark",))


class TinySampler:
    """Random pairs over few texts, so that texts repeat within a batch, as premise, as hypothesis and as both."""

    steps_per_epoch = 4

    def __init__(self, seed: int, pairs: int = 6) -> None:
        self.seed, self.pairs = seed, pairs

    def batch(self, step: int) -> Batch:
        draws = np.random.default_rng([self.seed, step])
        first = draws.integers(len(TEXTS), size=self.pairs)
        second = (first + draws.integers(1, 4, size=self.pairs)) % len(TEXTS)
        used, index = np.unique(np.concatenate([first, second]), return_inverse=True)
        group = draws.permutation(self.pairs)
        return Batch(
            sentences=[TEXTS[i] for i in used],
            premise=index[: self.pairs],
            hypothesis=index[self.pairs :],
            label=np.zeros(self.pairs, dtype=np.int8),
            group=group,
        )


def word_vectors(seed: int = 0) -> WordVectors:
    words = [*"abcdpqrst"]
    return WordVectors(words, np.random.default_rng(seed).normal(size=(len(words), 7)).astype(np.float32))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> list[EmbeddingStore]:
    """Two bases, as two poolings would be."""
    folder = tmp_path_factory.mktemp("embeddings")
    return [EmbeddingStore(word_vectors(seed), folder) for seed in (0, 1)]


@pytest.fixture(scope="module")
def single(stores: list[EmbeddingStore]) -> list[Member]:
    """`DIFFERENT`, each trained by itself."""
    members = members_of(DIFFERENT, stores)
    for member in members:
        member.progress = by_itself(member)
    return members


@pytest.fixture(scope="module")
def together(stores: list[EmbeddingStore]) -> list[Member]:
    """`DIFFERENT`, trained together."""
    members = members_of(DIFFERENT, stores)
    train_population(members)
    return members


def members_of(
    changes: Sequence[dict[str, Any]], stores: Sequence[EmbeddingStore], dtype: torch.dtype = torch.float64
) -> list[Member]:
    samplers = [TinySampler(1), TinySampler(2)]
    members = []
    for number, change in enumerate(changes):
        recipe, store = BASE.override(change), stores[number % len(stores)]
        torch.manual_seed(number)
        model = build_model(recipe, AdaptedEncoder(store.encoder, store=store)).to(dtype)
        members.append(Member(model, recipe, samplers[number // 2 % 2]))
    return members


def by_itself(member: Member, resume: Path | None = None) -> TrainingProgress:
    return train(member.model, member.sampler, member.recipe, 0, Watcher(), Workers(), resume)


def assert_same(members: Sequence[Member], alone: Sequence[Member], tolerance: float, weights: float) -> None:
    for own, other in zip(members, alone, strict=True):
        progress = other.progress
        assert own.progress.step == progress.step == 12
        assert own.progress.sums.keys() == progress.sums.keys()
        for name, value in progress.sums.items():
            assert own.progress.sums[name] == pytest.approx(value, rel=tolerance), name
        for mine, theirs in zip(own.model.parameters(), other.model.parameters(), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=weights, atol=weights)


class TestTraining:
    def test_every_member_is_as_if_trained_alone(
        self, stores: list[EmbeddingStore], together: list[Member], single: list[Member]
    ) -> None:
        assert_same(together, single, tolerance=1e-10, weights=1e-9)
        for member, start in zip(together, members_of(DIFFERENT, stores), strict=True):
            for parameter, was in zip(member.model.parameters(), start.model.parameters(), strict=True):
                assert (parameter - was).abs().max() > 1e-4, "or there would have been nothing to compare"

    @pytest.mark.parametrize(
        ("fidelity", "outputs", "dtype", "tolerance"),
        [
            ("released", 768, torch.float64, 1e-10),
            ("paper", 5, torch.float64, 1e-10),
            ("paper", 768, torch.float32, 1e-5),
        ],
    )
    def test_as_released_narrow_and_in_single_precision_too(
        self,
        stores: list[EmbeddingStore],
        single: list[Member],
        monkeypatch: pytest.MonkeyPatch,
        fidelity: str,
        outputs: int,
        dtype: torch.dtype,
        tolerance: float,
    ) -> None:
        """Released, false negatives stay, of which there are some in these batches."""
        monkeypatch.setattr("trainables.encoders.adapter.OUTPUTS", outputs)
        rate = {} if dtype == torch.float64 else {"optimisation.learning_rate": 0.003}
        changes = [{**change, **rate, "objective.fidelity": fidelity} for change in DIFFERENT]
        members, alone = (members_of(changes, stores, dtype) for _ in range(2))
        train_population(members)
        for member in alone:
            member.progress = by_itself(member)
        assert_same(members, alone, tolerance=tolerance, weights=10 * tolerance)
        negatives = [each[0].progress.sums["negatives"] for each in (members, single)]
        assert (negatives[0] != negatives[1]) == (fidelity == "released")

    @pytest.mark.parametrize("name", ["NUMBERS_AT_ONCE", "SCORES_AT_ONCE"])
    def test_however_it_is_cut(
        self, stores: list[EmbeddingStore], single: list[Member], name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(population_training, name, {"cpu": 300})
        members = members_of(DIFFERENT, stores)
        train_population(members)
        assert_same(members, single, tolerance=1e-10, weights=1e-9)

    def test_the_comparison_can_fail(self, stores: list[EmbeddingStore], single: list[Member]) -> None:
        members = members_of([{**DIFFERENT[0], "optimisation.momentum": 0.8999}], stores)
        train_population(members)
        with pytest.raises(AssertionError):
            assert_same(members, single[:1], tolerance=1e-10, weights=1e-9)

    def test_a_member_that_diverges_leaves_the_others_alone(self, stores: list[EmbeddingStore]) -> None:
        changes = [DIFFERENT[0], {"head.kind": "linear", "optimisation.learning_rate": 1e30}, DIFFERENT[1]]
        members, alone = (members_of(changes, stores, torch.float32) for _ in range(2))
        train_population(members)
        assert [member.diverged is not None for member in members] == [False, True, False]
        with pytest.raises(TrainingDivergedError) as error:
            by_itself(alone[1])
        assert members[1].diverged == str(error.value)
        pair = [alone[0], alone[2]]
        train_population(pair)
        for own, other in zip((members[0], members[2]), pair, strict=True):
            assert own.progress.sums == pytest.approx(other.progress.sums)
            assert math.isfinite(own.progress.sums["loss"])

    @pytest.mark.parametrize("step", [1, 4, 12])
    def test_a_resumed_training_is_an_unbroken_one(
        self, stores: list[EmbeddingStore], together: list[Member], folder: Path, step: int
    ) -> None:
        """Wherever it was interrupted; an epoch has 4 steps."""
        broken, resumed = (members_of(DIFFERENT, stores) for _ in range(2))
        with pytest.raises(Interrupted, match=f"after step {step}$"):
            train_population(broken, Interrupting(step, folder))
        watcher = Interrupting(None, folder)
        train_population(resumed, watcher, resume=folder)
        assert watcher.steps == list(range(step + 1, 13))
        for own, other, before in zip(together, resumed, broken, strict=True):
            assert other.progress.seconds > before.progress.seconds > 0
            assert own.progress.sums == other.progress.sums
            assert own.progress.last_loss == other.progress.last_loss
            for mine, theirs in zip(own.model.parameters(), other.model.parameters(), strict=True):
                assert torch.equal(mine, theirs)


class Interrupting:
    """Looks at every step, and ends the training after one."""

    def __init__(self, at: int | None, folder: Path) -> None:
        self.at, self.folder = at, folder
        self.steps: list[int] = []

    def wants_step(self, step: int) -> bool:
        self.steps.append(step)
        return True

    def step(self, step: int, save: Any) -> bool:
        if step == self.at:
            save(self.folder)
        return step != self.at


class TestKey:
    @pytest.mark.parametrize("change", [*DIFFERENT, {"pooling.mode": "mean"}], ids=lambda change: " ".join(change))
    def test_what_may_differ_has_one_key(self, change: dict[str, Any]) -> None:
        assert population_key(BASE.override(change)) == population_key(BASE) is not None

    @pytest.mark.parametrize(
        "change",
        [
            {"encoder.name": "other"},
            {"encoder.layers": 1},
            {"corpus.nli": "other"},
            {"corpus.layout": "similar_pairs"},
            {"optimisation.batch_size": 8},
            {"optimisation.epochs": 4},
            {"optimisation.max_steps": 4},
            {"objective.fidelity": "released"},
            {"optimisation.precision": "bf16"},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_what_must_be_shared_changes_it(self, change: dict[str, Any]) -> None:
        assert population_key(BASE.override(change)) not in (None, population_key(BASE))

    @pytest.mark.parametrize(
        "change",
        [
            {"encoder.adapter": "none"},
            {"objective.name": "mnrl"},
            {"corpus.layout": "groups"},
            {"optimisation.epochs": 0},
            {"objective.bank": 64},
            {"objective.mlm": 0.5},
            {"objective.dims": ("8",)},
            {"objective.temperature": "learned"},
            {"pooling.after": "whiten"},
            {"optimisation.keep": "best"},
            {"optimisation.keep": "average"},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_what_goes_one_by_one_has_none(self, change: dict[str, Any]) -> None:
        assert population_key(BASE.override(change)) is None


@pytest.mark.slow
def test_results_are_those_of_single_trials(tmp_path: Path) -> None:
    few = {
        "corpus.limit": 400,
        "optimisation.batch_size": 32,
        "optimisation.max_steps": 6,
        "optimisation.learning_rate": 0.05,
    }
    changes = [{"pooling.mode": "mean"}, {"pooling.mode": "max", "head.kind": "linear"}, {"pooling.mode": "mean"}]
    recipes = [BASE.override({**few, **change}) for change in changes]
    seeds, folders = [1, 1, 2], [tmp_path / str(number) for number in range(3)]
    specs = [TrialSpec(*trial) for trial in zip(recipes, seeds, [EVALUATION] * 3, folders, strict=True)]
    results = list(run_population(specs, embedding_folder=tmp_path / "embeddings"))
    assert len(list((tmp_path / "embeddings").iterdir())) == 2
    for recipe, seed, result, folder in zip(recipes, seeds, results, folders, strict=True):
        alone = run_trial(recipe, seed, EVALUATION, embedding_folder=tmp_path / "embeddings")
        assert result.training["loss"] == pytest.approx(alone.training["loss"], rel=1e-5)
        for items in ("items.STSBenchmark", "items.dev.STSBenchmark"):
            assert result.predictions.pop(items).item() == alone.predictions.pop(items).item()
        for task, predicted in alone.predictions.items():  # ranks may differ where cosines are all but equal
            np.testing.assert_allclose(result.predictions[task], predicted, atol=1e-5)
        assert result.geometry == pytest.approx(alone.geometry, rel=1e-4)
        assert result.data == alone.data
        assert result.training.keys() - alone.training.keys() == {"population"}
        assert alone.training.keys() <= result.training.keys()
        for name in ("judged_anchors", "false_negatives", "caught_false_negatives", "wrongly_masked_negatives"):
            assert result.training[name] == alone.training[name], name
        assert 0 < alone.training["caught_false_negatives"] < alone.training["false_negatives"]
        assert (folder / "modules.json").is_file()
    assert len({result.training["loss"] for result in results}) == 3


class Listening(Leaving):
    """Remembers what it is told."""

    def __init__(self, after: int | None = None, keep: Path | None = None) -> None:
        super().__init__(after, keep)
        self.reported: dict[int, dict[str, float]] = {}

    def step(self, step: int, scalars: Mapping[str, float]) -> None:
        self.reported[step] = dict(scalars)

    def wants_checkpoint(self) -> bool:
        if self.after is not None:
            time.sleep(0.2)  # so that its steps take longer than all else that a resumed process does
        return super().wants_checkpoint()


@pytest.mark.slow
def test_an_interrupted_population_gives_the_results_of_an_unbroken_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainables.trial.population.POINTS", 3)
    few = {
        "corpus.limit": 400,
        "optimisation.batch_size": 32,
        "optimisation.max_steps": 8,
    }
    recipes, shared = [BASE.override(few), BASE.override({**few, "head.kind": "linear"})], tmp_path / "embeddings"
    specs = [TrialSpec(recipe, seed, EVALUATION) for seed, recipe in enumerate(recipes, 1)]
    unbroken, first, second = Listening(), Listening(5, tmp_path / "kept"), Listening()
    whole = list(run_population(specs, reporter=unbroken, embedding_folder=shared))
    with pytest.raises(Interrupted, match=r"after step 5$"):
        list(run_population(specs, reporter=first, embedding_folder=shared))
    resumed = list(run_population(specs, reporter=second, resume=tmp_path / "kept", embedding_folder=shared))
    assert list(unbroken.reported) == [2, 4, 6, 8]
    assert (list(first.reported), list(second.reported)) == ([2, 4], [6, 8])
    for step, scalars in {**first.reported, **second.reported}.items():
        for name in ("loss/0", "loss/1"):
            assert scalars[name] == unbroken.reported[step][name]
    assert unbroken.reported[8]["steps_per_second"] > 0
    assert unbroken.reported[8]["tokens_per_second"] > 32
    for first_result, other in zip(whole, resumed, strict=True):
        assert first_result is not None
        assert other is not None
        scores, unbroken_scores = (dict(result.scores["STSBenchmark"]) for result in (other, first_result))
        assert scores.pop("seconds") > 0 < unbroken_scores.pop("seconds")
        assert scores == unbroken_scores
        assert other.training["last_loss"] == first_result.training["last_loss"]
        assert other.training["resumed_seconds"] > 0
        assert "streams" not in other.training


def test_the_last_step_is_told_wherever_it_falls(stores: list[EmbeddingStore], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainables.trial.population.POINTS", 2)  # of 12 steps each sixth
    reporter = Listening()
    members = members_of([{**change, "optimisation.max_steps": 11} for change in DIFFERENT[:2]], stores)
    train_population(members, _Watch(members, reporter))
    assert list(reporter.reported) == [5, 10, 11]
    assert reporter.reported[11]["loss/0"] == members[0].progress.last_loss


@pytest.mark.parametrize(
    "changes", [({}, {"optimisation.batch_size": 8}), ({"encoder.adapter": "none"}, {"encoder.adapter": "none"})]
)
def test_recipes_that_cannot_train_together_are_refused(changes: tuple[dict[str, Any], ...]) -> None:
    with pytest.raises(UserError, match="cannot train together"):
        next(run_population([TrialSpec(BASE.override(change), 1, EVALUATION) for change in changes]))
