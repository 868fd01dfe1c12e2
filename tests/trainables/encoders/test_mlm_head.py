"""Masked language modelling: masks, the loss against transformers' own, ties, shares; special tokens around spans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from tokenizers import ByteLevelBPETokenizer, processors
from transformers import AutoConfig, AutoModelForMaskedLM, PreTrainedTokenizerFast

from tests.conftest import SENTENCES, loaded
from tests.families import SIZES, make_tokenizer, write_model
from trainables.encoders import load_encoder
from trainables.encoders.families import FAMILIES
from trainables.encoders.mlm_head import IGNORED, mask_tokens
from trainables.encoders.pooling import FirstLastMean, Mean
from trainables.encoders.transformer import TransformerEncoder
from trainables.errors import UserError
from trainables.recipe import SCENES_ENCODER, EncoderConfig

HEADS = {family.name: family.mlm_head for family in FAMILIES.values() if family.mlm_head}

EXACT: Any = {"rtol": 1e-10, "atol": 0}, {"rtol": 1e-8, "atol": 1e-12}
"""How near a loss and its gradients come to transformers' own in double precision."""


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def tiny(family: str, tokenizer: Any, **settings: Any) -> Any:
    """A random masked language model of a family, with as many words as the tokenizer."""
    config = AutoConfig.for_model(
        family, vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **(SIZES[family] | settings)
    )
    model = AutoModelForMaskedLM.from_config(config)
    with torch.no_grad():  # else most biases are zero, and a missing one is not seen
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory, make_encoder: Any) -> dict[str, Path]:
    """A checkpoint of each family whose head is known."""
    tokenizer = make_encoder().tokenizer
    tokenizer.model_max_length = 62  # RoBERTa's two spare positions are not used
    folders = {}
    for seed, family in enumerate(HEADS):
        torch.manual_seed(seed)
        folders[family] = tmp_path_factory.mktemp(family)
        tiny(family, tokenizer).save_pretrained(folders[family])
        tokenizer.save_pretrained(folders[family])
    return folders


def load(name: Any, mode: Any = "mean", precision: Any = "fp32", **keys: Any) -> TransformerEncoder:
    return loaded(name, mode, how={"masked_lm": True, "training_precision": precision}, **keys)


@pytest.fixture(scope="module")
def tokenizer(make_encoder: Any) -> Any:
    """Of the built-in encoder; a test that changes it makes its own."""
    return make_encoder().tokenizer


class TestMasks:
    def test_statistics(self, make_encoder: Any):
        encoder = make_encoder()
        tokens = encoder.tokenize(["the man and the dog run in the park while it rains on a river " * 6]) * 1200
        masked, labels = mask_tokens(tokens, encoder.tokenizer, seeded())
        before, after, label = (np.concatenate([np.array(row) for row in rows]) for rows in (tokens, masked, labels))
        ordinary = ~np.isin(before, encoder.tokenizer.all_special_ids)
        chosen = label != IGNORED
        assert (label[chosen] == before[chosen]).all()
        assert (after[~chosen] == before[~chosen]).all()
        assert not (chosen & ~ordinary).any(), "special tokens are never chosen"
        n = ordinary.sum()
        assert abs(chosen.sum() / n - 0.15) < 4 * (0.15 * 0.85 / n) ** 0.5
        hidden = after[chosen] == encoder.tokenizer.mask_token_id
        kept = after[chosen] == before[chosen]
        m = chosen.sum()
        words = ordinary_words(encoder.tokenizer)
        assert abs(hidden.mean() - 0.8) < 4 * (0.8 * 0.2 / m) ** 0.5
        assert abs(kept.mean() - (0.1 + 0.1 / len(words))) < 4 * (0.1 * 0.9 / m) ** 0.5
        replaced = after[chosen][~hidden & ~kept]
        assert set(replaced) <= set(words)
        counts = np.bincount(replaced, minlength=len(encoder.tokenizer))[words]
        expected = len(replaced) / len(words)
        chi2 = ((counts - expected) ** 2 / expected).sum()
        assert abs(chi2 - len(words)) < 5 * (2 * len(words)) ** 0.5, "every word alike often"

    @given(st.lists(st.lists(st.integers(0, 60), max_size=12), max_size=12), st.integers(0, 2**32 - 1))
    def test_every_item_with_a_word_has_one_chosen(self, tokenizer: Any, items: list[list[int]], seed: int):
        special = set(tokenizer.all_special_ids)
        masked, labels = mask_tokens(items, tokenizer, seeded(seed))
        assert [len(row) for row in masked] == [len(row) for row in labels] == [len(row) for row in items]
        for item, hidden, label in zip(items, masked, labels, strict=True):
            assert any(value != IGNORED for value in label) == any(token not in special for token in item)
            for token, now, value in zip(item, hidden, label, strict=True):
                assert value == IGNORED or (value == token and token not in special)
                assert value != IGNORED or now == token
        assert mask_tokens(items, tokenizer, seeded(seed)) == (masked, labels)

    def test_another_seed_hides_others(self, make_encoder: Any):
        encoder = make_encoder()
        tokens = encoder.tokenize(SENTENCES)
        assert mask_tokens(tokens, encoder.tokenizer, seeded(1)) != mask_tokens(tokens, encoder.tokenizer, seeded(2))


