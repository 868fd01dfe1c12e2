"""A share of a corpus: whole texts, the smaller within the larger, the same for every seed."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainables.corpora.layouts import LAYOUTS, SamplerRequest, all_sentences, make_sampler
from trainables.corpora.nli import drawn_share
from trainables.errors import UserError

SHARES = (0.125, 0.25, 0.5, 0.9)
CUT = [name for name, layout in LAYOUTS.items() if "share" in layout.__dataclass_fields__ and not layout.tokens]


@given(st.lists(st.sampled_from("abcdefgh"), min_size=8, max_size=60))
def test_texts_are_whole_and_shares_are_nested(texts: list[str]) -> None:
    kept = [drawn_share(texts, share, "here") for share in SHARES]
    for share, rows in zip(SHARES, kept, strict=True):
        inside = {text for text, stays in zip(texts, rows, strict=True) if stays}
        assert rows.tolist() == [text in inside for text in texts]
        most = max(map(texts.count, texts))
        assert round(share * len(texts)) <= rows.sum() < round(share * len(texts)) + most
    for smaller, larger in pairwise(kept):
        assert (larger | ~smaller).all()


def test_a_share_without_a_row_is_refused() -> None:
    with pytest.raises(UserError, match=r"^here: corpus\.share 0\.01 of 3 rows is none; give a larger share$"):
        drawn_share(["a", "b", "c"], 0.01, "here")


def table(name: str, file: Path) -> Path:
    """A file of 120 rows, each first text in three of them; of labelled texts each once."""
    rows = [(f"first {n // 3}", f"second {n}", n) for n in range(120)]
    if name == "same_label":
        lines = ["sentence,label", *(f"{second},{n % 4}" for _, second, n in rows)]
    elif name == "texts":  # too short to be cut: a text is both its views
        lines = ["text", *(second for _, second, _ in rows)]
    elif name == "scored_pairs":
        lines = ["sentence1,sentence2,score", *(f"{first},{second},{n / 120}" for first, second, n in rows)]
    else:
        labels = ("entailment", "neutral", "contradiction")
        lines = ["premise,hypothesis,label", *(f"{first},{second},{labels[n % 3]}" for first, second, n in rows)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize("name", CUT)
def test_every_layout_of_rows_trains_on_a_part(name: str, tmp_path: Path) -> None:
    file = str(table(name, tmp_path / "mine.csv"))
    read: dict[float, set[str]] = {}
    fingerprints = set()
    for share in (0.25, 0.5, 1.0):
        layout: Any = LAYOUTS[name](nli=str(file), share=share)
        for seed in (1, 2):
            request = SamplerRequest(4, seed, None, None, max_length=16)
            layout.check(request)
            sampler, description = make_sampler(layout, request)
            batches = [sampler.batch(step) for step in range(sampler.steps_per_epoch)]
            sentences = {sentence for batch in batches for sentence in batch.sentences}
            whole_part = {*all_sentences(layout, request)}
            assert sentences <= whole_part
            (whole,) = description.get("parts", [description])  # of a mixture, its one corpus
            assert whole.get("pairs", whole.get("texts")) == round(share * 120)
            with pytest.raises(UserError, match=r"optimisation\.batch_size=\d+ is more than"):
                layout.check(dataclasses.replace(request, batch_size=len(whole_part) + 1))
        read[share] = whole_part
        fingerprints.add(description["fingerprint"])
    assert read[0.25] < read[0.5] < read[1.0]
    assert len(fingerprints) == 3


def test_it_is_drawn_alike_everywhere() -> None:
    """Part of what a recipe's hash stands for."""
    kept = drawn_share([f"text {number}" for number in range(20)], 0.25, "here")
    assert np.flatnonzero(kept).tolist() == [1, 6, 8, 14, 19]
