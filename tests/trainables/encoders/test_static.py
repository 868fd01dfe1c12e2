"""Static encoders: against sentence-transformers and a plain loop, from every start, trained, broken off, refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.conftest import SENTENCES
from tests.gloo_worker import run
from tests.peers import Both, Case
from trainables.encoders import check_encoder, check_trainable, load_encoder
from trainables.encoders.builtin import build
from trainables.encoders.kinds import StaticStart
from trainables.encoders.own_modules import differences_from_original
from trainables.encoders.static import StaticEncoder
from trainables.encoders.static_files import static_files
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe
from trainables.training.distributed import Workers
from trainables.training.model import TokenizedBatch
from trainables.trial import check_recipes
from trainables.trial.build import build_model
from trainables.trial.run import run_trial

WORDS = sorted({word for sentence in SENTENCES for word in sentence.split()})
CLOSE = {"rtol": 1e-5, "atol": 1e-6}
STATIC = {"encoder.kind": "static", "encoder.name": SCENES_ENCODER}


def tokenizer() -> Tokenizer:
    made = Tokenizer(models.WordLevel({word: n for n, word in enumerate(["[UNK]", *WORDS])}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    return made


def vectors(dim: int = 6, seed: int = 0) -> torch.Tensor:
    return torch.randn(len(WORDS) + 1, dim, generator=torch.Generator().manual_seed(seed))


def drawn_sentences(seed: int, most: int = 9) -> list[str]:
    """Known and unknown words, some twice; the last sentence has none."""
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice([*WORDS, "zebra"], size=n)) for n in draw.integers(1, most, size=12)] + [""]


def static(name: str | Path, **more: Any) -> StaticEncoder:
    encoder = load_encoder(EncoderConfig("static", str(name), **more), device="cpu")
    assert isinstance(encoder, StaticEncoder)
    return encoder


def beside_the_peer(seed: int) -> Both:
    """A random weighing of the embeddings, and its gradient."""
    ours, theirs = StaticEncoder(tokenizer(), vectors(seed=seed), 128), StaticEmbedding(tokenizer(), vectors(seed=seed))
    sentences = drawn_sentences(seed)
    weights = torch.randn(len(sentences), 6, generator=torch.Generator().manual_seed(seed))
    mine, peer = ours.embed(ours.tokenize(sentences)), theirs(theirs.preprocess(sentences))["sentence_embedding"]
    for embeddings in (mine, peer):
        (embeddings * weights).sum().backward()
    return Both((mine.detach(), peer.detach()), ([grown(ours.vectors)], [grown(theirs.embedding.weight)]))


def step_beside_the_peer(seed: int) -> Both:
    """Multiple negatives ranking over whole sentences, from text to the gradient of each token's vector."""
    anchors, positives = drawn_sentences(2 * seed + 1)[:6], drawn_sentences(2 * seed + 2)[:6]
    ours = StaticEncoder(tokenizer(), vectors(seed=seed), 128)
    recipe = Recipe().preferring({"objective.name": "mnrl", "corpus.layout": "pairs", "objective.temperature": 0.05})
    model = build_model(recipe, ours)
    count = torch.arange(6)
    batch = TokenizedBatch(
        tokens=ours.tokenize([*anchors, *positives]),
        text=torch.arange(12),
        premise=count,
        hypothesis=count + 6,
        label=torch.zeros(6, dtype=torch.long),
        group=count,
    )
    value = model.loss(batch, Workers(), torch.Generator()).value
    value.backward()
    peer = SentenceTransformer(modules=[StaticEmbedding(tokenizer(), vectors(seed=seed))], device="cpu")
    features = [peer.preprocess(texts) for texts in (anchors, positives)]
    theirs = losses.MultipleNegativesRankingLoss(peer, scale=20.0)(features, None)
    theirs.backward()
    return Both((value.detach(), theirs.detach()), ([grown(ours.vectors)], [grown(peer[0].embedding.weight)]))


def grown(parameter: torch.Tensor) -> torch.Tensor:
    assert parameter.grad is not None
    return parameter.grad


