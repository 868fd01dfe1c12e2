"""LoRA: what is trained and what is not, the model that is saved, and what the next trial of a process gets."""

from __future__ import annotations

import copy
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from peft import PeftModel
from safetensors import safe_open

from tests.conftest import SENTENCES, loaded
from tests.families import SIZES, write_model
from tests.trials import Leaving
from trainables.encoders import check_trainable, load_encoder
from trainables.encoders.check import BUILT_IN
from trainables.encoders.kinds import EncoderRequest
from trainables.encoders.lora import LoraEncoder
from trainables.encoders.pooling import Mean
from trainables.encoders.pretrained import load_transformer
from trainables.encoders.transformer import TransformerEncoder
from trainables.errors import UserError
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe
from trainables.training.checkpoint import TENSORS
from trainables.training.chunks import Chunks
from trainables.training.distributed import Workers
from trainables.training.gradients import GradientSum
from trainables.training.loop import Interrupted
from trainables.training.memory import held_bytes
from trainables.training.model import TokenizedBatch
from trainables.trial.build import base_fingerprint, build_encoder, build_training
from trainables.trial.run import run_trial

RECIPE = Recipe().preferring(
    {
        "encoder.name": "scenes-small",
        "encoder.adapter": "lora",
        "corpus.nli": "scenes",
        "corpus.limit": 200,
        "optimisation.batch_size": 16,
        "optimisation.max_steps": 4,
        "optimisation.learning_rate": 0.02,
    }
)
LAYERS = 12
"""Linear layers of the built-in encoder."""
EVALUATION = EvaluationConfig("scenes", ("STS16",), "fast")
"""The smallest task: what is compared here is the training."""


def make(seed: int = 1, **changes: Any) -> LoraEncoder:
    """With `encoder.lora_...` changed, in evaluation mode."""
    recipe = RECIPE.override({f"encoder.lora_{name}": value for name, value in changes.items()})
    encoder = build_encoder(recipe, seed, None)
    assert isinstance(encoder, LoraEncoder)
    return encoder.eval()


def moved(encoder: LoraEncoder, scale: float = 0.05) -> LoraEncoder:
    """With other matrices than the first, B among them."""
    torch.manual_seed(7)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(scale * torch.randn_like(parameter))
    return encoder


def plain() -> TransformerEncoder:
    return loaded(mode="mean_without_cls")


def dense(encoder: LoraEncoder, factor: float) -> TransformerEncoder:
    """The same embeddings by plain matrices, W + factor B A, with a gradient at each W."""
    base = plain()
    with torch.no_grad():
        for place, pair in encoder.adapter.items():
            a, b = (next(pair[name].parameters()) for name in ("A", "B"))
            base.backbone.get_submodule(place.replace("/", ".")).weight.add_(factor * b @ a)
    return base


def names_in(file: Path) -> set[str]:
    """Of its tensors."""
    with safe_open(file, "pt") as tensors:
        return set(tensors.keys())


