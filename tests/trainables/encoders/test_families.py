"""Every family of transformers: loaded, trained, cut, pooled, packed, saved and loaded again as it should be."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoConfig, AutoModel, AutoTokenizer, Olmo2Config, Olmo2Model

from tests.conftest import SENTENCES, loaded, slow_case
from tests.families import LONGEST, SIZES, WINDOW, make_tokenizer, write_model
from trainables.encoders import check_encoder, check_trainable, load_encoder
from trainables.encoders.families import FAMILIES, Family, longest_input
from trainables.encoders.pooling import POOLINGS, Mean
from trainables.encoders.transformer import TransformerEncoder
from trainables.errors import UserError, choices
from trainables.plugins import load_plugin
from trainables.recipe import EncoderConfig, Recipe

LONG = "the woman in the red coat plays a piano near the old river while it rains and two dogs run in the park"
TEXTS = (*SENTENCES, LONG)
QUICK = ("bert", "deberta-v2", "modernbert", "t5", "qwen3")
"""One of each way: packed, padded, near attention, encoder of two, causal. `make test-long` walks over all."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model of each family."""
    parent = tmp_path_factory.mktemp("families")
    return {family: write_model(family, parent / family) for family in FAMILIES}


def load(folder: Path, mode: str = "mean", precision: Any = "fp32", **settings: Any) -> TransformerEncoder:
    check_encoder(EncoderConfig(name=str(folder), **settings))
    return loaded(folder, mode, how={"training_precision": precision}, **settings)


def reloaded(encoder: TransformerEncoder, folder: Path) -> Any:
    encoder.save(folder)
    return SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=False)


def fitting(family: Family) -> list[str]:
    return [mode for mode, pooling in POOLINGS.items() if family.cls or not pooling.needs_cls]


def test_every_family_is_held_to_this():
    assert list(SIZES) == list(FAMILIES)


