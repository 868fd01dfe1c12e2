"""Studies that are struck on purpose; the whole table is made by `python -m benchmarks chaos`."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest

from benchmarks.chaos._faults import FAULTS, fault_of
from benchmarks.chaos._machines import check_namespaces, run_inside
from benchmarks.chaos._struck_study import timeless, trained
from benchmarks.chaos._work import STEPS, ArithmeticTraining
from benchmarks.chaos.chaos import page
from trainables.errors import UserError


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "codes"),
    [
        # it also kills the command, and with it the worker groups
        ("a checkpoint damaged", [-9, 0]),
        # its two workers leave places behind, which nobody else gives back where Ray has no dashboard
        ("a trainable killed", [0]),
    ],
)
def test_a_struck_study_loses_nothing(name: str, codes: list[int]) -> None:
    """The undisturbed study, and one that is struck."""
    try:
        check_namespaces()
    except UserError as error:
        pytest.skip(str(error))
    seed = next(seed for seed in itertools.count() if fault_of(seed).name == name)
    with run_inside("benchmarks.chaos._run", [str(seed)]) as running:
        (row,) = [json.loads(line) for line in running.stdout]
    assert row["fault"] == name
    assert row["broken"] == []
    assert row["codes"] == codes
    # the strike happened; right after a checkpoint it costs no step
    assert row["done"]


def test_every_fault_is_drawn_and_a_seed_decides_it() -> None:
    drawn = [fault_of(seed).name for seed in range(2 * len(FAULTS))]
    assert sorted(drawn[: len(FAULTS)]) == sorted(fault.name for fault in FAULTS) == sorted(drawn[len(FAULTS) :])
    assert drawn == [fault_of(seed).name for seed in range(2 * len(FAULTS))]


def test_a_wrong_state_gives_a_wrong_score_and_steps_are_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.chaos._work.PAUSE", 0)
    monkeypatch.setenv("CHAOS_LOG", str(tmp_path / "log"))
    whole, first = ArithmeticTraining("a", None), ArithmeticTraining("a", None)
    for _ in range(STEPS):
        whole.go()
    for _ in range(20):
        first.go()
    first.save(tmp_path)
    second = ArithmeticTraining("a", tmp_path)
    (tmp_path / "state.bin").write_bytes(b"?" + (tmp_path / "state.bin").read_bytes()[1:])
    damaged = ArithmeticTraining("a", tmp_path)
    for _ in range(STEPS - 20):
        second.go()
        damaged.go()
    assert second.score == whole.score != damaged.score
    steps = [step for step, _ in trained(tmp_path / "log")["a"]]
    assert len(steps) == STEPS + 20 + 2 * (STEPS - 20)
    assert set(steps) == set(range(1, STEPS + 1))


def test_only_times_of_a_report_may_differ() -> None:
    report = "- Started: 2026\\-11-22T17:22:52+00:00\n- score 47.01"
    assert timeless(report) == timeless(report.replace("17:22:52", "17:22:59"))
    assert timeless(report) != timeless(report.replace("47.01", "47.02"))


def test_the_table_says_what_each_fault_cost() -> None:
    went = {"done": "kill -9", "moment": 0.5, "codes": [0], "repeated": 3, "longest": 2, "again": 0, "seconds": 2.0}
    went |= {"fault": "a worker group killed", "same": True, "broken": []}
    lost = {**went, "codes": [1, 0], "repeated": 90, "again": 1, "same": False}
    never = {**lost, "codes": [1, 4], "again": 0, "fault": "a full disk", "broken": ["it did not end well"]}
    rows = [{"seed": seed, **row} for seed, row in enumerate((went, lost, never))]
    text = re.sub(" +", " ", page(rows))
    again = "the same command went on, 1 finished trials trained again, **another result**"
    assert f"| a worker group killed | 0; 1 | went on; {again} | 3 (2); 90 (2) | 2; 2 |" in text
    assert "| a full disk | 2 | **no result**: it failed, 2 times, broken: it did not end well | 90 (2) | 2 |" in text
    assert "Promises broken in 1; 1 of 3 came to the undisturbed result; 1 finished trials trained again." in text
