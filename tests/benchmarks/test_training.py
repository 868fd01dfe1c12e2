"""The training benchmark: what is timed, what is counted, and what its table makes of that."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from benchmarks.gpu._models import write_model
from benchmarks.training import training
from benchmarks.training._loops import SIDES, WORK, TrainedStep, Turns, cut_by_length, in_order, rows_of, side
from trainables.corpora.batch import Batch
from trainables.recipe import SCENES, Recipe

BATCH = Batch(
    premise=np.array([0, 0, 1, 1]),
    hypothesis=np.array([2, 3, 4, 2]),
    label=np.array([2, 0, 0, 2]),  # a negative stands first
    group=np.array([0, 0, 1, 1]),
    sentences=["a", "b", "c", "d", "e"],
)


def test_turns_are_timed_after_the_warm_up(monkeypatch: pytest.MonkeyPatch):
    collected: list[int] = []
    monkeypatch.setattr("gc.collect", lambda: collected.append(1))  # all that other tests left would take seconds
    wire = Mock()
    turns = Turns(wire, warm_up=3, steps=2, count=2)
    sent = []
    for step in range(1, 10):
        turns.after(step)
        sent.append(wire.send.call_count)
    assert sent == [0, 0, 1, 1, 2, 2, 3, 3, 3]
    assert turns.last == 7
    assert len(collected) == 3


def test_a_batch_as_sentence_transformers_takes_it():
    assert rows_of(BATCH, triples=True) == [
        {"anchor": "a", "positive": "d", "negative": "c"},
        {"anchor": "b", "positive": "e", "negative": "c"},
    ]
    pairs = [rows_of(BATCH, triples=False, step=step) for step in (0, 1)]
    assert [(row["premise"], row["hypothesis"], row["label"] % 3) for row in pairs[0]] == [
        ("a", "c", 2),
        ("a", "d", 0),
        ("b", "e", 0),
        ("b", "c", 2),
    ]
    groups = [[row["label"] // 3 for row in rows] for rows in pairs]
    assert groups[0] == [0, 0, 1, 1]
    assert len({*groups[0], *groups[1]}) == 4


def test_batches_of_alike_length_hold_each_row_once_with_less_padding():
    random = np.random.default_rng(0)
    rows = [{"premise": "p" * n, "hypothesis": "h", "label": 0} for n in random.integers(1, 60, 42).tolist()]
    sizes = [8] * 5 + [2]
    batches = cut_by_length(rows, sizes)
    assert sorted(i for batch in batches for i in batch) == list(range(42))
    assert sorted(map(len, batches)) == sorted(sizes)

    def padded(cut: list[list[int]]) -> int:
        return sum(len(batch) * max(len(rows[i]["premise"]) for i in batch) for batch in cut)

    assert padded(batches) < 0.7 * padded(in_order(sizes))


def test_numbers_of_a_turn_by_hand():
    config = SimpleNamespace(hidden_size=2, intermediate_size=8, num_hidden_layers=5)
    numbers = training.turn_numbers([TrainedStep(2, 9, (3, 2), 6), TrainedStep(2, 7, (4,), 4)], 2.0, 1000.0, config)
    linear, attention = 2 * (4 * 4 + 2 * 16) * 9, 4 * 2 * (9 + 4 + 16)
    share = 3 * 5 * (linear + attention) / 2 / 1000
    assert numbers == pytest.approx({"units": 2, "tokens": 8, "share": share, "padding": 0.1})


def test_a_ratio_is_of_the_datas_tokens_and_within_a_turn():
    def turns(*rates: float) -> list[dict[str, float]]:
        return [{"units": 1.0, "tokens": rate, "share": 0.5, "padding": 0.0, "peak": 2.0**20} for rate in rates]

    lines = training.table({"ours": turns(30, 10), "default": turns(10, 5)}, goal=2.8, share=0.8)
    assert lines["ours"][-1] == ""
    assert lines["sentence-transformers, default"][-1] == "2.50 ± 0.71 (2.00 to 3.00), target 2.8"


@pytest.mark.slow
@pytest.mark.parametrize("work", WORK)
def test_both_sides_work_on_the_same_tokens(work: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import torch

    write_model("tiny", tmp_path / "model")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    made = {"encoder.name": str(tmp_path / "model"), "corpus.nli": SCENES, "optimisation.batch_size": 8}
    made["objective.guide"] = str(tmp_path / "model")
    recipe = Recipe().preferring(made | {"pooling.mode": "mean"} | WORK[work])
    done = {}
    for name in SIDES:
        wire = Mock()
        side(name, recipe.flat(), torch.get_num_threads(), Turns(wire, 2, 1, 3))
        *seconds, (done[name], peak) = (call.args[0] for call in wire.send.call_args_list)
        assert len(seconds) == 4
        assert peak > 2**20
        assert [len(done[name]), *{step.units for step in done[name]}] == [5, 8]
    # Ours tells of a step when the next is done.
    assert [step.tokens for step in done["ours"][:-1]] == [step.tokens for step in done["default"][1:]]
    assert sum(step.tokens for step in done["best"]) == sum(step.tokens for step in done["default"])
    assert all(sum(step.encoded) == step.tokens < step.padded for step in done["default"])
    assert all(sum(step.encoded) == step.padded for step in done["ours"])
    assert (sum(done["ours"][0].encoded) < done["ours"][0].tokens) == (work == "SCL rows")  # a premise is encoded once
