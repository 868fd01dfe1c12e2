"""The contract of encoders over every kind, pooling and adapter; and kinds, poolings, projections from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.conftest import SENTENCES
from tests.contributing import PLUGINS
from trainables import plugins
from trainables.encoders import ENCODERS, check_encoder, check_trainable, finished_kind, load_encoder, trainable
from trainables.encoders.adapter import AdaptedEncoder
from trainables.encoders.contract import BaseEncoder, TokenEncoder, TrainableEncoder, as_token_encoder
from trainables.encoders.kinds import StaticStart
from trainables.encoders.lora import LoraEncoder
from trainables.encoders.pooling import POOLINGS, Mean, Pooling
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe
from trainables.registry import Registry
from trainables.testing.encoders import EncoderContract, TrainableEncoderContract
from trainables.trial.build import describe_encoder

WORDS = sorted({word for sentence in EncoderContract.sentences for word in sentence.split()})


@pytest.fixture(scope="module")
def word_vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a vector for every word of the contract's sentences."""
    draw = np.random.default_rng(0).normal(size=(len(WORDS), 6))
    lines = [" ".join([word, *map(str, row)]) for word, row in zip(WORDS, draw, strict=True)]
    path = tmp_path_factory.mktemp("vectors") / "vectors.txt"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, make_encoder: Any) -> Path:
    """The built-in encoder as a folder of sentence-transformers."""
    path = tmp_path_factory.mktemp("finished") / "model"
    make_encoder("mean_without_cls").save(path)
    return path


# A test of the contract leaves an encoder as it was, but for its mode, so that each is made once.


class TestTransformer(TrainableEncoderContract):
    protocol = TokenEncoder

    @pytest.fixture(scope="class", params=list(POOLINGS))
    @classmethod
    def encoder(cls, request: pytest.FixtureRequest) -> BaseEncoder:
        return load_encoder(EncoderConfig(name=SCENES_ENCODER), POOLINGS[request.param](), device="cpu")


class TestStatic(TrainableEncoderContract):
    @pytest.fixture(scope="class", params=["weights", "random"])
    @classmethod
    def encoder(cls, request: pytest.FixtureRequest) -> BaseEncoder:
        config = EncoderConfig("static", SCENES_ENCODER)
        return load_encoder(config, device="cpu", options=StaticStart(request.param))


