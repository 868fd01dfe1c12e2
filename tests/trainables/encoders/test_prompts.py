"""Prompts: before queries and documents in training, before all that is evaluated, and in the saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

from tests.conftest import SENTENCES, loaded
from trainables.corpora.batch import Batch
from trainables.encoders import load_encoder
from trainables.encoders.adapter import AdaptedEncoder
from trainables.encoders.contract import Encoder, for_documents
from trainables.encoders.lora import LoraEncoder
from trainables.encoders.postprocess import Postprocessed
from trainables.encoders.transformer import TransformerEncoder
from trainables.objectives import OBJECTIVES
from trainables.recipe import SCENES_ENCODER, EncoderConfig, Recipe, parse_assignment
from trainables.training.distributed import Workers
from trainables.training.model import TokenizedBatch
from trainables.trial.build import build_model

QUERY, DOCUMENT = "the dog ", "two women "


def load(query: str | None = None, document: str | None = None, max_length: int = 128) -> TransformerEncoder:
    return loaded(max_length=max_length, query_prompt=query, document_prompt=document)


def chain() -> Batch:
    """Two pairs; the sentence in the middle is the hypothesis of one and the premise of the other."""
    return Batch(
        sentences=["a man sleeps", "a man rests", "a boy runs"],
        premise=np.array([0, 1]),
        hypothesis=np.array([1, 2]),
        label=np.zeros(2, dtype=np.int8),
        group=np.arange(2),
    )


@pytest.mark.parametrize("query", [QUERY, None])
def test_a_sentence_in_two_roles_becomes_two_items_of_one_text(query: str | None):
    batch = TokenizedBatch.of(chain(), load(query, DOCUMENT))
    before = query or ""
    texts = [f"{before}a man sleeps", f"{before}a man rests", "two women a boy runs", "two women a man rests"]
    assert batch.tokens == load().tokenize(texts)
    assert batch.premise.tolist() == [0, 1]
    assert batch.hypothesis.tolist() == [3, 2]
    assert batch.text[1] == batch.text[3], "the same sentence, whatever stands before it"
    assert len(set(batch.text.tolist())) == 3


@pytest.mark.parametrize(("query", "document"), [(None, None), (QUERY, QUERY)])
def test_one_prompt_leaves_the_items_as_they_are(query: Any, document: Any):
    batch = TokenizedBatch.of(chain(), load(query, document))
    assert batch.tokens == load().tokenize([f"{query or ''}{sentence}" for sentence in chain().sentences])
    assert batch.hypothesis.tolist() == [1, 2]


def test_what_is_evaluated_has_the_query_s(tmp_path: Path):
    encoder = load(QUERY, DOCUMENT, max_length=12)
    bare = load(max_length=12)
    expected = bare.encode([QUERY + sentence for sentence in SENTENCES])
    np.testing.assert_array_equal(encoder.encode(SENTENCES), expected)
    embedded = encoder.embed(encoder.tokenize(SENTENCES)).detach().numpy()
    np.testing.assert_array_equal(embedded, expected)
    adapted = AdaptedEncoder(encoder, tmp_path / "kept")
    np.testing.assert_array_equal(adapted.store.encode(SENTENCES), expected)


def test_prompts_are_saved(tmp_path: Path):
    encoder = load(QUERY, DOCUMENT, max_length=12)
    encoder.save(tmp_path / "model")
    theirs = SentenceTransformer(str(tmp_path / "model"), device="cpu", local_files_only=True)
    np.testing.assert_allclose(theirs.encode(SENTENCES), encoder.encode(SENTENCES), atol=1e-6)
    np.testing.assert_allclose(theirs.encode_query(list(SENTENCES)), encoder.encode(SENTENCES), atol=1e-6)
    documents = encoder.embed(encoder.tokenize(SENTENCES, DOCUMENT)).detach().numpy()
    np.testing.assert_allclose(of_documents(encoder).encode(SENTENCES), documents, atol=1e-6)
    np.testing.assert_allclose(theirs.encode_document(list(SENTENCES)), documents, atol=1e-6)
    assert np.abs(documents - encoder.encode(SENTENCES)).max() > 0.01
    own = load_encoder(EncoderConfig(name=str(tmp_path / "model")), device="cpu")
    np.testing.assert_allclose(own.encode(SENTENCES), encoder.encode(SENTENCES), atol=1e-6)


def of_documents(encoder: Encoder) -> Encoder:
    documents = for_documents(encoder)
    assert documents is not None
    return documents


def test_what_a_search_looks_for_has_the_document_s(tmp_path: Path):
    """Whatever is around the transformer, and in a model's own pipeline."""
    expected = load().encode([DOCUMENT + sentence for sentence in SENTENCES])
    encoder = load(QUERY, DOCUMENT)
    lora = LoraEncoder(load(QUERY, DOCUMENT), EncoderConfig(name=SCENES_ENCODER, adapter="lora"))
    encoder.save(tmp_path / "model")
    pipeline = load_encoder(EncoderConfig("pipeline", str(tmp_path / "model")), device="cpu")
    for model in (encoder, lora, pipeline):
        np.testing.assert_allclose(of_documents(model).encode(SENTENCES), expected, atol=1e-5)
        assert np.abs(model.encode(SENTENCES) - expected).max() > 0.01
    assert of_documents(pipeline).fingerprint() != pipeline.fingerprint()  # type: ignore[attr-defined]
    centered = Postprocessed(encoder, SENTENCES, "center")
    np.testing.assert_allclose(of_documents(centered).encode(SENTENCES), expected - centered.mean, atol=1e-5)
    for alike in (load(), load(QUERY, QUERY), Postprocessed(load(), SENTENCES, "center")):
        assert for_documents(alike) is None


