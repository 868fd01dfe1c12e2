"""What all tests share: one thread each, no hypothesis deadlines, and a tiny corpus with a tiny encoder."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything loads torch
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from trainables.corpora.nli import NLIPairs
    from trainables.encoders.transformer import TransformerEncoder

settings.register_profile("shared machine", deadline=None)  # a busy machine is no failure
settings.load_profile("shared machine")

SENTENCES = (
    "a man is sleeping",
    "two dogs run",
    "the woman in the red coat plays a piano near the old river while it rains",
    "a",
    "the children are eating apples in the park",
    "a man is sleeping on a bench in the park with a small dog and two old women",
)
"""Of uneven length; the first word of each is known to the scenes vocabulary."""

# Three premises with several entailments, none, and one that another premise entails too.
ROWS = (
    ("a man is sleeping", "a person is sleeping", 0),
    ("a man is sleeping", "a man rests", 0),
    ("a man is sleeping", "a man sleeps in a bed at night", 1),
    ("a man is sleeping", "a man is running", 2),
    ("two dogs run in the park", "two animals run", 0),
    ("two dogs run in the park", "some dogs play with a ball", 1),
    ("two dogs run in the park", "two dogs sleep", 2),
    ("a woman plays a piano", "a woman plays a song for her friends", 1),
    ("a woman plays a piano", "a woman eats", 2),
    ("a boy runs", "a person is running", 0),
    ("a boy runs", "a boy runs quickly to the old river", 1),
    ("a boy runs", "a boy sleeps", 2),
    ("a man sleeps on a bench", "a person is sleeping", 0),
)


@pytest.fixture(scope="session")
def tiny_pairs() -> NLIPairs:
    """`ROWS` as a corpus."""
    return pairs_of(ROWS)


def pairs_of(rows: Any) -> NLIPairs:
    from trainables.corpora.nli import NLIPairs

    premises, hypotheses, labels = (list(column) for column in zip(*rows, strict=True))
    return NLIPairs(premises, hypotheses, np.array(labels, dtype=np.int8), 0, 0, "0" * 12, "tiny")


@pytest.fixture(scope="session")
def make_encoder() -> Any:
    """`make_encoder(mode)`: the built-in encoder, fresh and in evaluation mode; more options are `load_encoder`'s."""

    def make(
        mode: str = "mean_without_cls",
        layers: int | None = None,
        max_length: int = 128,
        padding: Any = None,
        **more: Any,
    ) -> TransformerEncoder:
        from trainables.encoders import load_encoder
        from trainables.encoders.transformer import TransformerEncoder
        from trainables.recipe import SCENES_ENCODER, EncoderConfig, PoolingConfig

        config = EncoderConfig(name=SCENES_ENCODER, layers=layers, max_length=max_length)
        encoder = load_encoder(config, PoolingConfig(mode, padding=padding), device="cpu", **more)
        assert isinstance(encoder, TransformerEncoder)
        return encoder.eval()

    return make


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hub cannot be reached, whatever machine this is."""
    import huggingface_hub

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("no network")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", refuse)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that does not exist yet."""
    return tmp_path / "new" / "folder"
