"""The store of frozen embeddings, the adapter on top of them, and the model it is saved as."""

from __future__ import annotations

import multiprocessing
import shutil
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Normalize, StaticEmbedding
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from tests.conftest import SENTENCES
from trainables.encoders import load_encoder
from trainables.encoders.adapter import AdaptedEncoder
from trainables.encoders.embedding_store import EmbeddingStore
from trainables.encoders.pipeline import Pipeline
from trainables.encoders.pooling import Mean
from trainables.encoders.word_vectors import WordVectors
from trainables.errors import UserError
from trainables.recipe import EncoderConfig

WORDS = ("a", "man", "is", "sleeping", "two", "dogs", "run")


class Counting(WordVectors):
    """Word vectors that write down, in a file that processes share, what they were asked for."""

    def __init__(self, log: Path, scale: float = 1.0) -> None:
        super().__init__(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 5)).astype(np.float32) * scale)
        self.log = log

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:
        with self.log.open("a") as file:
            file.writelines(f"{sentence}\n" for sentence in sentences)
        return super().encode(sentences)


@pytest.fixture
def base(tmp_path: Path) -> Counting:
    return Counting(tmp_path / "asked")


class TestStore:
    def test_a_sentence_is_encoded_once_for_each_encoder(self, base: Counting, folder: Path, tmp_path: Path) -> None:
        first = EmbeddingStore(base, folder).encode(["a man", "two dogs", "a man"])
        np.testing.assert_array_equal(first, WordVectors.encode(base, ["a man", "two dogs", "a man"]))
        again = EmbeddingStore(base, folder)
        np.testing.assert_array_equal(again.encode(["run", "two dogs", "a man"])[1:], first[[1, 0]])
        assert base.log.read_text().splitlines() == ["a man", "two dogs", "run"]
        EmbeddingStore(Counting(base.log, scale=2.0), folder).encode(["run"])
        assert len(base.log.read_text().splitlines()) == 4
        assert sorted(path.suffix for path in folder.glob("*/[!.]*")) == [".npy"] * 6
        assert EmbeddingStore(base, tmp_path / "nothing").encode([]).shape == (0, 5)

    def test_what_another_process_wrote_is_found(self, base: Counting, folder: Path) -> None:
        ours, theirs = EmbeddingStore(base, folder), EmbeddingStore(base, folder)
        rows = ours.rows(["a man"])
        theirs.rows(["run", "dogs", "is"])
        everything = ours.rows(["is", "a man", "dogs"])
        assert everything[1] == rows[0]
        np.testing.assert_array_equal(ours.take(everything), WordVectors.encode(base, ["is", "a man", "dogs"]))
        assert len(base.log.read_text().splitlines()) == 4

    def test_processes_that_start_together_do_the_work_once(self, base: Counting, folder: Path) -> None:
        processes = [multiprocessing.Process(target=_fill, args=(base.log, folder)) for _ in range(3)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(60)
        assert [process.exitcode for process in processes] == [0, 0, 0]
        assert sorted(base.log.read_text().splitlines()) == sorted(SENTENCES)

    def test_an_interrupted_pass_leaves_nothing(self, base: Counting, folder: Path) -> None:
        base.vectors[WORDS.index("dogs")] = np.nan
        with pytest.raises(UserError, match="NaN or infinity for 1 sentences, 'two dogs' first"):
            EmbeddingStore(base, folder).encode(["a man", "two dogs"])
        assert list(folder.glob("*/[!.]*")) == []
        assert [path.name for path in folder.glob("*/.*")] in ([], [".lock"])

    def test_a_killed_pass_keeps_its_whole_blocks(
        self, base: Counting, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("trainables.encoders.embedding_store.SENTENCES_PER_FILE", 2)
        base.vectors[WORDS.index("dogs")] = np.nan  # stands for the kill: the third block fails
        sentences = ["a man", "is", "run", "a", "two dogs", "man"]
        store = EmbeddingStore(base, folder)
        with pytest.raises(UserError, match="NaN"):
            store.encode(sentences)
        (store.folder / ".0123456789abcdef.partial").write_bytes(b"left by a process that was killed")
        base.vectors[WORDS.index("dogs")] = 1.0
        before = len(base.log.read_text().splitlines())
        again = EmbeddingStore(base, folder)
        vars(again)["fingerprint"] = store.fingerprint  # the same weights but for the word that failed
        np.testing.assert_array_equal(again.encode(sentences), WordVectors.encode(base, sentences))
        assert base.log.read_text().splitlines()[before:] == ["two dogs", "man"]
        assert not list(store.folder.glob(".*.partial"))

    @pytest.mark.parametrize("kind", ["texts", "vectors"])
    def test_a_spoiled_file_is_named(self, base: Counting, folder: Path, kind: str) -> None:
        EmbeddingStore(base, folder).encode(["a man"])
        next(folder.glob(f"*/*.{kind}.npy")).write_bytes(b"spoiled")
        with pytest.raises(UserError, match=f"{kind}.npy is no file of cached embeddings; remove it"):
            EmbeddingStore(base, folder).encode(["a man"])

    def test_a_folder_that_cannot_be_written_is_named(self, base: Counting, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(UserError, match="cannot be kept"):
            EmbeddingStore(base, tmp_path / "file").encode(["a man"])

    @pytest.mark.parametrize(
        "options",
        [
            {"mode": "cls"},
            {"max_length": 20},
            {"layers": 1},
            {"padding": "count"},
            {"evaluation_precision": "bf16"},
        ],
        ids=lambda options: next(iter(options)),
    )
    def test_fingerprint_follows_what_is_asked_for(self, make_encoder: Any, options: dict[str, Any]) -> None:
        plain, other = make_encoder(), make_encoder(**options)
        assert other.fingerprint() != plain.fingerprint()
        assert (
            make_encoder(training_precision="bf16").fingerprint() == plain.fingerprint()
        )  # `encode` knows nothing of it

    @pytest.fixture(scope="class")
    @classmethod
    def saved(cls, make_encoder: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
        folder = tmp_path_factory.mktemp("models") / "plain"
        make_encoder("mean").save(folder)
        return folder

    @pytest.mark.slow
    @pytest.mark.parametrize("change", ["normaliser", "splitting", "special tokens", "activation", "norm"])
    def test_a_fingerprint_never_stands_for_two_bases(
        self, make_encoder: Any, saved: Path, folder: Path, change: str
    ) -> None:
        """Equal weights and vocabulary, but another configuration or tokenizer: the embeddings differ, and so do the
        keys, also of a pipeline and of models that were saved and loaded."""

        sentences = ["A Man is Sleeping", "two dogs run"]
        encoder = make_encoder("mean")
        backend = encoder.tokenizer.backend_tokenizer
        if change == "normaliser":
            backend.normalizer = normalizers.BertNormalizer(lowercase=False)
        elif change == "splitting":
            backend.pre_tokenizer = pre_tokenizers.Split(" is ", "isolated")
        elif change == "special tokens":
            end = ("[SEP]", encoder.tokenizer.sep_token_id)
            backend.post_processor = processors.TemplateProcessing(single="$A [SEP]", special_tokens=[end])
        elif change == "activation":
            encoder.backbone.config.hidden_act = "relu"
        else:
            encoder.backbone.config.layer_norm_eps = 0.5
        encoder.save(folder / "changed")
        for kind in ("transformer", "pipeline"):
            plain, changed, again = (
                load_encoder(EncoderConfig(kind, str(path)), Mean(), device="cpu")
                for path in (saved, folder / "changed", folder / "changed")
            )
            first, second = plain.encode(sentences), changed.encode(sentences)
            assert np.abs(first - second).max() > 0.01
            assert plain.fingerprint() != changed.fingerprint() == again.fingerprint()
            stored = [EmbeddingStore(base, folder / "embeddings").encode(sentences) for base in (plain, changed)]
            np.testing.assert_array_equal(stored, [first, second])

    def test_fingerprint_of_a_static_model(self) -> None:
        """A pipeline without a transformer, whose tokenizer is not one of transformers'."""

        def static(scale: float) -> Pipeline:
            tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "a": 1, "man": 2}, unk_token="[UNK]"))
            tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
            weights = np.arange(6, dtype=np.float32).reshape(3, 2) * scale
            return Pipeline(SentenceTransformer(modules=[StaticEmbedding(tokenizer, weights)], device="cpu"))

        assert static(1).fingerprint() == static(1).fingerprint() != static(2).fingerprint()

    def test_fingerprint_follows_what_a_pipeline_does_without_weights(self, make_encoder: Any, folder: Path) -> None:
        """Its pooling, its longest input and its prompts; not where it lies."""
        hashes = []
        for number, mode in enumerate(("mean", "mean", "max", "cls")):
            make_encoder(mode).save(folder / str(number))
            hashes.append(load_encoder(EncoderConfig(kind="pipeline", name=str(folder / str(number)))).fingerprint())
        assert hashes[0] == hashes[1]
        base = load_encoder(EncoderConfig(kind="pipeline", name=str(folder / "0")))
        for change in (
            lambda model: setattr(model, "max_seq_length", 7),
            lambda model: setattr(model, "default_prompt_name", "query"),
            lambda model: model.append(Normalize()),
        ):
            change(base.model)
            hashes.append(base.fingerprint())
        assert len(set(hashes)) == 6


def _fill(log: Path, folder: Path) -> None:
    EmbeddingStore(Counting(log), folder).rows(SENTENCES)


class TestAdaptedEncoder:
    def test_is_relu_of_two_layers_over_frozen_embeddings(self, make_encoder: Any, folder: Path) -> None:
        base = make_encoder("mean")
        encoder = AdaptedEncoder(base.train(), folder)
        first, second = encoder.adapter[0], encoder.adapter[2]
        hidden = np.maximum(base.encode(SENTENCES) @ first.weight.detach().numpy().T + first.bias.detach().numpy(), 0)
        expected = np.maximum(hidden @ second.weight.detach().numpy().T + second.bias.detach().numpy(), 0)
        np.testing.assert_allclose(encoder.encode(SENTENCES), expected, atol=1e-6)
        assert not base.training

        tokens = encoder.tokenize(SENTENCES)
        assert [len(row) for row in tokens] == [1] * len(SENTENCES)
        embedded = encoder.train().embed(tokens)
        np.testing.assert_allclose(embedded.detach().numpy(), expected, atol=1e-6)
        embedded.sum().backward()
        assert all(parameter.grad is not None for parameter in encoder.parameters())
        assert all(parameter.grad is None and not parameter.requires_grad for parameter in base.parameters())
        assert not base.training

    def test_the_base_is_in_no_state(self, make_encoder: Any, folder: Path) -> None:
        encoder = AdaptedEncoder(make_encoder("mean"), folder)
        assert set(encoder.state_dict()) == {f"adapter.{i}.{kind}" for i in (0, 2) for kind in ("weight", "bias")}
        assert len(list(encoder.parameters())) == 4

    def test_weights_come_from_the_seed_alone(self, make_encoder: Any, folder: Path) -> None:
        base = make_encoder("mean")
        drawn = []
        for store in (None, EmbeddingStore(base, folder)):
            torch.manual_seed(3)
            drawn.append(AdaptedEncoder(base, folder, store=store).state_dict())
        assert all(torch.equal(drawn[0][name], drawn[1][name]) for name in drawn[0])

    def test_the_base_computes_in_evaluation_precision(self, make_encoder: Any, folder: Path) -> None:
        encoder = AdaptedEncoder(make_encoder("mean", evaluation_precision="bf16", training_precision="fp32"), folder)
        plain = AdaptedEncoder(make_encoder("mean", evaluation_precision="fp32", training_precision="bf16"), folder)
        plain.load_state_dict(encoder.state_dict())
        exact = plain.encode(SENTENCES)
        assert 0 < np.abs(encoder.encode(SENTENCES) - exact).max() < 0.1
        np.testing.assert_array_equal(plain.embed(plain.tokenize(SENTENCES)).detach().numpy(), exact)

    def test_without_a_folder_it_keeps_embeddings_for_itself(self, base: Counting) -> None:
        encoder = AdaptedEncoder(base)
        encoder.encode(["a man"])
        where = encoder.store.folder
        assert where.exists()
        encoder.encode(["a man"])
        assert base.log.read_text() == "a man\n"


class TestSaving:
    def test_of_a_wide_base_768_come_out(
        self, make_encoder: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("trainables.encoders.adapter.OUTPUTS", 5)
        encoder = AdaptedEncoder(make_encoder("mean"), folder / "embeddings")
        wide = encoder.base.dim
        assert [tuple(w.shape) for w in encoder.parameters() if w.dim() == 2] == [(wide, wide), (5, wide)]
        encoder.save(folder / "model")
        reloaded = _reload(folder / "model")
        assert reloaded.shape == (len(SENTENCES), encoder.dim) == (len(SENTENCES), 5)
        np.testing.assert_allclose(reloaded, encoder.encode(SENTENCES), atol=1e-5)

    def test_models_of_one_base_share_its_weights_on_disk(self, make_encoder: Any, folder: Path) -> None:
        base = make_encoder("mean")
        kept = {}
        for name in ("one", "two"):
            encoder = AdaptedEncoder(base, folder / "embeddings")
            encoder.save(folder / name)
            kept[name] = encoder.encode(SENTENCES)
        weights = [folder / name / "model.safetensors" for name in kept]
        assert weights[0].samefile(weights[1])
        assert all(not path.stat().st_mode & 0o222 for path in weights)
        shutil.rmtree(folder / "embeddings")
        encoder.save(folder / "one")  # over an earlier one, and from a store that has to be written again
        np.testing.assert_allclose(_reload(folder / "one"), kept["two"], atol=1e-5)
        np.testing.assert_allclose(_reload(folder / "two"), kept["two"], atol=1e-5)

    def test_without_hard_links_they_are_copies(
        self, make_encoder: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*arguments: Any) -> None:
            raise OSError("no links here")

        monkeypatch.setattr("os.link", refuse)
        encoder = AdaptedEncoder(make_encoder("mean"), folder / "embeddings")
        encoder.save(folder / "model")
        np.testing.assert_allclose(_reload(folder / "model"), encoder.encode(SENTENCES), atol=1e-5)


def _reload(folder: Path) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SentenceTransformer(str(folder), device="cpu", trust_remote_code=False)
    return model.encode(list(SENTENCES))
