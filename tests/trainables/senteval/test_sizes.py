"""Every format of numbers against a loop in plain Python: values, bytes, and the nearest documents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from trainables.errors import UserError
from trainables.senteval.evaluation import calibration_rows, embed, score_embeddings
from trainables.senteval.own_tasks import own_tasks
from trainables.senteval.sizes import SIZE_FORMATS, Sizes, Variant
from trainables.senteval.tasks import TASKS

RANDOM = np.random.default_rng(7)
ROWS = RANDOM.standard_normal((6, 20)).astype(np.float32)
OTHERS = RANDOM.standard_normal((50, 20)).astype(np.float32)


def naive(name: str, row: int, place: int) -> float:
    """What a number is read back as."""
    value = float(ROWS[row, place])
    if name == "fp16":
        return float(np.float16(value))
    if name == "int8":
        low, high = (float(end(OTHERS[:, place])) for end in (min, max))
        step = (high - low) / 255
        return low + (min(max(math.floor((value - low) / step), 0), 255) + 0.5) * step
    return value if name == "fp32" else (1.0 if value > 0 else -1.0)


@pytest.mark.parametrize("name", SIZE_FORMATS)
def test_values_and_bytes(name: str) -> None:
    form = SIZE_FORMATS[name]
    kept = form.written(ROWS, OTHERS)
    read = form.read(kept, OTHERS)
    assert kept[0].nbytes == form.size(20) == Variant(20, name).size
    expected = [[naive(name, row, place) for place in range(20)] for row in range(6)]
    np.testing.assert_allclose(read, expected, atol=1e-5)


@pytest.mark.parametrize("name", SIZE_FORMATS)
def test_a_search_finds_what_is_nearest(name: str) -> None:
    form, query = SIZE_FORMATS[name], RANDOM.standard_normal(20).astype(np.float32)
    near = form.cosines(form.written(ROWS, OTHERS), query, OTHERS)
    against = np.sign(query) if name == "binary" else query
    expected = [sum(naive(name, row, place) * against[place] for place in range(20)) for row in range(6)]
    order = np.array(expected)[np.argsort(-near, kind="stable")]
    assert (np.diff(order) <= 1e-5).all()


def test_ranges_come_from_no_test_and_documents_alone_become_signs(tmp_path: Path) -> None:
    """A search task of its own: queries keep their numbers where they are held against signs again."""
    lines = [f"query {number},document {number}" for number in range(240)]
    for part, own in (("dev", lines[:120]), ("test", [*lines[:10], *lines[120:]])):
        (tmp_path / f"{part}.csv").write_text("\n".join(["anchor,positive", *own]) + "\n")
    (task,) = own_tasks([str(tmp_path / "dev.csv")], [f"sized={tmp_path / 'test.csv'}"])
    TASKS.add(task)
    seen: list[str] = []

    def encode(texts: Sequence[str]) -> np.ndarray:
        seen.extend(texts)
        return np.random.default_rng(len(texts)).standard_normal((len(texts), 16)).astype(np.float32)

    whole = embed(encode, tmp_path, [task.name])
    free = calibration_rows(whole, tmp_path, [task.name])
    made = Sizes(whole, tmp_path, [task.name])
    assert free is not None
    assert {seen[place] for place in free} == {text for line in lines[10:120] for text in line.split(",")}
    every = made.variants()
    assert every[0] == Variant(16)
    assert len({*every}) == len(every) == 25
    assert len(seen) == 480, "each text is encoded once"
    apart = made.resize(Variant(16, "binary, rescored"))
    signs = (np.abs(apart.vectors) == 1).all(axis=1)
    assert signs.tolist() == [False] * 240 + [True] * 240
    scores = [score_embeddings(made.resize(variant), tmp_path, [task.name]).tasks[task.name] for variant in every[:5]]
    assert all(isinstance(numbers["test_ndcg@10"], float) for numbers in scores)
    again = score_embeddings(whole, tmp_path, [task.name]).tasks[task.name]
    assert {**scores[0], "seconds": 0} == {**again, "seconds": 0}
    with pytest.raises(UserError, match="the embeddings have 16 numbers"):
        made.resize(Variant(17))


def test_a_range_without_width_is_read_back() -> None:
    others = np.ones((3, 4), dtype=np.float32)
    form = SIZE_FORMATS["int8"]
    assert np.isfinite(form.read(form.written(others, others), others)).all()