CASES = [
    Case("encoder.kind=static", "StaticEmbedding", beside_the_peer),
    Case(
        "encoder.kind=static, a step of mnrl", "MultipleNegativesRankingLoss over StaticEmbedding", step_beside_the_peer
    ),
]
"""For `tests.peers_page`."""


class TestEquality:
    def test_values_and_gradients_are_the_peers(self):
        for seed in range(2):
            beside_the_peer(seed).check()
            step_beside_the_peer(seed).check()

    def test_values_and_gradients_are_a_plain_loops(self):
        table, sentences = vectors().double(), drawn_sentences(7)
        index = {word: n for n, word in enumerate(["[UNK]", *WORDS])}
        weights = np.random.default_rng(7).normal(size=(len(sentences), 6))
        means, gradient = np.zeros((len(sentences), 6)), np.zeros(table.shape)
        for number, sentence in enumerate(sentences):
            rows = [index.get(word, 0) for word in sentence.split()]
            for row in rows:
                means[number] += table[row].numpy() / len(rows)
                gradient[row] += weights[number] / len(rows)
        encoder = StaticEncoder(tokenizer(), vectors(), 128).double()
        embedded = encoder.embed(encoder.tokenize(sentences))
        (embedded * torch.from_numpy(weights)).sum().backward()
        np.testing.assert_allclose(embedded.detach().numpy(), means, atol=1e-12)
        assert encoder.vectors.grad is not None
        np.testing.assert_allclose(encoder.vectors.grad.numpy(), gradient, atol=1e-12)

    def test_a_long_sentence_is_cut_there_too(self, tmp_path: Path):
        encoder = StaticEncoder(tokenizer(), vectors(), 4)
        long = " ".join(WORDS)
        assert encoder.tokenize([long]) == [[1, 2, 3, 4]]
        encoder.save(tmp_path / "saved")
        saved = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
        np.testing.assert_allclose(saved.encode([long]), encoder.encode([long]), **CLOSE)
        assert static(tmp_path / "saved").tokenize([long]) == [[1, 2, 3, 4]], "not longer than it was trained"


