"""Tests that every encoder must pass (`trainables/encoders/contract.py`). To run them for your own encoder:

    class TestMine(EncoderContract):
        @pytest.fixture
        def encoder(self) -> MyEncoder:
            return MyEncoder(...)

For a trainable encoder, inherit `TrainableEncoderContract`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from trainables.encoders.contract import BaseEncoder, TrainableEncoder, members
from trainables.errors import UserError

SENTENCES = [
    "a man is sleeping",
    "two dogs run",
    "the woman in the red coat plays a piano near the old river while it rains",
    "a",
    "the children are eating apples in the park",
]
"""Sentences of different lengths. A test class may set others; their embeddings must differ."""
ROUNDING = 1e-5
"""Largest allowed difference between equal embeddings: batches of other shapes are summed in another order."""


class EncoderContract:
    """Tests of a `BaseEncoder`. The fixture `encoder` must return one in float32 that does not count padding."""

    sentences = SENTENCES
    protocol: type = BaseEncoder

    @pytest.fixture
    def encoder(self) -> BaseEncoder:
        raise NotImplementedError("give a fixture `encoder`")

    def test_it_has_all_that_the_contract_asks_for(self, encoder: BaseEncoder) -> None:
        assert [name for name in members(self.protocol) if not hasattr(encoder, name)] == []

    def test_embeddings_are_float32_one_row_for_each_sentence(self, encoder: BaseEncoder) -> None:
        embedded = encoder.encode(self.sentences)
        assert isinstance(embedded, np.ndarray)
        assert embedded.dtype == np.float32
        assert embedded.shape == (len(self.sentences), encoder.dim)
        assert np.isfinite(embedded).all()

    def test_no_sentences_give_no_rows(self, encoder: BaseEncoder) -> None:
        embedded = encoder.encode([])
        assert (embedded.shape, embedded.dtype) == ((0, encoder.dim), np.float32)

    def test_rows_are_in_the_order_of_the_sentences(self, encoder: BaseEncoder) -> None:
        forward, backward = encoder.encode(self.sentences), encoder.encode(self.sentences[::-1])
        np.testing.assert_allclose(backward[::-1], forward, atol=ROUNDING)
        assert not np.allclose(backward, forward, atol=ROUNDING), "the sentences should differ"

    def test_a_sentence_is_embedded_as_if_alone(self, encoder: BaseEncoder) -> None:
        alone = np.concatenate([encoder.encode([sentence]) for sentence in self.sentences])
        np.testing.assert_allclose(encoder.encode(self.sentences), alone, atol=ROUNDING)

    def test_nothing_is_drawn_at_random(self, encoder: BaseEncoder) -> None:
        before = torch.get_rng_state()
        np.testing.assert_array_equal(encoder.encode(self.sentences), encoder.encode(self.sentences))
        assert torch.equal(torch.get_rng_state(), before)

    def test_its_fingerprint_is_sixteen_digits_and_stays(self, encoder: BaseEncoder) -> None:
        before = encoder.fingerprint()
        assert len(before) == 16
        assert int(before, 16) >= 0
        encoder.encode(self.sentences)
        assert encoder.fingerprint() == before

    def test_it_is_saved_as_a_stock_model_or_says_why_not(self, encoder: BaseEncoder, tmp_path: Path) -> None:
        from sentence_transformers import SentenceTransformer

        folder = tmp_path / "model"
        if encoder.unsavable is not None:
            with pytest.raises(UserError):
                encoder.save(folder)
            assert not folder.exists()
            return
        encoder.save(folder)
        model = SentenceTransformer(str(folder), device="cpu", local_files_only=True, trust_remote_code=False)
        np.testing.assert_allclose(model.encode(self.sentences), encoder.encode(self.sentences), atol=ROUNDING)
        assert len(str(model)) < 5_000, "what a model prints is to be read"
        assert not [path.name for path in folder.rglob("*") if path.suffix in (".py", ".bin", ".pkl")]


class TrainableEncoderContract(EncoderContract):
    """Tests of a `TrainableEncoder`."""

    protocol = TrainableEncoder

    @pytest.fixture
    def encoder(self) -> TrainableEncoder:
        raise NotImplementedError("give a fixture `encoder`")

    def test_embed_gives_what_encode_gives(self, encoder: TrainableEncoder) -> None:
        encoder.train(False)
        embedded = encoder.embed(encoder.tokenize(self.sentences))
        assert str(embedded.dtype) == "torch.float32"
        np.testing.assert_allclose(embedded.detach().cpu().numpy(), encoder.encode(self.sentences), atol=ROUNDING)

    def test_encode_is_without_dropout_and_leaves_the_mode(self, encoder: TrainableEncoder) -> None:
        encoder.train(False)
        before = encoder.encode(self.sentences)
        encoder.train()
        np.testing.assert_array_equal(encoder.encode(self.sentences), before)
        assert getattr(encoder, "training", True), "the mode is the caller's"

    def test_gradients_reach_its_parameters(self, encoder: TrainableEncoder) -> None:
        encoder.train(False)
        encoder.embed(encoder.tokenize(self.sentences))[:, : encoder.dim // 2].sum().backward()
        gradients = [parameter.grad for parameter in encoder.parameters() if parameter.grad is not None]
        assert gradients
        assert any(float(gradient.abs().sum()) > 0 for gradient in gradients)

    def test_its_state_brings_its_embeddings_back(self, encoder: TrainableEncoder) -> None:
        before, fingerprint = encoder.encode(self.sentences), encoder.fingerprint()
        state = {name: tensor.clone() for name, tensor in encoder.state_dict().items()}
        for parameter in encoder.parameters():
            parameter.data.mul_(0.5).add_(0.1)
        assert not np.array_equal(encoder.encode(self.sentences), before)
        assert encoder.fingerprint() != fingerprint
        encoder.load_state_dict(state)
        np.testing.assert_array_equal(encoder.encode(self.sentences), before)
        assert encoder.fingerprint() == fingerprint
