"""The scaling benchmark: what its workers count, and what its table makes of that."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from benchmarks.gpu._models import write_model
from benchmarks.training import scaling
from benchmarks.training.scaling import Meter, Turn
from trainables.recipe import SCENES


def test_a_meter_counts_the_bytes_and_the_wait_of_each_exchange(monkeypatch: pytest.MonkeyPatch):
    clock = iter([0.0, 1.0, 10.0, 12.0, 20.0, 24.0])
    monkeypatch.setattr(scaling, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    meter, waited = Meter(), []

    def reduce(tensor: torch.Tensor, async_op: bool = False) -> Any:
        return SimpleNamespace(wait=lambda: waited.append(len(tensor))) if async_op else None

    def gather(parts: list[torch.Tensor], own: torch.Tensor) -> None:
        assert len(parts) == 2

    meter.counted(gather)([torch.zeros(3), torch.zeros(3)], torch.zeros(3))
    assert (meter.bytes, meter.seconds) == (12, 1.0)
    work = meter.counted(reduce)(torch.zeros(5, dtype=torch.bool), async_op=True)
    assert (meter.bytes, meter.seconds, waited) == (17, 3.0, [])
    work.wait()
    assert (meter.bytes, meter.seconds, waited) == (17, 7.0, [5])


def test_a_turn_by_hand():
    turn = scaling.turn_of(4, 2.0, ((10.0, 1.0, 5_000_000), (16.0, 1.5, 45_000_000)))
    assert turn == Turn(rate=2.0, processor=1.5, waiting=0.25, megabytes=10.0)


def test_a_ratio_is_taken_within_a_turn():
    alone = [Turn(2.0, 0.5, 0.0, 0.0), Turn(1.0, 0.7, 0.0, 0.0)]
    two = [Turn(3.0, 0.3, 0.1, 62.0), Turn(2.0, 0.3, 0.3, 62.0)]
    assert [*scaling.table({1: alone, 2: two})][1:] == [
        "| 1 | 1.50 ± 0.71 |  | 0.600 |  |  |",
        "| 2 | 2.50 ± 0.71 | 1.75 (1.50 to 2.00) | 0.300 | 20% | 62.0 |",
    ]


@pytest.mark.slow
def test_groups_take_turns_and_exchange_few_rows(tmp_path: Path):
    """The vectors of 30,522 words are 3.9 MB, those of a batch's words far less."""
    write_model("tiny", tmp_path / "model")
    options = argparse.Namespace(turns=2, warm_up=2, steps=1, threads=1)
    recipe = scaling.recipe_of(str(tmp_path / "model"), 2, SCENES, 8)
    alone, two = scaling.measured([1, 2], recipe, options).values()
    assert len(alone) == len(two) == 2
    assert all(turn.megabytes == turn.waiting == 0 for turn in alone)
    assert all(0.01 < turn.megabytes < 1 and 0 < turn.waiting < 1 for turn in two)