class TestStarts:
    def test_the_word_embeddings_of_a_transformer(self, make_encoder: Any, tmp_path: Path):
        backbone, known = build()
        backbone.save_pretrained(tmp_path)
        known.save_pretrained(tmp_path)
        ids = known(SENTENCES[0], add_special_tokens=False)["input_ids"]
        expected = backbone.get_input_embeddings().weight[ids].mean(dim=0).detach().numpy()
        for name in (SCENES_ENCODER, tmp_path):
            np.testing.assert_allclose(static(name).encode(SENTENCES[:1])[0], expected, **CLOSE)

    @pytest.mark.parametrize("more", [(), ("mapping",), ("weights",), ("mapping", "weights")])
    def test_a_model_of_model2vec(self, more: tuple[str, ...], tmp_path: Path):
        rows = torch.arange(len(WORDS) + 1) // 2 if "mapping" in more else torch.arange(len(WORDS) + 1)
        tensors = {
            "embeddings": vectors()[: int(rows.max()) + 1].half(),
            "mapping": rows,
            "weights": torch.rand(len(rows)),
        }
        save_file({name: tensors[name] for name in ("embeddings", *more)}, tmp_path / "model.safetensors")
        tokenizer().save(str(tmp_path / "tokenizer.json"))
        module = {"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}
        (tmp_path / "modules.json").write_text(json.dumps([module]))
        expected = SentenceTransformer(str(tmp_path), device="cpu").float().encode(SENTENCES)
        for name in (tmp_path, tmp_path / "model.safetensors"):
            np.testing.assert_allclose(static(name).encode(SENTENCES), expected, atol=1e-3 if more else 1e-6)

    def test_wordllama_by_path_and_installed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        assert static_files("wordllama") is not None
        for part in ("weights", "tokenizers"):
            (tmp_path / "wordllama" / part).mkdir(parents=True)
        (tmp_path / "wordllama" / "__init__.py").write_text("raise ImportError('it is only looked for')")
        file = tmp_path / "wordllama" / "weights" / "l2_supercat_6.safetensors"
        save_file({"embedding.weight": vectors().half()}, file)
        tokenizer().save(str(tmp_path / "wordllama" / "tokenizers" / "l2_supercat_tokenizer_config.json"))
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        expected = StaticEncoder(tokenizer(), vectors().half(), 128)
        for name in ("wordllama", file):
            check_encoder(EncoderConfig("static", str(name)))
            np.testing.assert_array_equal(static(name).encode(SENTENCES), expected.encode(SENTENCES))

    def test_drawn_with_the_seed_whatever_was_loaded_before(self, nothing_kept: None):
        def drawn(seed: int) -> StaticEncoder:
            torch.manual_seed(seed)
            encoder = load_encoder(
                EncoderConfig("static", SCENES_ENCODER), device="cpu", options=StaticStart("random", 8)
            )
            assert isinstance(encoder, StaticEncoder)
            return encoder

        first, again, other = drawn(1), drawn(1), drawn(2)
        assert (first.dim, first.fresh) == (8, ("vectors",))
        torch.testing.assert_close(first.vectors, again.vectors, rtol=0, atol=0)
        assert not torch.allclose(first.vectors, other.vectors, atol=0.1)
        assert first.vectors.detach().std().item() == pytest.approx(1, abs=0.05)
        assert static(SCENES_ENCODER).fresh == ()

    def test_a_saved_one_goes_on_and_what_came_after_it_is_named(self, tmp_path: Path):
        encoder = StaticEncoder(tokenizer(), vectors(), 128)
        encoder.save(tmp_path / "saved")
        assert static(tmp_path / "saved").fingerprint() == encoder.fingerprint()
        recipe = Recipe().preferring({"encoder.kind": "static", "encoder.name": str(tmp_path / "saved")})
        assert differences_from_original(recipe) == []
        module = StaticEmbedding(tokenizer(), vectors())
        SentenceTransformer(modules=[module, Normalize()], device="cpu").save(str(tmp_path / "normed"))
        normed = recipe.override({"encoder.name": str(tmp_path / "normed")})
        assert differences_from_original(normed) == ["1_Normalize", "its longest input (any length)"]
        assert differences_from_original(normed.override({"encoder.max_length": None})) == ["1_Normalize"]
        assert static(tmp_path / "normed", max_length=None).max_length is None
        started = static(tmp_path / "normed")
        np.testing.assert_array_equal(started.encode(SENTENCES), encoder.encode(SENTENCES))
        started.save(tmp_path / "again")
        again = SentenceTransformer(str(tmp_path / "again"), device="cpu")
        assert [type(module).__name__ for module in again] == ["StaticEmbedding", "Normalize"]
        lengths = np.linalg.norm(encoder.encode(SENTENCES), axis=1, keepdims=True)
        np.testing.assert_allclose(again.encode(SENTENCES) * lengths, encoder.encode(SENTENCES), atol=1e-6)


class TestRefusals:
    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            ({"encoder.adapter": "lora"}, "encoder.kind 'static' has none; set encoder.adapter to 'none' or 'mlp'"),
            ({"objective.mlm": 0.1}, "needs the token ids of a transformer, which encoder.kind 'static' does not give"),
            ({"corpus.layout": "spans"}, "needs the token ids of a transformer"),
            ({"pooling.mode": "cls"}, "pooling.mode changes nothing where encoder.kind is static; leave it out"),
            ({"pooling.padding": "count"}, "pooling.padding changes nothing where encoder.kind is static"),
            ({"encoder.layers": 1}, "encoder.layers changes nothing where encoder.kind is static"),
            ({"encoder.query_prompt": "q"}, "encoder.query_prompt changes nothing where encoder.kind is static"),
            ({"encoder.document_prompt": "d"}, "encoder.document_prompt changes nothing where encoder.kind is static"),
            ({"encoder.dtype": "bf16"}, "encoder.dtype changes nothing where encoder.kind is static"),
            ({"encoder.dim": 8}, "encoder.dim changes nothing where encoder.start is weights"),
        ],
    )
    def test_what_it_cannot_do(self, change: dict[str, Any], sentence: str):
        with pytest.raises(UserError) as caught:
            check_trainable(Recipe().preferring(STATIC).override(change))
        assert sentence in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("wordllama", "the package wordllama is not installed; install it"),
            ("/nowhere.safetensors", "no token vectors at '/nowhere.safetensors'; name a .safetensors file"),
            ("/nowhere", "no encoder at '/nowhere'; name a model folder"),
            ("alone.safetensors", "no tokenizer beside 'alone.safetensors'; put its tokenizer.json there"),
        ],
    )
    def test_what_is_not_there(self, name: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        save_file({"embeddings": vectors()}, "alone.safetensors")
        with pytest.raises(UserError) as caught:
            check_encoder(EncoderConfig("static", name))
        assert str(caught.value).startswith(sentence)

    @pytest.mark.parametrize(
        ("tensors", "sentence"),
        [
            ({"other": vectors()}, "model.safetensors holds neither embedding.weight nor embeddings"),
            ({"embeddings": vectors()[:5]}, f"its tokenizer knows {len(WORDS) + 1} tokens, and 5 have a vector"),
            ({"embeddings": vectors() / 0}, "its token vectors are no matrix of finite numbers"),
            ({"embeddings": vectors()[0]}, "its token vectors are no matrix of finite numbers"),
        ],
    )
    def test_what_does_not_go_together(self, tensors: dict[str, torch.Tensor], sentence: str, tmp_path: Path):
        save_file(tensors, tmp_path / "model.safetensors")
        tokenizer().save(str(tmp_path / "tokenizer.json"))
        with pytest.raises(UserError, match="cannot be loaded") as caught:
            static(tmp_path / "model.safetensors")
        assert sentence in str(caught.value)


@pytest.mark.xdist_group("gloo")
def test_two_workers_a_gradient_cache_and_a_broken_training_equal_one(gloo_answers: dict[int, list[dict[str, Any]]]):
    alone = run("static", Workers())
    answers = [alone, *(answer["static"] for answer in gloo_answers[2])]
    for answer in answers:
        for name in ("whole", "cached", "resumed"):
            torch.testing.assert_close(answer[name]["state"], alone["whole"]["state"], rtol=1e-9, atol=1e-9)
        assert answer["whole"]["step"] == answer["resumed"]["step"] == 12
        for name, value in answer["whole"]["state"].items():
            assert torch.equal(value, answer["resumed"]["state"][name]), "to the last bit"


@pytest.mark.slow
def test_a_whole_trial(small_corpus: Path, tmp_path: Path):
    """At two widths, scored at each, saved as a stock model; from drawn vectors another seed gives other scores."""
    recipe = Recipe().preferring(
        {
            **STATIC,
            "encoder.start": "random",
            "encoder.dim": 32,
            "corpus.nli": str(small_corpus / "nli" / "train.jsonl"),
            "corpus.limit": 400,
            "corpus.layout": "pairs",
            "objective.name": "mnrl",
            "objective.temperature": 0.05,
            "objective.dims": ("8",),
            "optimisation.learning_rate": 5e-2,
            "optimisation.batch_size": 32,
            "optimisation.epochs": 4,
        }
    )
    evaluation = EvaluationConfig(str(small_corpus / "senteval"), ("STSBenchmark",), "fast")
    untrained = recipe.override({"optimisation.epochs": 0})
    assert recipe.uses_seed
    assert untrained.uses_seed
    assert not untrained.override({"encoder.start": "weights"}).uses_seed
    check_recipes([recipe, untrained], evaluation)
    trained, before = (
        run_trial(each, 1, evaluation, model_folder=folder)
        for each, folder in ((recipe, tmp_path / "model"), (untrained, None))
    )
    assert trained.data["encoder"]["fresh"] == ["vectors"]  # type: ignore[index]
    assert set(trained.data["widths"]) == {"8"}  # type: ignore[arg-type]
    assert trained.scores != before.scores
    saved = SentenceTransformer(str(tmp_path / "model"), device="cpu").encode(SENTENCES)
    assert saved.shape == (len(SENTENCES), 32)
    np.testing.assert_array_equal(saved, static(tmp_path / "model").encode(SENTENCES))