@pytest.fixture
def adapter_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial saves its adapter without the merged model, half of what these tests would take."""

    def save(merged: Any, adapter: Callable[[Path], None], folder: Path) -> None:
        folder.mkdir(parents=True)
        adapter(folder / "adapter")

    monkeypatch.setattr("trainables.encoders.lora.save_with_adapter", save)


def same_adapter(*folders: Path) -> bool:
    """Whether the adapters beside the saved models are equal to the last bit."""
    first, second = ((folder / "adapter" / "adapter_model.safetensors").read_bytes() for folder in folders)
    return first == second


class TestEncoder:
    def test_at_first_it_is_the_base_to_the_last_bit(self) -> None:
        encoder = make()
        np.testing.assert_array_equal(encoder.encode(SENTENCES), plain().encode(SENTENCES))
        assert encoder.base_fingerprint == base_fingerprint(encoder) == plain().fingerprint()
        assert encoder.fingerprint() != plain().fingerprint()

    def test_only_the_matrices_are_its_own(self) -> None:
        encoder = make(rank=3)
        assert len(encoder.adapter) == LAYERS
        shapes = {tuple(tensor.shape) for tensor in encoder.state_dict().values()}
        assert shapes == {(3, 128), (128, 3), (3, 512), (512, 3)}
        assert len(list(encoder.parameters())) == len(encoder.state_dict()) == 2 * LAYERS
        own = {id(parameter) for parameter in encoder.parameters()}
        assert all(parameter.requires_grad == (id(parameter) in own) for parameter in encoder.base.parameters())

    def test_the_first_matrices_follow_the_seed(self) -> None:
        first, same, other = make(1).state_dict(), make(1).state_dict(), make(2).state_dict()
        for name, tensor in first.items():
            assert torch.equal(tensor, same[name])
            assert torch.equal(tensor, other[name]) == name.endswith("B.weight")
            assert (tensor == 0).all() == name.endswith("B.weight")

    @pytest.mark.parametrize(("alpha", "factor"), [(None, 2.0), (3.0, 0.75)])
    def test_values_and_gradients_are_those_of_a_dense_sum(self, alpha: float | None, factor: float) -> None:
        """dL/dA = factor B' G and dL/dB = factor G A', where G is dL/dW."""
        encoder = moved(make(rank=4, alpha=alpha))
        oracle = dense(encoder, factor)
        assert not np.allclose(oracle.encode(SENTENCES), plain().encode(SENTENCES), atol=1e-2)
        weights = torch.randn(len(SENTENCES), encoder.dim, generator=torch.Generator().manual_seed(3))
        for each in (encoder, oracle):
            embedded = each.embed(each.tokenize(SENTENCES))
            (embedded * weights).sum().backward()
        np.testing.assert_allclose(encoder.encode(SENTENCES), oracle.encode(SENTENCES), atol=1e-5)
        for place, pair in encoder.adapter.items():
            a, b = (next(pair[name].parameters()) for name in ("A", "B"))
            gradient = oracle.backbone.get_submodule(place.replace("/", ".")).weight.grad
            assert gradient is not None
            torch.testing.assert_close(a.grad, factor * b.T @ gradient, rtol=1e-3, atol=1e-4)
            torch.testing.assert_close(b.grad, factor * gradient @ a.T, rtol=1e-3, atol=1e-4)

    def test_a_batch_in_chunks_gives_the_same_gradients(self) -> None:
        """By the gradient cache, without dropout."""
        gradients_of = []
        for chunk in (None, 64):
            encoder = moved(make())
            training = build_training(RECIPE, 1, encoder)
            model, batch = training.model.eval(), TokenizedBatch.of(training.sampler.batch(0), encoder)
            with GradientSum(model.parameters(), Workers()) as gradients:
                Chunks(model, chunk, 16, Workers(), gradients).step(batch, 3)
            gradients_of.append([parameter.grad for parameter in encoder.parameters()])
            assert len(encoder.passes([len(ids) for ids in batch.tokens], chunk)) == (1 if chunk is None else 5)
        assert all((gradient != 0).any() for gradient in gradients_of[0])
        torch.testing.assert_close(gradients_of[1], gradients_of[0], rtol=1e-3, atol=1e-5)

    def test_the_base_is_not_taken_for_what_a_pass_holds(self) -> None:
        encoder = make()
        base = sum(parameter.nbytes for parameter in encoder.base.backbone.encoder.parameters())
        assert held_bytes(encoder, encoder.tokenize(SENTENCES[:1])) < base / 4

    def test_targets_name_layers_by_the_end_of_their_names(self) -> None:
        encoder = make(targets=("query", "encoder.layer.1.output.dense"))
        assert [place.replace("/", ".") for place in encoder.adapter] == [
            "encoder.layer.0.attention.self.query",
            "encoder.layer.1.attention.self.query",
            "encoder.layer.1.output.dense",
        ]


class TestSaving:
    def test_the_adapter_alone_gives_the_same_by_peft(self, folder: Path) -> None:
        encoder = moved(make(rank=3, alpha=5.0, targets=("key", "value")))
        encoder.save(folder)
        assert {file.name for file in (folder / "adapter").iterdir()} == {
            "adapter_config.json",
            "adapter_model.safetensors",
        }
        base = plain()
        PeftModel.from_pretrained(base.backbone, str(folder / "adapter"))  # it changes the backbone in place
        np.testing.assert_allclose(base.encode(SENTENCES), encoder.encode(SENTENCES), atol=1e-6)
        assert not np.allclose(base.encode(SENTENCES), plain().encode(SENTENCES), atol=1e-2)

    def test_the_merged_model_has_stock_weights_and_the_encoder_stays(self, folder: Path) -> None:
        encoder = moved(make())
        embedded, kept = encoder.encode(SENTENCES), encoder.fingerprint()
        state = copy.deepcopy(encoder.base.state_dict())
        encoder.save(folder)
        np.testing.assert_array_equal(encoder.encode(SENTENCES), embedded)
        assert encoder.fingerprint() == kept
        for name, tensor in encoder.base.state_dict().items():
            assert torch.equal(tensor, state[name])
        plain().save(folder.parent / "plain")
        assert names_in(folder / "model.safetensors") == names_in(folder.parent / "plain" / "model.safetensors")
        reloaded = load_encoder(EncoderConfig("pipeline", str(folder)), device="cpu")
        np.testing.assert_allclose(reloaded.encode(SENTENCES), embedded, atol=1e-5)
        encoder.embed(encoder.tokenize(SENTENCES)).sum().backward()  # it can be trained further
        assert all(parameter.grad is not None for parameter in encoder.parameters())


@pytest.mark.slow
@pytest.mark.parametrize("family", ["modernbert", "deberta-v2", "t5", "qwen3"])
def test_other_families_are_adapted_and_merged(family: str, tmp_path: Path) -> None:
    """With weights in bf16, which are merged in fp32."""
    config = EncoderConfig(name=str(write_model(family, tmp_path / family)), dtype="bf16", adapter="lora")
    base = load_encoder(config, Mean(), device="cpu")
    assert isinstance(base, TransformerEncoder)
    before = base.encode(SENTENCES)
    encoder = LoraEncoder(base, config)
    np.testing.assert_array_equal(encoder.encode(SENTENCES), before)
    embedded = moved(encoder).encode(SENTENCES)
    assert not np.allclose(embedded, before, atol=1e-2)
    encoder.save(tmp_path / "model")
    reloaded = load_encoder(EncoderConfig("pipeline", str(tmp_path / "model")), device="cpu")
    np.testing.assert_allclose(reloaded.encode(SENTENCES), embedded, atol=1e-5)


class TestTrial:
    @pytest.mark.slow
    def test_a_resumed_training_is_an_unbroken_one_and_its_checkpoint_is_small(self, tmp_path: Path) -> None:
        """With dropout. B is not 0 any more, and no weight of the base is in the checkpoint."""
        recipe = RECIPE.override({"head.kind": "linear", "head.dim": 5})
        whole = run_trial(recipe, 1, EVALUATION, model_folder=tmp_path / "whole")
        with pytest.raises(Interrupted):
            run_trial(recipe, 1, EVALUATION, reporter=Leaving(2, tmp_path / "checkpoint"))
        names = names_in(tmp_path / "checkpoint" / TENSORS)
        assert {name.partition(".")[2].partition(".")[0] for name in names if name.startswith("model.")} == {
            "encoder",
            "head",
            "own",
        }
        assert len([name for name in names if name.startswith("model.encoder.")]) == 2 * LAYERS
        assert not [name for name in names if "base_layer" in name or "embeddings" in name]
        resumed = run_trial(recipe, 1, EVALUATION, model_folder=tmp_path / "resumed", resume=tmp_path / "checkpoint")
        assert resumed.training["last_loss"] == whole.training["last_loss"]
        assert same_adapter(tmp_path / "whole", tmp_path / "resumed")
        trained = load_encoder(EncoderConfig("pipeline", str(tmp_path / "whole")), device="cpu")
        assert not np.allclose(trained.encode(SENTENCES), plain().encode(SENTENCES), atol=1e-3)

    @pytest.mark.slow
    def test_the_next_trial_of_the_process_gets_the_pristine_base(self, nothing_kept: None) -> None:
        base = RECIPE.override({"encoder.adapter": "none", "optimisation.epochs": 0})
        before = build_encoder(base, 1, None)
        first = run_trial(RECIPE, 1, EVALUATION).training["last_loss"]
        run_trial(RECIPE.override({"encoder.lora_rank": 2}), 2, EVALUATION)
        after = build_encoder(base, 1, None)
        assert after.fingerprint() == before.fingerprint()
        assert not [name for name, _ in after.backbone.named_modules() if "lora" in name]  # type: ignore[attr-defined]
        assert run_trial(RECIPE, 1, EVALUATION).training["last_loss"] == first

    def test_a_leak_into_the_base_would_be_seen(self, monkeypatch: pytest.MonkeyPatch, nothing_kept: None) -> None:
        """The negative control: where what is kept is handed out itself, the next trial finds peft's layers in it."""
        before = plain().fingerprint()
        monkeypatch.setattr("trainables.encoders.pretrained.copy", SimpleNamespace(deepcopy=lambda loaded: loaded))
        run_trial(RECIPE, 1, EVALUATION)
        assert plain().fingerprint() != before

    @pytest.mark.slow
    @pytest.mark.usefixtures("adapter_alone")
    def test_other_weights_than_the_last_can_be_kept(self, tmp_path: Path) -> None:
        last = run_trial(RECIPE, 1, EVALUATION, model_folder=tmp_path / "last").training
        every = {"optimisation.keep_every": 1, "optimisation.keep_share": 1, "corpus.senteval": "scenes"}
        for keep in ("best", "average"):
            recipe = RECIPE.preferring({"optimisation.keep": keep, **every})
            kept = run_trial(recipe, 1, EVALUATION, model_folder=tmp_path / keep).training
            assert kept["kept"]["keep"] == keep
            assert kept["last_loss"] == last["last_loss"]
            other = keep == "average" or kept["kept"]["step"] < last["steps"]
            assert same_adapter(tmp_path / keep, tmp_path / "last") != other

    def test_untrained_it_is_the_base_whatever_the_seed(self) -> None:
        untrained = RECIPE.override({"optimisation.epochs": 0})
        assert not untrained.uses_seed
        assert RECIPE.uses_seed
        assert isinstance(build_encoder(untrained, 1, None), TransformerEncoder)

    @pytest.mark.slow
    def test_masked_language_modelling_trains_the_head_but_not_the_words(self) -> None:
        recipe = RECIPE.override({"objective.mlm": 0.5})
        encoder = build_encoder(recipe, 1, None)
        assert isinstance(encoder, LoraEncoder)
        words = encoder.base.backbone.get_input_embeddings().weight
        before = words.detach().clone()
        model = build_training(recipe, 1, encoder).model
        trained = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
        assert "encoder.mlm_head.head.0.predictions.transform.dense.weight" in trained
        assert not [name for name in trained if "decoder.weight" in name]
        run_trial(recipe, 1, EVALUATION)
        assert torch.equal(words, before)


