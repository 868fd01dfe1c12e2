"""Planted faults: an encoder that needs its prompts, and the table of what is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.own import why
from benchmarks.own.why import DOCUMENT, FAULTS, PROMPTS, QUERY, needing_prompts, table
from trainables.encoders import load_encoder
from trainables.encoders.own_modules import own_settings
from trainables.encoders.pooling import Mean
from trainables.recipe import SCENES_ENCODER, EncoderConfig

TEXTS = ["a dog runs", "the old bridge", "two green apples", "rain in the city", "my sister sings", "cold water"]


def spread(folder: Path, prompt: str | None) -> float:
    """Of the texts' directions, how far they are from one another."""
    encoder = load_encoder(EncoderConfig(name=str(folder), query_prompt=prompt), Mean(), device="cpu")
    vectors = encoder.encode(TEXTS)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return 1 - float((vectors @ vectors.T).mean())


def test_without_its_prompts_an_encoder_hardly_tells_texts_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(why, "STEPS", 30)
    monkeypatch.setattr(why, "PROMPTED_RATE", 3e-3)
    monkeypatch.setattr(why, "AT_ONCE", len(TEXTS))
    folder = tmp_path / "prompted"
    needing_prompts(SCENES_ENCODER, 1, [(text, f"{text} again") for text in TEXTS], folder)
    assert spread(folder, QUERY) > 2 * spread(folder, None)
    own = own_settings(str(folder))
    assert [own[key] for key in PROMPTS] == [QUERY, DOCUMENT]


def test_the_table_counts_where_the_fault_is_named() -> None:
    others = [{"name": "rate", "settings": ["optimisation.learning_rate"]}]
    named = [{"name": "configuration", "settings": []}]
    lines = [{"fault": "prompts", "minutes": 0, "causes": causes} for causes in (named, [*others, *named], others, [])]
    (row,) = [line for line in table(lines).splitlines() if "prompts" in line]
    assert [cell.strip() for cell in row.strip("|").split("|")] == ["0", "prompts", "4", "1", "2", "2", "rate 2"]
    assert FAULTS["prompts"].prompted