def ordinary_words(tokenizer: Any) -> np.ndarray:
    return np.setdiff1d(np.arange(len(tokenizer)), tokenizer.all_special_ids)


@pytest.mark.parametrize("family", HEADS)
class TestEveryHead:
    def test_loss_and_gradient_are_those_of_transformers(
        self, family: str, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
    ):
        """Item by item without padding, and with logits of every token there."""
        encoder = load(folders[family]).double()
        tokens = encoder.tokenize(SENTENCES)
        monkeypatch.setattr("trainables.encoders.passes.TOKENS_PER_PASS", {"cpu": 30})  # several passes
        value, count = encoder.mlm_head.loss(tokens, seeded(5), range(len(tokens)))
        value.backward()

        naive = AutoModelForMaskedLM.from_pretrained(folders[family], dtype=torch.float64).eval()
        masked, labels = mask_tokens(tokens, encoder.tokenizer, seeded(5))
        oracle = torch.zeros((), dtype=torch.float64)
        for ids, label in zip(masked, labels, strict=True):
            alone = naive(input_ids=torch.tensor([ids]), labels=torch.tensor([label])).loss
            oracle = oracle + alone * sum(target != IGNORED for target in label)
        oracle.backward()
        assert count == sum(target != IGNORED for label in labels for target in label) > len(tokens)
        # Rotary positions are computed in fp32, whatever the weights are.
        near, nearly = ({"rtol": 1e-6, "atol": 0}, {"rtol": 1e-4, "atol": 1e-5}) if family == "modernbert" else EXACT
        torch.testing.assert_close(value, oracle, **near, check_dtype=False)
        theirs = dict(naive.base_model.named_parameters())
        for name, parameter in encoder.backbone.named_parameters():
            gradient = theirs[name].grad
            if gradient is None:
                assert parameter.grad is None, name
            else:
                torch.testing.assert_close(parameter.grad, gradient, **nearly)
        parts = torch.nn.Sequential(*(getattr(naive, part) for part in HEADS[family]))
        ours = dict(encoder.mlm_head.head.named_parameters())
        assert ours
        for name, parameter in parts.named_parameters():
            torch.testing.assert_close(ours[name].grad, parameter.grad, **nearly)

    def test_the_embeddings_are_the_same_with_it_and_the_words_tied(self, family: str, folders: dict[str, Path]):
        config, pooling = EncoderConfig(name=str(folders[family])), FirstLastMean()
        without = load_encoder(config, pooling, device="cpu")
        encoder = load(folders[family], "first_last_mean")
        np.testing.assert_array_equal(encoder.encode(SENTENCES), without.encode(SENTENCES))
        assert without.mlm_head is None
        more = set(encoder.state_dict()) - set(without.state_dict())
        assert more
        assert all(name.startswith("mlm_head.head.") for name in more), "the backbone is there once"
        words = encoder.backbone.get_input_embeddings().weight
        tied = [name for name, weight in encoder.mlm_head.head.named_parameters() if weight is words]
        assert len(tied) == 1
        assert sum(weight is words for weight in encoder.parameters()) == 1
        state = {name: value.clone() + 1 for name, value in encoder.state_dict().items()}
        encoder.load_state_dict(state)
        encoder.to(torch.float64)
        again = dict(encoder.mlm_head.head.named_parameters())
        assert again[tied[0]] is encoder.backbone.get_input_embeddings().weight