class TestRefused:
    @pytest.mark.parametrize(
        ("overrides", "sentence"),
        [
            ({"encoder.kind": "word_vectors"}, "encoder.kind 'word_vectors' has none; set encoder.adapter"),
            ({"encoder.kind": "pipeline", "optimisation.epochs": 0}, "encoder.kind 'pipeline' has none"),
        ],
    )
    def test_kinds_without_linear_layers_of_their_own(self, overrides: dict[str, Any], sentence: str) -> None:
        with pytest.raises(UserError, match=sentence) as caught:
            check_trainable(RECIPE.override(overrides))
        assert "\n" not in str(caught.value)

    def test_a_machine_without_peft(self, monkeypatch: pytest.MonkeyPatch) -> None:
        check_trainable(RECIPE)
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        with pytest.raises(UserError, match=r"^encoder\.adapter 'lora' needs the package peft; install it with pip"):
            check_trainable(RECIPE)
        check_trainable(RECIPE.override({"encoder.adapter": "none"}))

    def test_what_is_no_linear_layer_is_refused_early_and_late(self, tmp_path: Path) -> None:
        for target in ("nothing", "encoder", "LayerNorm", "word_embeddings", "uery", "layer.0"):
            sentence = f"names '{target}', which is no linear layer of .*; it has 'dense', 'key', 'query' or"
            with pytest.raises(UserError, match=sentence):
                make(targets=("query", target))
            for name in (SCENES_ENCODER, str(write_model("bert", tmp_path / "bert"))):
                recipe = RECIPE.override({"encoder.name": name, "encoder.lora_targets": ("self.query", target)})
                with pytest.raises(UserError, match=sentence):
                    check_trainable(recipe)

    @pytest.mark.parametrize("family", [*SIZES, SCENES_ENCODER])
    def test_no_linear_layer_is_refused_before_a_study_starts(self, family: str, tmp_path: Path) -> None:
        """Each layer under its full name, and under the end of it; also with files that say nothing."""
        name = family if family == SCENES_ENCODER else str(write_model(family, tmp_path / family))
        backbone = load_transformer(EncoderRequest(EncoderConfig(name=name), Mean())).backbone  # type: ignore[attr-defined]
        linear = [place for place, module in backbone.named_modules() if isinstance(module, torch.nn.Linear)]
        assert linear
        targets = tuple({*linear, *(place.rpartition(".")[2] for place in linear)})
        check_trainable(
            RECIPE.override({"encoder.name": name, "encoder.lora_targets": targets, "pooling.mode": "mean"})
        )
        if family == SCENES_ENCODER:
            assert sorted(linear) == sorted(BUILT_IN)
        else:
            (tmp_path / family / "model.safetensors").write_text("version https://git-lfs")
            check_trainable(
                RECIPE.override({"encoder.name": name, "encoder.lora_targets": ("foo",), "pooling.mode": "mean"})
            )

    def test_weights_in_bf16_train_in_bf16(self) -> None:
        both = {"encoder.dtype": "bf16", "optimisation.precision": "fp32"}
        with pytest.raises(UserError, match=r"set encoder.dtype to 'fp32', or optimisation.precision to 'auto'"):
            check_trainable(RECIPE.override(both))
        check_trainable(RECIPE.override({**both, "optimisation.precision": "auto"}))
        check_trainable(RECIPE.preferring({**both, "optimisation.epochs": 0}))

    @pytest.mark.parametrize(("key", "value"), [("rank", 0), ("alpha", 0.0), ("rank", 1.5), ("targets", "query")])
    def test_bad_values(self, key: str, value: Any) -> None:
        with pytest.raises(UserError, match=f"encoder.lora_{key} must be"):
            make(**{key: value})

    def test_layouts_and_paddings_that_a_frozen_embedding_cannot_have(self) -> None:
        """Here the embedding is trained, so they are allowed."""
        for overrides in ({"pooling.padding": "count"}, {"corpus.layout": "spans", "objective.name": "ntxent"}):
            check_trainable(RECIPE.override(overrides))
            with pytest.raises(UserError, match="'lora'"):
                check_trainable(RECIPE.override({**overrides, "encoder.adapter": "mlp"}))
