"""A training whose texts are tokenized once equals one that tokenizes each batch."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.trainables.training.test_training import BASE, Recorder, same_state, study
from trainables.encoders import load_encoder
from trainables.encoders.pooling import Mean
from trainables.recipe import EncoderConfig
from trainables.training import loop
from trainables.training.token_memory import TokenMemory

WORDS = ["a man", "two dogs", "", "runs", "Ünïted ☂", "the other", "sleeps " * 90]
KINDS = {"transformer": {"kind": "transformer"}, "static": {"kind": "static", "max_length": 16}}


def batches(count: int = 12) -> list[list[str]]:
    """Of uneven sizes, with texts that come again, in a batch and in later ones."""
    draws = random.Random(0)
    texts = [" ".join(draws.choices(WORDS, k=draws.randint(0, 5))) for _ in range(40)]
    return [[*draws.choices(texts, k=draws.randint(1, 30)), f"only here {number}"] for number in range(count)]


class Counting:
    """An encoder's tokens; remembers what it was asked for."""

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder
        self.texts: list[str] = []

    def tokenize(self, sentences: Sequence[str], *prompt: str) -> list[list[int]]:
        self.texts += [" | ".join([*prompt, text]) for text in sentences]
        tokens: list[list[int]] = self.encoder.tokenize(sentences, *prompt)
        return tokens


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("most_bytes", [0, 2_000, 2**20])
def test_tokens_are_the_encoder_s_and_each_is_made_once(kind: str, most_bytes: int):
    encoder: Any = load_encoder(EncoderConfig(name="scenes-small", **KINDS[kind]), Mean())
    counting: Any = Counting(encoder)
    memory = TokenMemory(counting, most_bytes)
    for batch in batches():
        tokens = memory.tokenize(batch)
        assert tokens == encoder.tokenize(batch)
        for row in tokens:
            row.clear()  # it is the caller's
    distinct = {text for batch in batches() for text in batch}
    assert (len(counting.texts) == len(distinct)) == (most_bytes == 2**20)
    assert set(counting.texts) == distinct
    assert (memory.bytes > 0) == (most_bytes > 0)
    assert memory.bytes <= most_bytes


def test_another_prompt_gives_other_tokens():
    counting: Any = Counting(load_encoder(EncoderConfig(name="scenes-small"), Mean()))
    memory = TokenMemory(counting)
    for _ in range(2):
        bare, prompted, empty = (memory.tokenize(["a man"], *prompt) for prompt in ((), ("two dogs ",), ("",)))
        assert bare == empty != prompted == counting.encoder.tokenize(["two dogs a man"])
    assert counting.texts == ["a man", "two dogs  | a man", " | a man"]


@pytest.mark.parametrize("size", [5, 13])
def test_a_training_is_the_same(size: int, monkeypatch: pytest.MonkeyPatch):
    """Of 13 rows; with batches of 5 the last one is short."""
    recipe = BASE.override({"optimisation.batch_size": size})
    memories: list[TokenMemory] = []

    class Seen(TokenMemory):
        def __init__(self, encoder: Any) -> None:
            super().__init__(encoder)
            memories.append(self)

    monkeypatch.setattr(loop, "TokenMemory", Seen)
    ours, theirs = Recorder(), Recorder()
    model, _ = study(recipe, ours)
    (memory,) = memories
    assert memory.bytes > 0
    monkeypatch.setattr(loop, "TokenMemory", lambda encoder: None)
    other, _ = study(recipe, theirs)
    assert len(ours.losses) > 3
    assert ours.losses == theirs.losses
    same_state(model, other)


def test_in_one_epoch_nothing_is_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(loop, "TokenMemory", lambda encoder: pytest.fail("no text comes again"))
    study(BASE.override({"optimisation.epochs": 1}), Recorder())
    with pytest.raises(pytest.fail.Exception):
        study(BASE, Recorder())
