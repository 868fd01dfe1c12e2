"""The scaling benchmark: what its workers count, and what its table makes of that."""

from __future__ import annotations

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from benchmarks import scaling
from benchmarks._gpu_models import write_model
from benchmarks.scaling import Meter, Side, Turn
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
    assert turn == Turn(rate=2.0, processor=1.5, held=0.25, megabytes=10.0)


def test_a_ratio_is_taken_within_a_turn():
    one = [Turn(2.0, 0.5, 0.0, 0.0), Turn(1.0, 0.7, 0.0, 0.0)]
    two = [Turn(3.0, 0.3, 0.1, 62.0), Turn(2.0, 0.3, 0.3, 62.0)]
    assert [*scaling.table({Side(1): one, Side(2, whole=True): two})][2:] == [
        "| 1 |  | 1.50 ± 0.71 |  | 0.600 |  |  |",
        "| 2 | all | 2.50 ± 0.71 | 1.75 (1.50 to 2.00) | 0.300 | 20% | 62.0 |",
    ]


@pytest.mark.slow
def test_groups_take_turns_and_few_rows_are_few_bytes(tmp_path: Path):
    """The vectors of 30,522 words take 3.9 MB, a mark for each 0.03."""
    write_model("tiny", tmp_path / "model")
    asked = argparse.Namespace(turns=2, warm_up=2, steps=1, threads=1)
    recipe = scaling.recipe_of(str(tmp_path / "model"), 2, SCENES, 8)
    found = scaling.measured([Side(1), Side(2, whole=True), Side(2)], recipe, asked)
    assert {len(turns) for turns in found.values()} == {2}
    alone, whole, rows = found.values()
    assert all(turn.megabytes == turn.held == 0 for turn in alone)
    for every, few in zip(whole, rows, strict=True):
        assert 3.6 < every.megabytes - few.megabytes < 3.9
        assert 0 < few.held < 1
