"""Encoders: pooling without padding, saved folders that reload equal, and clear refusals."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.sentence_transformer.modules import Pooling

from tests.conftest import SENTENCES
from tests.gloo_worker import in_float64
from trainables.encoders import check_encoder, load_encoder
from trainables.encoders.builtin import build
from trainables.encoders.passes import full_passes, length_buckets
from trainables.encoders.pooling import POOLINGS, Mean, MeanWithoutCLS
from trainables.encoders.precision import computing, resolve_evaluation_precision
from trainables.encoders.projection import MLP, PROJECTIONS, Linear, Projection
from trainables.encoders.transformer import TransformerEncoder
from trainables.encoders.word_vectors import WordVectors
from trainables.errors import UserError
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe

# Each pooling for one sentence alone, from the states of all layers, (layers + 1) x (tokens, dim).
ALONE = {
    "mean": lambda states: states[-1].mean(0),
    "mean_without_cls": lambda states: states[-1][1:].mean(0),
    "cls": lambda states: states[-1][0],
    "max": lambda states: states[-1].max(0).values,
    "last": lambda states: states[-1][-1],
    "first_last_mean": lambda states: (states[1].mean(0) + states[-1].mean(0)) / 2,
}


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory, make_encoder: Any) -> Path:
    """A saved model, to be copied and damaged."""
    folder = tmp_path_factory.mktemp("models") / "mean"
    make_encoder("mean").save(folder)
    return folder


def shorter(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


EMPTY = Path(__file__).parent
"""A folder that is no model."""
SHARDS = '{"weight_map": {"a": "part-1.safetensors"}}'
AGAIN = "copy or download the folder again, all of it"
UNLIKE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "cut weights": (
        lambda f: shorter(f / "model.safetensors"),
        f"model.safetensors is no file of safetensors, or not all of one; {AGAIN}",
    ),
    "cut in its header": (
        lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:99]),
        "model.safetensors is no file of safetensors, or not all of one",
    ),
    "a pointer": (
        lambda f: (f / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n"),
        "model.safetensors is a pointer of Git LFS",
    ),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), f"has no model.safetensors; {AGAIN}"),
    "a pickle": (
        lambda f: (f / "model.safetensors").rename(f / "pytorch_model.bin"),
        r"has no model\.safetensors; pickled weights can run code and are not read",
    ),
    "no config": (lambda f: (f / "config.json").unlink(), f"has no config.json; {AGAIN}"),
    "a shard missing": (
        lambda f: (f / "model.safetensors").rename(f / "model.safetensors.index.json").write_text(SHARDS),
        "has no part-1.safetensors",
    ),
    **{
        f"length {length}": (
            lambda f, length=length: (f / "sentence_bert_config.json").write_text(f'{{"max_seq_length": {length}}}'),
            "max_seq_length of '.*' is .*; make it a whole number above 0, or null",
        )
        for length in ("-1", "0", '"many"', "true", "12.5")
    },
}


@pytest.mark.parametrize("mode", POOLINGS)
class TestEveryPooling:
    """What `TrainableEncoderContract` does not ask of an encoder with it (test_encoder_kinds.py)."""

    def test_a_row_is_pooled_in_value_and_gradient_as_its_sentences_alone(self, mode: str):
        pooling, lengths = POOLINGS[mode](), torch.tensor([7, 5, 5, 2])
        alone = ALONE[mode]
        states = tuple(torch.randn(19, 6).requires_grad_() for _ in range(3))
        row = pooling.pool_row(states, lengths)
        sentences = zip(*(state.split(lengths.tolist()) for state in states), strict=True)
        right = torch.stack([alone(sentence) for sentence in sentences])
        torch.testing.assert_close(row, right, atol=1e-6, rtol=0)
        weights = torch.randn_like(right)
        gradients = (torch.autograd.grad((of * weights).sum(), states, allow_unused=True) for of in (row, right))
        for of_row, of_right in zip(*gradients, strict=True):
            torch.testing.assert_close(of_row, of_right, atol=1e-6, rtol=0)


def test_a_pooling_that_pools_otherwise_than_its_parent_is_not_saved_as_that():
    class Halved(Mean):
        def pool_row(self, states: Any, lengths: Any) -> Any:
            return super().pool_row(states, lengths) / 2

    class Renamed(Mean):
        name = "renamed"

    assert (Halved.stock, Renamed.stock) == (None, "mean")


def test_sentences_of_the_same_tokens_are_encoded_once(make_encoder: Any):
    encoder = make_encoder("mean")
    respaced = [f"  {sentence.upper()} " for sentence in SENTENCES]
    passes: list[int] = []
    states = encoder._passes.states
    encoder._passes.states = lambda tokens, *more, **how: passes.append(len(tokens)) or states(tokens, *more, **how)
    both = encoder.encode([*SENTENCES, *respaced, "Somebody else."])
    assert sum(passes) == len(SENTENCES) + 1
    np.testing.assert_array_equal(both[: len(SENTENCES)], both[len(SENTENCES) : -1])
    np.testing.assert_allclose(both[-1:], encoder.encode(["Somebody else."]), atol=2e-6)


class TestTransformer:
    def test_the_built_in_encoder_starts_from_the_same_weights_whatever_the_process_draws(self):
        torch.manual_seed(1)
        before = torch.get_rng_state()
        first = build()[0].state_dict()
        assert torch.equal(torch.get_rng_state(), before)
        torch.manual_seed(2)
        with in_float64():
            second = build()[0].state_dict()
        assert all(torch.equal(first[name], second[name]) for name in first)

    def test_layers_cuts(self, make_encoder: Any):
        whole, cut = make_encoder("first_last_mean"), make_encoder("first_last_mean", layers=1)
        with torch.no_grad():
            output = whole.backbone(input_ids=torch.tensor(whole.tokenize(SENTENCES[:1])), output_hidden_states=True)
        np.testing.assert_allclose(cut.encode(SENTENCES[:1])[0], output.hidden_states[1][0].mean(0).numpy(), atol=2e-6)

    def test_more_layers_than_there_are(self):
        config = EncoderConfig(name=SCENES_ENCODER, layers=3)
        with pytest.raises(UserError, match=r"encoder\.layers is 3, but 'scenes-small' has 2 layers"):
            load_encoder(config, Mean())

    def test_bf16_is_close_and_float32_outside(self, make_encoder: Any):
        exact = make_encoder("mean").encode(SENTENCES)
        trained, evaluated = (
            make_encoder("mean", **{f"{what}_precision": "bf16"}) for what in ("training", "evaluation")
        )
        low = trained.embed(trained.tokenize(SENTENCES))
        assert low.dtype == torch.float32
        assert 0 < np.abs(low.detach().numpy() - exact).max() < 0.1
        np.testing.assert_array_equal(trained.encode(SENTENCES), exact)  # scores are in evaluation precision
        np.testing.assert_array_equal(evaluated.encode(SENTENCES), low.detach().numpy())
        high = evaluated.embed(evaluated.tokenize(SENTENCES))
        np.testing.assert_array_equal(high.detach().numpy(), exact)

    def test_saving_replaces_what_was_there(self, make_encoder: Any, folder: Path):
        folder.mkdir(parents=True)
        (folder / "stale.txt").write_text("old")
        make_encoder("mean").save(folder)
        assert not (folder / "stale.txt").exists()
        assert [path.name for path in folder.parent.iterdir()] == [folder.name], "no scratch is left"
        assert (folder / "modules.json").is_file()

    def test_released_inference_averages_padding_in(self, make_encoder: Any):
        """Liao's released code: an embedding depends on the batch around it. Training is apart."""
        encoder: TransformerEncoder = make_encoder("mean_without_cls", padding="count")
        plain = make_encoder("mean_without_cls", padding="ignore").encode(SENTENCES)
        alone = np.concatenate([encoder.encode([sentence]) for sentence in SENTENCES])
        together = encoder.encode(SENTENCES)
        np.testing.assert_allclose(alone, plain, atol=2e-6)  # without padding both readings agree
        longest = int(np.argmax([len(ids) for ids in encoder.tokenize(SENTENCES)]))
        different = np.abs(together - plain).max(axis=1) > 1e-3
        assert different.tolist() == [i != longest for i in range(len(SENTENCES))]
        with torch.no_grad():
            for module in encoder.train().modules():
                if isinstance(module, torch.nn.Dropout):
                    module.p = 0.0
            training = encoder.embed(encoder.tokenize(SENTENCES))
        np.testing.assert_allclose(training.numpy(), plain, atol=2e-6)