@pytest.mark.parametrize("family", [slow_case(name, when=name not in QUICK) for name in FAMILIES])
class TestEveryFamily:
    def test_some_steps_of_training_lower_the_loss(self, family: str, folders: dict[str, Path]):
        encoder = load(folders[family]).train()
        optimiser = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
        tokens = encoder.tokenize(TEXTS)
        losses = []
        for _ in range(4):
            torch.manual_seed(0)  # the same dropout each time
            first, second = (torch.nn.functional.normalize(encoder.embed(tokens), dim=1) for _ in range(2))
            loss = torch.nn.functional.cross_entropy(first @ second.T / 0.05, torch.arange(len(tokens)))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0] - 1e-3
        unused = [name for name, weight in encoder.backbone.named_parameters() if weight.grad is None]
        assert not unused

    def test_every_fitting_pooling_is_saved_and_loads_equal(
        self, family: str, folders: dict[str, Path], tmp_path: Path
    ):
        """The one that looks at every layer is saved. Of the others one by turns, and the one that a padding side
        matters to, whose modules replace its pooling."""

        every = load(folders[family], "first_last_mean")
        theirs = reloaded(every, tmp_path / "saved")
        np.testing.assert_allclose(theirs.encode(TEXTS), every.encode(TEXTS), atol=1e-5, rtol=0)
        modes = [mode for mode in fitting(FAMILIES[family]) if POOLINGS[mode].stock]
        for mode in {"last", modes[list(FAMILIES).index(family) % len(modes)]}:
            encoder = load(folders[family], mode)
            stock = encoder.pooling.modules(encoder.dim, 2, encoder.tokenizer)
            pooled = SentenceTransformer(modules=[theirs[0], *stock], device="cpu")
            for side in ("right", "left") if FAMILIES[family].causal else ("right",):
                theirs.tokenizer.padding_side = side
                embedded = pooled.encode(TEXTS)
                np.testing.assert_allclose(embedded, encoder.encode(TEXTS), atol=1e-5, rtol=0, err_msg=f"{mode} {side}")

    def test_a_pooling_that_does_not_fit_is_refused_early_and_late(self, family: str, folders: dict[str, Path]):
        for mode in set(POOLINGS) - set(fitting(FAMILIES[family])):
            sentence = (
                f"pooling.mode {mode!r} needs a [CLS] token, which {str(folders[family])!r} has not; "
                f"take pooling.mode {choices(map(repr, fitting(FAMILIES[family])))}"
            )
            with pytest.raises(UserError) as late:
                load(folders[family], mode)
            recipe = Recipe().preferring({"encoder.name": str(folders[family]), "pooling.mode": mode})
            with pytest.raises(UserError) as early:
                check_trainable(recipe)
            assert str(late.value) == str(early.value) == sentence

    def test_states_are_those_of_transformers_sentence_by_sentence(self, family: str, folders: dict[str, Path]):
        """Without padding or packing, by the attention that transformers chooses; in value and in gradient."""
        encoder = load(folders[family], "last")
        tokens = encoder.tokenize(TEXTS)
        plain = AutoModel.from_pretrained(folders[family], dtype=torch.float32, attn_implementation="eager").eval()
        plain = getattr(plain, "encoder", plain) if FAMILIES[family].loader != "AutoModel" else plain
        weights = torch.randn(encoder.dim, generator=torch.Generator().manual_seed(0))
        alone = torch.cat([plain(input_ids=torch.tensor([ids])).last_hidden_state[:, -1] for ids in tokens])
        together = encoder.embed(tokens)
        torch.testing.assert_close(together, alone, atol=1e-5, rtol=0)
        (together @ weights).sum().backward()
        (alone @ weights).sum().backward()
        ours, theirs = (model.get_input_embeddings().weight.grad for model in (encoder.backbone, plain))
        torch.testing.assert_close(ours, theirs, atol=1e-4, rtol=1e-4)

    def test_passes_tokens_and_precision(self, family: str, folders: dict[str, Path]):
        """Packed and padded passes agree, bf16 is close, and special tokens stand around a span."""
        encoder, low = load(folders[family]), load(folders[family], precision="bf16")
        tokens = encoder.tokenize(TEXTS)
        with torch.no_grad():
            (packed,), lengths = encoder._passes.states(tokens)
            (padded,), mask = encoder._passes.padded_states(tokens)
        assert lengths.tolist() == mask.sum(dim=1).tolist() == list(map(len, tokens))
        torch.testing.assert_close(packed, padded[mask.bool()], atol=1e-5, rtol=0)
        embedded = low.embed(tokens).detach().numpy()
        assert 0 < np.abs(embedded - low.encode(TEXTS)).max() < 0.15
        inside = encoder.tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"]
        assert encoder.wrap(inside) == tokens[0]
        assert encoder.specials == len(tokens[0]) - len(inside)

    def test_it_is_cut_to_one_layer(self, family: str, folders: dict[str, Path], tmp_path: Path):
        if FAMILIES[family].layers is None:
            with pytest.raises(UserError, match="has layers that cannot be cut; ask for fewer, or leave it at none"):
                check_encoder(EncoderConfig(name=str(folders[family]), layers=1))
            return
        with pytest.raises(UserError, match=r"encoder\.layers is 3, but .* has 2 layers; ask for fewer"):
            check_encoder(EncoderConfig(name=str(folders[family]), layers=3))
        check_encoder(EncoderConfig(name=str(folders[family]), layers=2))
        whole, cut = load(folders[family], "first_last_mean"), load(folders[family], "first_last_mean", layers=1)
        assert sum(p.numel() for p in cut.parameters()) < sum(p.numel() for p in whole.parameters())
        assert not np.allclose(cut.encode(TEXTS), whole.encode(TEXTS), atol=1e-3)
        theirs = reloaded(cut, tmp_path / "cut")
        np.testing.assert_allclose(theirs.encode(TEXTS), cut.encode(TEXTS), atol=1e-5, rtol=0)

    def test_long_input_is_cut_at_the_longest(self, family: str, folders: dict[str, Path], tmp_path: Path):
        encoder = load(folders[family], max_length=100)
        text = " ".join([LONG] * 10)
        assert encoder.max_length == (100 if family in ("t5", "mt5", "umt5") else LONGEST)
        (ids,) = encoder.tokenize([text])
        assert len(ids) == encoder.max_length
        assert ids[len(ids) - len(encoder._special_tokens[1]) :] == encoder._special_tokens[1], "the end token is kept"
        theirs = reloaded(encoder, tmp_path / "long")
        np.testing.assert_allclose(theirs.encode([text]), encoder.encode([text]), atol=1e-5, rtol=0)

    def test_bf16_weights_train_and_are_saved_in_fp32(self, family: str, folders: dict[str, Path], tmp_path: Path):
        encoder, full = load(folders[family], dtype="bf16"), load(folders[family])
        bytes_of = [sum(weight.nbytes for weight in model.parameters()) for model in (encoder, full)]
        assert bytes_of[0] < 0.51 * bytes_of[1]
        assert {str(buffer.dtype) for buffer in encoder.buffers()} == {str(buffer.dtype) for buffer in full.buffers()}
        np.testing.assert_allclose(encoder.encode(TEXTS), full.encode(TEXTS), atol=0.1)
        optimiser = torch.optim.AdamW(encoder.parameters(), lr=1e-2, fused=True)
        tokens, before = encoder.tokenize(TEXTS), encoder.encode(TEXTS)
        for _ in range(2):
            embedded = encoder.embed(tokens)
            assert embedded.dtype == torch.float32
            embedded[:, 0].sum().backward()
            after = encoder.encode(TEXTS)  # between a backward pass and the step that follows
            optimiser.step()
        assert all(states["exp_avg"].dtype == weight.dtype for weight, states in optimiser.state.items())
        assert not np.array_equal(after, before)
        theirs = reloaded(encoder, tmp_path / "saved")
        np.testing.assert_allclose(theirs.encode(TEXTS), encoder.encode(TEXTS), atol=1e-5, rtol=0)
        assert sum(weight.nbytes for weight in encoder.parameters()) == bytes_of[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_who_sees_whom(family: str, folders: dict[str, Path]):
    """A later word changes the first word's state in an encoder, and in no decoder; packed as padded."""
    encoder = load(folders[family])
    first, other = encoder.tokenize(["two dogs run in the park", "two dogs run in the water"])
    start = len(encoder._special_tokens[0])
    for packed in (encoder._passes.packed, False):
        encoder._passes.packed = packed
        with torch.no_grad():
            (states,), _ = encoder._passes.states([first, other])
        same = torch.allclose(states[start], states[len(first) + start], atol=1e-6)
        assert same == FAMILIES[family].causal


@pytest.mark.parametrize("family", ["modernbert", "mistral"])
def test_near_attention_ends_at_its_window(family: str, folders: dict[str, Path], tmp_path: Path):
    """The packed pass is equal to transformers' own (above), and not because the window is never reached."""
    wide = write_model(family, tmp_path, **{"local_attention" if family == "modernbert" else "sliding_window": 128})
    near, far = load(folders[family], "last").encode(TEXTS), load(wide, "last").encode(TEXTS)
    lengths = np.array([len(ids) for ids in load(wide).tokenize(TEXTS)])
    apart = np.abs(near - far).max(axis=1)
    assert (apart[lengths <= WINDOW] < 1e-5).all()
    assert (apart[lengths > 2 * WINDOW] > 1e-4).all()
    assert (lengths <= WINDOW).any()
    assert (lengths > 2 * WINDOW).any()


@pytest.mark.parametrize("family", ["llama", "mistral"])
def test_a_padding_token_is_found_and_saved(family: str, folders: dict[str, Path], tmp_path: Path):
    assert AutoTokenizer.from_pretrained(folders[family]).pad_token is None
    load(folders[family], "last").save(tmp_path / "saved")
    assert AutoTokenizer.from_pretrained(tmp_path / "saved").pad_token == "</s>"


def test_a_sentence_without_a_token_has_an_embedding(folders: dict[str, Path]):
    """Qwen2's tokenizer puts nothing around a text, so an empty one has no token at all."""
    encoder = load(folders["qwen2"], "last")
    assert encoder.tokenizer("")["input_ids"] == []
    embedded = encoder.encode(["", "two dogs run", ""])
    assert np.isfinite(embedded).all()
    np.testing.assert_allclose(embedded[0], embedded[2], atol=1e-6)


@pytest.mark.parametrize("family", ["bart", "gpt2"])
def test_another_family_is_refused_early_and_late(family: str, tmp_path: Path):
    AutoConfig.for_model(family).save_pretrained(tmp_path)
    make_tokenizer("bert").save_pretrained(tmp_path)
    config = EncoderConfig(name=str(tmp_path))
    for refuse in (lambda: check_encoder(config), lambda: load_encoder(config, Mean())):
        with pytest.raises(UserError) as caught:
            refuse()
        sentence = f"the encoder {str(tmp_path)!r} is of the family {family!r}, which is not known here; the families"
        assert str(caught.value).startswith(f"{sentence} are albert, bert, ")
        assert "\n" not in str(caught.value)


def test_a_family_from_outside_is_one_entry(tmp_path: Path):
    """The plugin of `docs/encoders.md`."""
    page = (Path(__file__).parents[3] / "docs" / "encoders.md").read_text()
    (plugin,) = re.findall(r"^```python my_family.py\n(.*?)^```", page, re.S | re.M)
    (tmp_path / "my_family.py").write_text(plugin)
    settings = json.loads((write_model("qwen2", tmp_path / "model") / "config.json").read_text())
    kept = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
    Olmo2Model(Olmo2Config(**{name: settings[name] for name in kept})).save_pretrained(tmp_path / "model")
    load_plugin(tmp_path / "my_family.py")
    try:
        encoder = load(tmp_path / "model", "last", layers=1)
        theirs = reloaded(encoder, tmp_path / "saved")
        np.testing.assert_allclose(theirs.encode(TEXTS), encoder.encode(TEXTS), atol=1e-5, rtol=0)
    finally:
        FAMILIES.remove("olmo2")


def test_the_page_of_encoders_names_every_family_and_how_it_passes(folders: dict[str, Path]):
    page = (Path(__file__).parents[3] / "docs" / "encoders.md").read_text()
    passes_of = {}
    for line in page.splitlines():
        if line.startswith("| `") and line.count(" | ") == 3:
            names, _, _, passes = line.strip("| ").split(" | ")
            passes_of |= dict.fromkeys(re.findall(r"`([^`]+)`", names), passes)
    assert passes_of == {name: "packed" if load(folders[name])._passes.packed else "padded" for name in FAMILIES}


def test_bf16_weights_with_masked_language_modelling(folders: dict[str, Path]):
    config = EncoderConfig(name=str(folders["bert"]), dtype="bf16")
    encoder = load_encoder(config, Mean(), device="cpu", masked_lm=True)
    assert isinstance(encoder, TransformerEncoder)
    assert encoder.mlm_head is not None
    value, count = encoder.mlm_head.loss(encoder.tokenize(TEXTS), torch.Generator().manual_seed(0), range(len(TEXTS)))
    value.backward()
    assert count > 0
    assert torch.isfinite(value)
    words = encoder.backbone.get_input_embeddings().weight
    assert words.dtype == words.grad.dtype == torch.bfloat16
    assert sum(parameter is words for parameter in encoder.parameters()) == 1


def test_positions_that_are_counted_from_no_token_of_padding_are_refused() -> None:
    config = {"model_type": "roberta", "max_position_embeddings": 514}
    assert longest_input(config) == longest_input({**config, "pad_token_id": 1}) == 512
    assert longest_input({**config, "model_type": "bert", "pad_token_id": None}) == 514
    with pytest.raises(UserError, match=r"config\.json has pad_token_id None; write the token's number there"):
        longest_input({**config, "pad_token_id": None})