def test_weights_in_bf16_are_saved_as_they_are_and_compute_as_they_were_scored(tmp_path: Path):
    encoder = load_encoder(EncoderConfig(name=SCENES_ENCODER, dtype="bf16"), device="cpu")
    encoder.save(tmp_path / "model")
    kept = load_file(str(tmp_path / "model" / "model.safetensors"))
    assert {tensor.dtype for tensor in kept.values()} == {torch.bfloat16}
    theirs = SentenceTransformer(str(tmp_path / "model"), device="cpu", local_files_only=True)
    np.testing.assert_allclose(theirs.encode(SENTENCES), encoder.encode(SENTENCES), atol=1e-6)
    again = load_encoder(EncoderConfig(name=str(tmp_path / "model"), dtype="bf16"), device="cpu")
    np.testing.assert_allclose(again.encode(SENTENCES), encoder.encode(SENTENCES), atol=1e-6)
    low = SentenceTransformer(str(tmp_path / "model"), device="cpu", model_kwargs={"dtype": "bfloat16"})
    assert {parameter.dtype for parameter in low.parameters()} == {torch.bfloat16}


def test_prompts_are_part_of_the_fingerprint():
    encoders = [load(), load(QUERY), load(None, QUERY), load(QUERY, DOCUMENT)]
    assert len({encoder.fingerprint() for encoder in encoders}) == 4
    assert load("", "").fingerprint() == load().fingerprint()


def test_a_prompt_is_taken_as_it_is_written():
    assert parse_assignment("encoder.query_prompt=query: ") == ("encoder.query_prompt", "query: ")
    assert parse_assignment("encoder.query_prompt=Task:\nQuery:") == ("encoder.query_prompt", "Task:\nQuery:")
    assert parse_assignment("encoder.query_prompt=none") == ("encoder.query_prompt", None)


def test_every_objective_trains_with_two_prompts(tiny_pairs: Any):
    """Two items of one text are no new case to any of them: the loss is finite and changes the encoder."""
    tried = 0
    for name, entry in OBJECTIVES.items():
        if "rows" not in entry.layouts or entry.mlm_only:
            continue
        encoder = load(QUERY, DOCUMENT)
        taught = {"objective.name": name, "objective.teacher": SCENES_ENCODER}
        model = build_model(Recipe().preferring(taught), encoder)
        sentences = list(dict.fromkeys([*tiny_pairs.premises, *tiny_pairs.hypotheses]))
        number = {text: i for i, text in enumerate(sentences)}
        premise = np.array([number[text] for text in tiny_pairs.premises])
        batch = Batch(
            sentences=sentences,
            premise=premise,
            hypothesis=np.array([number[text] for text in tiny_pairs.hypotheses]),
            label=tiny_pairs.labels,
            group=premise,
        )
        loss = model.loss(model.tokenized(batch), Workers(), torch.Generator().manual_seed(0)).value
        loss.backward()
        assert torch.isfinite(loss)
        assert float(encoder.backbone.get_input_embeddings().weight.grad.abs().sum()) > 0
        tried += 1
    assert tried > 1