class TestLengthBuckets:
    @given(st.lists(st.integers(1, 200), max_size=80), st.integers(8, 2000))
    def test_properties(self, lengths: list[int], budget: int):
        buckets = length_buckets(lengths, budget)
        assert sorted(i for bucket in buckets for i in bucket) == list(range(len(lengths)))
        flat = [lengths[i] for bucket in buckets for i in bucket]
        assert flat == sorted(flat, reverse=True)
        for bucket in buckets:
            longest = max(lengths[i] for i in bucket)
            assert len(bucket) == 1 or len(bucket) * longest <= budget

    @given(st.lists(st.integers(1, 128), min_size=1, max_size=300))
    def test_little_padding(self, lengths: list[int]):
        """A pass that is not small pads by no more than a third."""
        budget = 4096
        for bucket in length_buckets(lengths, budget):
            members = [lengths[i] for i in bucket]
            long_enough = [n for n in members if n >= 0.75 * members[0]]
            small = members[0] * len(long_enough) < budget // 8
            assert small or members[-1] >= 0.75 * members[0]


class TestFullPasses:
    @given(st.lists(st.integers(1, 200), max_size=80), st.integers(1, 2000))
    def test_properties(self, lengths: list[int], most: int):
        passes = full_passes(lengths, most)
        assert [lengths[i] for members in passes for i in members] == sorted(lengths, reverse=True)
        assert sorted(i for members in passes for i in members) == list(range(len(lengths)))
        sums = [sum(lengths[i] for i in members) for members in passes]
        assert all(len(members) == 1 or total <= most for members, total in zip(passes, sums, strict=True))
        for total, following in zip(sums, passes[1:], strict=False):  # each is as full as it can be
            assert total + lengths[following[0]] > most

    @given(st.lists(st.integers(1, 60), min_size=1, max_size=80), st.integers(60, 500))
    def test_the_sentences_of_a_pass_are_one_pass(self, lengths: list[int], most: int):
        """So that passes done one by one draw the random numbers that all at once would draw."""
        for members in full_passes(lengths, most):
            assert full_passes([lengths[i] for i in members], most) == [list(range(len(members)))]