class TestMLMHead:
    def test_shares_add_up_in_value_gradient_and_count(self, make_encoder: Any):
        def run(shares: list[list[int]]) -> tuple[float, set[int], torch.Tensor]:
            torch.manual_seed(3)
            encoder = load(SCENES_ENCODER).double()
            results = [encoder.mlm_head.loss(tokens, seeded(9), share) for share in shares]
            for value, _ in results:
                value.backward()
            gradient = encoder.backbone.get_input_embeddings().weight.grad
            return sum(value.item() for value, _ in results), {count for _, count in results}, gradient

        tokens = make_encoder().tokenize([*SENTENCES, ""])
        whole = run([list(range(len(tokens)))])
        parts = run([[6, 0, 3], [], [5, 1], [2, 4]])
        assert parts[0] == pytest.approx(whole[0], rel=1e-12)
        assert parts[1] == whole[1]
        assert len(parts[1]) == 1
        torch.testing.assert_close(parts[2], whole[2], rtol=1e-10, atol=1e-14)

    def test_an_empty_share_and_an_item_without_words_go_backwards(self):
        encoder = load(SCENES_ENCODER)
        for tokens, share in ((encoder.tokenize(SENTENCES), []), (encoder.tokenize([""]), [0]), ([], [])):
            value, count = encoder.mlm_head.loss(tokens, seeded(), share)
            value.backward()
            assert value.item() == 0
            assert (count > 0) == (len(tokens) > 1)

    def test_trimmed_layers_are_respected_and_the_head_is_not_saved(self, folders: dict[str, Path], tmp_path: Path):
        encoder = load(folders["bert"], layers=1)
        assert encoder.backbone.config.num_hidden_layers == 1
        value, _ = encoder.mlm_head.loss(encoder.tokenize(SENTENCES), seeded(), [0, 1])
        value.backward()
        encoder.save(tmp_path / "saved")
        load_encoder(EncoderConfig(name=str(folders["bert"]), layers=1), Mean(), device="cpu").save(
            tmp_path / "without"
        )

        saved, without = (load_file(tmp_path / name / "model.safetensors") for name in ("saved", "without"))
        assert saved.keys() == without.keys()

    @pytest.mark.parametrize("name", ["a checkpoint without a head", SCENES_ENCODER])
    def test_a_fresh_head_comes_from_the_seed_and_nothing_is_printed(
        self, name: str, make_encoder: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ):
        if name != SCENES_ENCODER:
            make_encoder("mean").save(tmp_path / "model")
            name = str(tmp_path / "model")
        capfd.readouterr()
        heads = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            encoder = load(name)
            assert encoder.mlm_head.head[0].predictions.decoder.weight is encoder.backbone.get_input_embeddings().weight
            heads.append(encoder.mlm_head.head[0].predictions.transform.dense.weight)
        assert torch.equal(heads[0], heads[1])
        assert not torch.equal(heads[0], heads[2])
        out, err = capfd.readouterr()
        assert (out, err) == ("", "")

    def test_bf16_is_close(self):
        torch.manual_seed(0)
        encoder = load(SCENES_ENCODER)
        tokens = encoder.tokenize(SENTENCES)
        exact, _ = encoder.mlm_head.loss(tokens, seeded(), range(len(tokens)))
        torch.manual_seed(0)
        encoder = load(SCENES_ENCODER, precision="bf16")
        low, _ = encoder.mlm_head.loss(tokens, seeded(), range(len(tokens)))
        assert low.dtype == torch.float32
        assert low.item() == pytest.approx(exact.item(), rel=0.02)
        assert low.item() != exact.item()

    def test_a_tokenizer_without_a_mask_token(self, make_encoder: Any, tmp_path: Path):
        encoder = make_encoder("mean")
        tokenizer = encoder.tokenizer
        tokenizer.mask_token = None
        encoder.backbone.save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        with pytest.raises(
            UserError, match=r"needs a mask token, which the tokenizer of .* has not; set objective\.mlm"
        ):
            load(tmp_path)

    def test_a_family_whose_head_is_not_known(self, tmp_path: Path):
        write_model("llama", tmp_path)
        tokenizer = make_tokenizer("llama")
        tokenizer.mask_token = "<mask>"
        tokenizer.save_pretrained(tmp_path)
        with pytest.raises(UserError, match=r"knows the heads of albert, bert, .* but .* is of the family 'llama'"):
            load(tmp_path)

    def test_the_newer_head_of_deberta(self, make_encoder: Any, tmp_path: Path):
        tokenizer = make_encoder().tokenizer
        tiny("deberta-v2", tokenizer, legacy=False).save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        with pytest.raises(UserError, match=r"knows the older form of DeBERTa's head, and .*legacy=false") as caught:
            load(tmp_path)
        assert "\n" not in str(caught.value)


def byte_pairs(folder: Path) -> Any:
    """A tokenizer as RoBERTa's, learnt from the test sentences."""
    bpe = ByteLevelBPETokenizer()
    bpe.train_from_iterator(SENTENCES, 300, 1, False, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    bpe._tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe._tokenizer,
        **{"bos_token": "<s>", "cls_token": "<s>", "eos_token": "</s>", "sep_token": "</s>"},
        **{"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>", "model_max_length": 62},
    )


class TestSpans:
    @pytest.mark.parametrize("family", ["bert", "roberta"])
    def test_special_tokens_around_a_span(self, family: str, make_encoder: Any, tmp_path: Path):
        tokenizer = make_encoder().tokenizer if family == "bert" else byte_pairs(tmp_path)
        torch.manual_seed(0)
        encoder = TransformerEncoder(tiny(family, tokenizer).base_model, tokenizer, Mean(), 62).eval()
        assert encoder.specials == 2
        plain = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in SENTENCES]
        spans = [encoder.wrap(ids) for ids in plain]
        assert spans == encoder.tokenize(SENTENCES)
        assert encoder.wrap([]) == encoder.tokenize([""])[0]
        np.testing.assert_array_equal(encoder.embed(spans).detach().numpy(), encoder.encode(SENTENCES))
        document = (plain[2] * 9)[: 62 - encoder.specials]
        longest = encoder.wrap(document)
        assert len(longest) == encoder.max_length
        assert torch.isfinite(encoder.embed([longest, spans[0]])).all()

    def test_a_tokenizer_that_adds_only_an_end(self, make_encoder: Any):
        encoder = make_encoder()
        encoder.tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
            single="$A [SEP]", special_tokens=[("[SEP]", encoder.tokenizer.sep_token_id)]
        )
        assert encoder.specials == 1
        assert encoder.wrap([9, 8]) == [9, 8, encoder.tokenizer.sep_token_id]
