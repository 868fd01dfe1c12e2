"""Cosines of a few sentences: which sentences, and the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from trainables.errors import UserError
from trainables.senteval.cosines import TOPICS, cosines, sentences


def test_in_the_hard_topics_words_mislead():
    """There the sentence that disagrees shares more words with the anchor than the one that agrees."""
    for name in ("smartphone", "food"):
        anchor, agreeing, other = (set(sentence.lower().strip(".").split()) for sentence in TOPICS[name])
        assert len(anchor & other) > 3 + len(anchor & agreeing)


def test_a_file(tmp_path: Path):
    path = tmp_path / "mine.txt"
    path.write_text("Größe zählt.\n\n  two words \n", encoding="utf-8")
    assert sentences(str(path)) == ["Größe zählt.", "two words"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "do not exist; use `topics`"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"one\n\n", "takes 2 to 40 sentences, one a line; .* has 1"),
        (b"x\n" * 41, "has 41"),
    ],
)
def test_bad_files(tmp_path: Path, content: bytes | None, message: str):
    path = tmp_path / "mine.txt"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        sentences(str(path))


def test_cosines():
    rows = {"a": [3.0, 0.0], "b": [0.0, 0.5], "c": [-1.0, 1.0]}

    def encode(listed: Sequence[str]) -> np.ndarray:
        return np.array([rows[name] for name in listed], dtype=np.float32)

    table = cosines(encode, ["a", "b", "c"])
    half = 0.5**0.5
    assert table.dtype == np.float32
    np.testing.assert_allclose(table, [[1, 0, -half], [0, 1, half], [-half, half, 1]], atol=1e-7)


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_no_direction(value: float):
    def encode(listed: Sequence[str]) -> np.ndarray:
        return np.array([[1.0], [value]])

    with pytest.raises(UserError, match="no direction for 'second'"):
        cosines(encode, ["first", "second"])
