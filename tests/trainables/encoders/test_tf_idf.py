"""TF-IDF of letters: cosines of the whole, in fewer numbers; of which files they are made."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_union

from tests.conftest import SENTENCES
from trainables.encoders import load_encoder
from trainables.encoders.tf_idf import DIM, TfIdf
from trainables.errors import UserError
from trainables.recipe import EncoderConfig


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_cosines_are_those_of_tfidf_but_for_what_fewer_numbers_blur():
    texts = [f"{first} {second}" for first in SENTENCES for second in SENTENCES]
    whole = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True).fit_transform(texts).toarray()
    counts = unit(TfIdf(texts).encode(texts))
    error = (counts @ counts.T - whole @ whole.T)[np.triu_indices(len(texts), 1)]
    assert abs(error.mean()) < 0.01
    assert 0 < error.std() < 1.5 / np.sqrt(DIM)
    control = unit(TfIdf(["nothing of these"]).encode(texts) + 1e-9)
    assert np.abs(control @ control.T - whole @ whole.T).max() > 0.5  # letters that are not known


def test_of_labelled_texts_a_classifier_reads_all_counts(tmp_path: Path):
    """Products of any text with a known one are those of all counts of letters and words, whatever the numbers of the
    embedding; without the words they are others. All numbers vary alike."""
    texts = [f"{first} {second}" for first in SENTENCES for second in SENTENCES]
    texts += texts[:1]
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    counts = make_union(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), letters).fit(texts)
    unknown = ["a hound barks at two buses", *texts[:2]]
    whole = (counts.transform(unknown) @ counts.transform(texts).T).toarray()
    encoder = TfIdf(texts, labelled=True)
    known = encoder.encode(texts)
    np.testing.assert_allclose(encoder.encode(unknown) @ known.T, whole, atol=1e-4)
    spread = known.std(axis=0)
    assert spread.max() < 2 * np.median(spread)

    alone = TfIdf(texts)
    assert np.abs(alone.encode(unknown) @ alone.encode(texts).T - whole).max() > 0.1
    rows = [{"sentence": text, "label": "x"} for text in texts]
    loaded = load_encoder(EncoderConfig("tf_idf", str(write(tmp_path / "train.jsonl", *rows))), device="cpu")
    assert loaded.dim == len(texts)


def test_a_fingerprint_knows_the_texts_that_span_the_space_and_their_order():
    texts = [*SENTENCES]
    same, turned = TfIdf(texts, labelled=True), TfIdf(texts[::-1], labelled=True)
    assert same.fingerprint() == TfIdf(texts, labelled=True).fingerprint() != turned.fingerprint()
    assert TfIdf(texts).fingerprint() == TfIdf(texts[::-1]).fingerprint(), "sums of counts know no order"


def test_labelled_texts_without_words_are_read_by_their_letters():
    encoder = TfIdf(["+1", "-1", "5 !"], labelled=True)
    assert encoder.encode(["+1", "?"]).any(axis=1).tolist() == [True, False]


def test_a_positive_is_embedded_with_its_anchors(tmp_path: Path):
    """An answer that shares no letters with a new question lies near it where a known question of that answer does."""
    rows = [
        {"anchor": "reset my password", "positive": ["see page 7"]},
        {"anchor": "password forgotten", "positive": ["see\n page 7"]},  # tests have single spaces
        {"anchor": "cancel the order", "positive": ["write to us", "call 12"]},
    ]
    encoder = load_encoder(EncoderConfig("tf_idf", str(write(tmp_path / "train.jsonl", *rows))), device="cpu")
    texts = ["see page 7", "reset my password", "password forgotten"]
    plain = TfIdf([text for row in rows for text in (row["anchor"], *row["positive"])])
    np.testing.assert_allclose(encoder.encode(texts)[0], plain.encode(texts).mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(encoder.encode(texts)[1:], plain.encode(texts)[1:])
    new = ["the password is lost", "see page 7", "write to us", "call 12"]
    question, right, *wrong = unit(encoder.encode(new))
    assert question @ right > 0.5 > 0.3 > max(question @ answer for answer in wrong)
    question, right, *_ = unit(plain.encode(new))
    assert question @ right < 0.1
    assert encoder.fingerprint() != plain.fingerprint()


def test_all_texts_of_a_row_count_and_its_label_does_not(tmp_path: Path):
    rows = [{"anchor": "a dog", "positive": ["a hound", "a puppy"], "n": 3}, {"sentence": "a bus", "label": "zebra"}]
    encoder = load_encoder(EncoderConfig("tf_idf", str(write(tmp_path / "train.jsonl", *rows))), device="cpu")
    known = encoder.encode(["dog", "puppy", "bus", "zebra", ""]).any(axis=1)
    assert known.tolist() == [True, True, True, False, False]


def test_without_texts_it_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="holds no text"):
        load_encoder(EncoderConfig("tf_idf", str(write(tmp_path / "train.jsonl", {"label": "x"}))))
    with pytest.raises(UserError, match=r"no texts at 'none\.jsonl'; name a \.jsonl file of rows"):
        load_encoder(EncoderConfig("tf_idf", "none.jsonl"))