class TestWordVectors(EncoderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def encoder(cls, word_vectors: Path) -> BaseEncoder:
        return load_encoder(EncoderConfig("word_vectors", str(word_vectors)), device="cpu")


class TestTfIdf(EncoderContract):
    @pytest.fixture(scope="class", params=["label", "positive"])
    @classmethod
    def encoder(cls, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> BaseEncoder:
        file = tmp_path_factory.mktemp("letters") / "train.jsonl"
        file.write_text("".join(json.dumps({"sentence": text, request.param: "x"}) + "\n" for text in SENTENCES))
        return load_encoder(EncoderConfig("tf_idf", str(file)), device="cpu")


class TestPipeline(EncoderContract):
    @pytest.fixture(scope="class")
    @classmethod
    def encoder(cls, finished: Path) -> BaseEncoder:
        return load_encoder(EncoderConfig("pipeline", str(finished)), device="cpu")


class TestAdapter(TrainableEncoderContract):
    @pytest.fixture(scope="class", params=["transformer", "static", "pipeline", "word_vectors"])
    @classmethod
    def encoder(
        cls,
        request: pytest.FixtureRequest,
        finished: Path,
        word_vectors: Path,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> AdaptedEncoder:
        name = {"word_vectors": str(word_vectors), "pipeline": str(finished)}.get(request.param, SCENES_ENCODER)
        base = load_encoder(EncoderConfig(request.param, name), Mean(), device="cpu")
        torch.manual_seed(0)
        return AdaptedEncoder(base, tmp_path_factory.mktemp("embeddings"))


class TestLora(TrainableEncoderContract):
    protocol = TokenEncoder

    @pytest.fixture(scope="class")
    @classmethod
    def encoder(cls, make_encoder: Any) -> LoraEncoder:
        torch.manual_seed(0)
        encoder = LoraEncoder(make_encoder("mean"), EncoderConfig(name=SCENES_ENCODER, adapter="lora"))
        for parameter in encoder.parameters():
            torch.nn.init.normal_(parameter, std=0.05)
        return encoder


def test_every_kind_is_held_to_the_contract():
    """An entry without a class above is added untested."""
    assert list(ENCODERS) == ["transformer", "static", "word_vectors", "tf_idf", "pipeline"]


def test_what_cannot_be_trained_is_refused(word_vectors: Path, tmp_path: Path):
    vectors = load_encoder(EncoderConfig("word_vectors", str(word_vectors)), device="cpu")
    with pytest.raises(UserError, match="class WordVectors can only be evaluated; train an adapter on it"):
        trainable(vectors)
    adapted = AdaptedEncoder(vectors, tmp_path / "embeddings")
    assert trainable(adapted) is adapted
    with pytest.raises(UserError, match="class AdaptedEncoder has no tokens of its own"):
        as_token_encoder(adapted)


def test_the_kind_of_a_finished_model(make_encoder: Any, finished: Path, word_vectors: Path, tmp_path: Path):
    make_encoder("mean").backbone.save_pretrained(tmp_path / "plain")
    assert finished_kind(str(word_vectors)) == "word_vectors"
    assert finished_kind(str(finished)) == "pipeline"
    assert finished_kind(str(tmp_path / "plain")) is None
    assert finished_kind(SCENES_ENCODER) is None


@pytest.fixture
def letters(plugin: Callable[[str], None]) -> Iterator[None]:
    """A kind of encoder from outside the repository (its contract: test_contributing.py), with a check of its own."""
    plugin("my_encoder.py")

    def missing(config: EncoderConfig) -> tuple[str, str] | None:
        return None if config.name == "latin" else (f"no alphabet {config.name!r}", "name 'latin'")

    ENCODERS.add(replace(ENCODERS["trigrams"], name="letters", missing=missing))
    yield
    ENCODERS.remove("letters")


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Runs one of docs/plugins; its entries are removed after the test."""
    monkeypatch.setattr(plugins, "_loaded_files", {})
    before = len(Registry.added)

    def run(name: str) -> None:
        (tmp_path / name).write_text(PLUGINS[name])
        plugins.load_plugin(tmp_path / name)

    yield run
    for registry, entry in Registry.added[before:]:
        if registry.holds(entry):
            registry.remove(entry.name)


@pytest.mark.usefixtures("letters")
class TestAStrangersKind:
    @pytest.fixture
    def encoder(self, letters: None) -> TrainableEncoder:
        return trainable(load_encoder(EncoderConfig("letters", "latin")))

    def test_it_is_checked(self):
        check_encoder(EncoderConfig("letters", "latin"))
        with pytest.raises(UserError, match="no alphabet 'greek'; name 'latin'"):
            check_encoder(EncoderConfig("letters", "greek"))
        with pytest.raises(UserError, match=r"encoder\.layers changes nothing where encoder\.kind is letters"):
            Recipe().override({"encoder.kind": "letters", "encoder.layers": 1})
        check_trainable(Recipe().preferring({"encoder.kind": "letters"}))
        for further in ({"objective.mlm": 0.1}, {"corpus.layout": "spans"}):
            with pytest.raises(UserError, match="needs the token ids of a transformer"):
                check_trainable(Recipe().preferring({"encoder.kind": "letters", **further}))

    def test_an_adapter_fits_on_it(self, encoder: TrainableEncoder, tmp_path: Path):
        adapted = AdaptedEncoder(encoder, tmp_path / "embeddings")
        assert adapted.encode(SENTENCES).shape == (len(SENTENCES), 64)
        assert adapted.unsavable == "sentence-transformers has no module for trigrams of letters"

    def test_it_is_trained_and_evaluated(self, small_corpus: Path, tmp_path: Path):
        from trainables.trial import check_recipes
        from trainables.trial.run import run_trial

        recipe = Recipe().preferring(
            {
                "encoder.kind": "letters",
                "encoder.name": "latin",
                "corpus.nli": str(small_corpus / "nli" / "train.jsonl"),
                "corpus.limit": 160,
                "optimisation.batch_size": 16,
                "optimisation.learning_rate": 1e-2,
            }
        )
        evaluation = EvaluationConfig(str(small_corpus / "senteval"), ("STSBenchmark",), "fast")
        untrained = recipe.override({"optimisation.epochs": 0})
        check_recipes([recipe, untrained], evaluation)
        result = run_trial(recipe, 1, evaluation, model_folder=tmp_path / "model")
        assert result.training["steps"] == 10
        assert result.scores["STSBenchmark"] != run_trial(untrained, 1, evaluation).scores["STSBenchmark"]
        assert not (tmp_path / "model").exists()


def test_a_strangers_pooling_counts_and_is_not_saved_as_another(plugin: Callable[[str], None], tmp_path: Path):
    plugin("my_pooling.py")
    chosen = {"pooling.mode": "power_mean", "encoder.name": SCENES_ENCODER}
    recipe = Recipe().override({**chosen, "pooling.power": 2.0})
    check_trainable(recipe)
    encoder = as_token_encoder(load_encoder(recipe.encoder, recipe.part(Pooling), device="cpu"))
    first = load_encoder(recipe.encoder, Recipe().override(chosen).part(Pooling), device="cpu")
    assert first.fingerprint() != encoder.fingerprint()
    encoder.train(False)
    embedded = encoder.embed(encoder.tokenize(SENTENCES)).detach().numpy()
    np.testing.assert_array_equal(encoder.encode(SENTENCES), embedded)
    assert encoder.unsavable == "the pooling 'power_mean' cannot be written as modules of sentence-transformers"
    assert describe_encoder(Recipe(), "", encoder)["unsavable"] == encoder.unsavable
    with pytest.raises(UserError, match="the model cannot be saved: the pooling 'power_mean'"):
        encoder.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    assert AdaptedEncoder(encoder, tmp_path / "embeddings").unsavable == encoder.unsavable


def test_checks_and_registries_load_nothing_heavy():
    code = (
        "import sys; from trainables.encoders import check_encoder, check_trainable; "
        "from trainables.encoders.model_card import model_card; from trainables.recipe import *; "
        "check_encoder(Recipe().preferring({'encoder.name': SCENES_ENCODER}).encoder); check_trainable(Recipe()); "
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'pandas', 'huggingface_hub'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert answer.stdout == "[]\n", answer.stderr