class TestHeads:
    @pytest.mark.parametrize("kind", PROJECTIONS)
    @pytest.mark.parametrize("dim", [None, 3])
    def test_size(self, kind: Any, dim: int | None):
        head = Recipe().preferring({"head.kind": kind, "head.dim": dim}).part(Projection).build(6)
        out = 6 if dim is None or kind == "none" else 3
        assert head(torch.randn(4, 6)).shape == (4, out)

    def test_linear_has_no_bend_and_mlp_has_one(self):
        x, y = torch.randn(2, 50, 6)
        for kind, linear in ((Linear, True), (MLP, False)):
            head = kind().build(6)
            gap = head(x + y) - head(x) - head(y) + head(torch.zeros_like(x))
            assert (gap.abs().max().item() < 1e-5) == linear


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("./nothing", "no encoder at './nothing'; name a model folder, a hub id, or 'scenes-small'"),
            ("/nothing/there", "no encoder at '/nothing/there'; name a model folder, a hub id, or 'scenes-small'"),
            ("~/nothing", "no encoder at '~/nothing'; name a model folder, a hub id, or 'scenes-small'"),
            ("what is this?", "'what is this?' is neither a folder nor a hub id (owner/name); name one, or "),
            (str(EMPTY), f"'{EMPTY}' is no encoder; a model folder holds config.json, weights and a tokenizer"),
        ],
    )
    def test_what_is_no_model(self, name: str, sentence: str):
        with pytest.raises(UserError) as caught:
            check_encoder(EncoderConfig(name=name))
        assert str(caught.value).startswith(sentence)

    def test_too_many_layers_of_a_model_in_the_local_cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        for name in ("config.json", "model.safetensors"):
            (tmp_path / name).write_text('{"model_type": "bert", "num_hidden_layers": 4}')
        monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file, revision: str(tmp_path / file))
        check_encoder(EncoderConfig(name="somebody/model", layers=4))
        with pytest.raises(UserError, match=r"encoder\.layers is 5, but 'somebody/model' has 4 layers; ask for fewer"):
            check_encoder(EncoderConfig(name="somebody/model", layers=5))

    @pytest.mark.parametrize(
        ("damage", "sentence"),
        [
            (lambda f: (f / "model.safetensors").write_bytes(b"not tensors"), "cannot be loaded"),
            (lambda f: (f / "model.safetensors").write_bytes(bytes(100)), "cannot be loaded"),
            (lambda f: (f / "model.safetensors").unlink(), "cannot be loaded: .*model.safetensors"),
            (lambda f: (f / "config.json").write_text("{"), "cannot be loaded: .*config.json"),
            (lambda f: (f / "config.json").write_text('{"model_type": "zork"}'), "cannot be loaded: .*zork"),
            (lambda f: [p.unlink() for p in f.glob("tokenizer*")], "has no tokenizer files"),
            (lambda f: (f / "tokenizer.json").write_text("{"), "cannot be loaded"),
        ],
        ids=["garbage", "zeros", "no weights", "half config", "unknown kind", "no tokenizer", "half tokenizer"],
    )
    def test_a_damaged_folder(self, damage: Any, sentence: str, model_folder: Path, tmp_path: Path):
        folder = shutil.copytree(model_folder, tmp_path / "model")
        damage(folder)
        with pytest.raises(UserError, match=sentence) as caught:
            load_encoder(EncoderConfig(name=str(folder)), Mean())
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("name", UNLIKE)
    def test_what_a_folder_lacks_is_said_before_it_is_loaded(self, name: str, model_folder: Path, tmp_path: Path):
        folder = shutil.copytree(model_folder, tmp_path / "model")
        configs = [EncoderConfig(kind, str(folder)) for kind in ("transformer", "pipeline")]
        for config in configs:
            check_encoder(config)
        damage, sentence = UNLIKE[name]
        damage(folder)
        for config in configs:
            with pytest.raises(UserError, match=sentence):
                check_encoder(config)

    def test_code_in_a_folder_is_never_run_and_nothing_is_asked(
        self, model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        folder = shutil.copytree(model_folder, tmp_path / "model")
        config = json.loads((folder / "config.json").read_text())
        config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModel": "mine.Model"}}
        (folder / "config.json").write_text(json.dumps(config))
        (folder / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
        monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked on the console"))
        with pytest.raises(UserError, match="cannot be loaded"):
            load_encoder(EncoderConfig(name=str(folder)), Mean())
        assert not (tmp_path / "ran").exists()

    def test_weights_in_a_pickle_are_not_read(self, model_folder: Path, tmp_path: Path):
        """Also where they hold nothing but tensors: whoever reads them trusts whoever made them."""
        folder = shutil.copytree(model_folder, tmp_path / "model")
        torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
        load_encoder(EncoderConfig(name=str(folder)), Mean())
        (folder / "model.safetensors").unlink()
        with pytest.raises(UserError, match="cannot be loaded"):
            load_encoder(EncoderConfig(name=str(folder)), Mean())

    def test_nor_those_of_another_module(self, model_folder: Path, tmp_path: Path):
        first = Transformer(str(model_folder))
        dim = first.get_embedding_dimension()
        SentenceTransformer(modules=[first, Pooling(dim), Dense(dim, 4)], device="cpu").save(str(tmp_path / "model"))
        assert load_encoder(EncoderConfig(name=str(tmp_path / "model"))).dim == 4
        dense = tmp_path / "model" / "2_Dense"
        torch.save(load_file(dense / "model.safetensors"), dense / "pytorch_model.bin")
        (dense / "model.safetensors").unlink()
        with pytest.raises(UserError, match="its weights are a pickle, which can run code"):
            load_encoder(EncoderConfig(name=str(tmp_path / "model")))

    @pytest.mark.parametrize(
        ("token", "sentence"), [("pad_token", "no padding token"), ("cls_token", r"needs a \[CLS\] token")]
    )
    def test_a_tokenizer_without_a_token_that_is_needed(
        self, token: str, sentence: str, model_folder: Path, tmp_path: Path
    ):
        folder = shutil.copytree(model_folder, tmp_path / "model")
        config = json.loads((folder / "tokenizer_config.json").read_text())
        config[token] = None
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
        with pytest.raises(UserError, match=sentence):
            load_encoder(EncoderConfig(name=str(folder)), MeanWithoutCLS())


GLOVE = "the 1 2 3\ncat -0.5 0 1e-3\n"


class TestWordVectors:
    def load(self, path: Path) -> WordVectors:
        config = EncoderConfig("word_vectors", str(path))
        check_encoder(config)
        return load_encoder(config)

    def test_text(self, tmp_path: Path):
        (tmp_path / "v.txt").write_text(GLOVE)
        vectors = self.load(tmp_path / "v.txt")
        assert vectors.dim == 3
        embedded = vectors.encode(["The cat , the unknown", "nothing known", ""])
        assert embedded.dtype == np.float32
        np.testing.assert_allclose(embedded[0], [0.5, 4 / 3, 6.001 / 3], rtol=1e-6)
        assert not embedded[1:].any()

    @pytest.mark.parametrize("more", ["2 3\n" + GLOVE, GLOVE + ". . . 4 5 6\n", GLOVE + "\x85 4 5 6\n"])
    def test_text_in_the_forms_that_exist(self, more: str, tmp_path: Path):
        (tmp_path / "v.txt").write_text(more, encoding="utf-8")
        vectors = self.load(tmp_path / "v.txt")
        np.testing.assert_allclose(vectors.encode(["cat"])[0], [-0.5, 0, 1e-3])

    @pytest.mark.parametrize(
        ("text", "sentence"),
        [
            ("", "is empty"),
            ("the 1 2\ncat 1\n", r"line 2: 1 numbers after the word 'cat', not 2"),
            ("the 1 2\ncat 1 2 3\n", r"line 2: 3 numbers after the word 'cat', not 2"),
            ("the 1 2\n\ncat 1 2\n", r"line 2: 0 numbers after the word '', not 2"),
            ("the 1 2\ncat 1 x\n", r"line 2: after the word 'cat' only numbers may follow"),
            ("hello world and more\n", r"line 1: 0 numbers after the word .* not at least one"),
        ],
    )
    def test_broken_text(self, text: str, sentence: str, tmp_path: Path):
        (tmp_path / "v.txt").write_text(text)
        with pytest.raises(UserError, match=sentence):
            self.load(tmp_path / "v.txt")

    @pytest.mark.parametrize("words", ["words.txt", "words.json", "words.parquet", "index.parquet"])
    def test_a_matrix_with_its_words_beside(self, words: str, tmp_path: Path):
        matrix = np.arange(6, dtype=np.float64).reshape(3, 2)
        np.save(tmp_path / "v.npy", matrix)
        names = ["the", "\x85", "cat"]
        place = tmp_path / words
        if place.suffix == ".txt":
            place.write_text("\n".join(names) + "\n", encoding="utf-8")
        elif place.suffix == ".json":
            place.write_text(json.dumps(names))
        else:
            import pandas as pd

            by_index = pd.DataFrame({"row": [2, 0, 1]}, index=["cat", "the", "\x85"])
            (by_index if words.startswith("index") else pd.DataFrame({"word": names})).to_parquet(place)
        (tmp_path / "a.json").write_text("{")  # something else that lies there
        (tmp_path / "b.txt").write_bytes(b"\xff\xfe")
        vectors = self.load(tmp_path / "v.npy")
        np.testing.assert_allclose(vectors.encode(["the", "cat"]), matrix[[0, 2]])

    def test_a_matrix_without_words(self, tmp_path: Path):
        np.save(tmp_path / "v.npy", np.ones((3, 2)))
        with pytest.raises(UserError, match=r"has 3 rows, but no .* beside it lists 3 words"):
            self.load(tmp_path / "v.npy")

    @pytest.mark.parametrize(
        ("write", "sentence"),
        [
            (lambda p: p.write_bytes(b"junk"), "is no matrix of numbers"),
            (lambda p: p.write_bytes(b""), "is no matrix of numbers"),
            (lambda p: np.save(p, np.array([object()]), allow_pickle=True), "is no matrix of numbers"),
            (lambda p: np.save(p, np.array(["a"])), "is no matrix of numbers"),
            (lambda p: np.save(p, np.ones(3)), r"shape \(3,\), not a matrix"),
        ],
        ids=["junk", "empty", "pickle", "text", "flat"],
    )
    def test_a_broken_matrix(self, write: Any, sentence: str, tmp_path: Path):
        write(tmp_path / "v.npy")
        with pytest.raises(UserError, match=sentence):
            self.load(tmp_path / "v.npy")

    @pytest.mark.parametrize("name", ["nothing.txt", "nothing.npy", "."])
    def test_missing(self, name: str):
        config = EncoderConfig("word_vectors", name)
        for ask in (check_encoder, load_encoder):
            with pytest.raises(UserError, match="no word vectors at"):
                ask(config)


def test_a_pass_that_does_not_fit_is_halved(make_encoder: Any, monkeypatch: pytest.MonkeyPatch):
    encoder = make_encoder()
    right, passes, states = encoder.encode(SENTENCES), [], encoder._passes.states

    def small(tokens: Any, *more: Any) -> Any:
        if len(tokens) > 2:
            raise torch.OutOfMemoryError
        passes.append(len(tokens))
        return states(tokens, *more)

    monkeypatch.setattr(encoder._passes, "states", small)
    np.testing.assert_allclose(encoder.encode(SENTENCES), right, atol=1e-6)
    assert sum(passes) == len(SENTENCES)

    def full(*_: Any) -> Any:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(encoder._passes, "states", full)
    with pytest.raises(torch.OutOfMemoryError):
        encoder.encode(SENTENCES)


def test_tf32_holds_inside_alone_and_is_fp32_on_a_cpu():
    products = torch.backends.cuda.matmul
    with computing(torch.device("cuda"), resolve_evaluation_precision("tf32", "cuda")):
        assert products.allow_tf32
    assert not products.allow_tf32
    assert resolve_evaluation_precision("tf32", "cpu") == torch.float32
