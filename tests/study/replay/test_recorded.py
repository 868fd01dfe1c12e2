"""Recorded trials: read from a packed record or a ledger, and the recipe that is nearest to a choice."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import search_spaces
from reports.ledger import LEDGER, Ledger
from reports.testing import changed
from search_spaces import Domain, Row, Space
from search_spaces.domain_values import scaled
from study.replay.from_ledger import read_ledger
from study.replay.recorded import Recorded, read_record
from tests.replayed import (
    BATCHES,
    DIMENSIONS,
    make_recorded,
    small_grid,
    small_space,
    small_space_is_known,  # noqa: F401
    write_recorded,
)
from tests.synthetic_results import SPACES, make_results
from trainables.errors import UserError
from trainables.recipe import Value

RECORDED = make_recorded()
POINTS = small_grid()


def slow_distance(recorded: Recorded, chosen: dict[str, Value], recipe: int) -> float:
    total = 0.0
    for domain in recorded.space.domains:
        here, there = (scaled(domain, values.get(domain.key)) for values in (chosen, recorded.chosen[recipe]))
        if math.isnan(here) and math.isnan(there):
            continue
        if math.isnan(here) or math.isnan(there) or (domain.choices and here != there):
            total += 100.0
        else:
            total += abs(here - there)
    return total


@st.composite
def choices(draw: st.DrawFn) -> dict[str, Value]:
    head = draw(st.sampled_from(["none", "linear"]))
    found: dict[str, Value] = {
        "objective.temperature": draw(st.floats(0.02, 0.3)),
        "optimisation.batch_size": draw(st.sampled_from(BATCHES)),
        "head.kind": head,
    }
    return found | ({"head.dim": draw(st.sampled_from(DIMENSIONS))} if head == "linear" else {})


@given(choices(), st.sets(st.integers(0, len(POINTS) - 1), min_size=1))
def test_the_nearest_recipe_is_that_of_a_loop_over_all(chosen: dict[str, Value], kept: set[int]):
    names = sorted(kept)  # a ledger holds any part of the grid
    part = Recorded(
        RECORDED.space, RECORDED.base, RECORDED.goals, tuple(RECORDED.hashes[name] for name in names),
        tuple(RECORDED.chosen[name] for name in names), RECORDED.seeds, RECORDED.rungs,
        *(getattr(RECORDED, name)[names] for name in ("seconds", "scoring", "tokens", "development", "test")),
    )  # fmt: skip
    slow = [slow_distance(part, chosen, recipe) for recipe in range(len(names))]
    assert slow[part.nearest(chosen)] == pytest.approx(min(slow))


def test_a_recorded_recipe_is_nearest_to_itself():
    assert [RECORDED.nearest(point) for point in POINTS] == list(range(len(POINTS)))


def test_goals_are_picked_and_ordered():
    turned = RECORDED.of_goals(["transfer", "sts"])
    assert np.array_equal(turned.test, RECORDED.test[..., ::-1])
    assert RECORDED.of_goals(["transfer"]).development.shape[-1] == 1
    with pytest.raises(UserError, match="the goal 'speed' was not recorded; sts or transfer would work"):
        RECORDED.of_goals(["speed"])


class TestPacked:
    def test_it_is_read_back(self, tmp_path: Path):
        read = read_record(write_recorded(RECORDED, tmp_path / "small.parquet"))
        assert read.chosen == RECORDED.chosen
        assert read.hashes == RECORDED.hashes
        assert (read.seeds, read.rungs, read.goals) == (RECORDED.seeds, RECORDED.rungs, RECORDED.goals)
        for name in ("seconds", "scoring", "tokens", "development", "test"):
            assert np.allclose(getattr(read, name), getattr(RECORDED, name)), name

    def test_a_file_that_is_none_is_refused(self, tmp_path: Path):
        path = tmp_path / "other.parquet"
        path.write_text("text")
        with pytest.raises(UserError, match="is no recorded benchmark"):
            read_record(path)

    def test_a_record_of_another_space_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = write_recorded(RECORDED, tmp_path / "small.parquet")
        other = dataclasses.replace(small_space(), domains=(Domain("encoder.layers", choices=(1, 2)),))
        monkeypatch.setattr(search_spaces, "spaces", lambda: {"small": other})
        with pytest.raises(UserError, match=r"has no column for 'encoder\.layers'"):
            read_record(path)


class TestLedger:
    SPACE = Space(
        name="small", title="A small one", paper="none", base=small_space().base, domains=small_space().domains,
        goals=("sts", "transfer"), rows=(Row("a row", {"objective.temperature": 0.05, "optimisation.batch_size": 8}),
        Row("elsewhere", {"objective.temperature": 0.9})),
    )  # fmt: skip

    def results(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setitem(SPACES, "small", self.SPACE)
        monkeypatch.setattr("search_spaces.spaces", lambda: SPACES)
        make_results(folder, self.SPACE, seeds=(1, 2), explored=6, pruned=2, laptop=False)
        ledger = Ledger(folder / LEDGER)
        for number, record in enumerate(ledger.read()):  # what the made-up ones lack for these goals
            scores = {
                "STSBenchmark": {"dev_spearman_cosine": 70.0 + number, "test_spearman_cosine": 60.0 + number},
                "MR": {"dev_accuracy": 80.0, "test_accuracy": 81.0},
            }
            if record.evaluations:
                ledger.write(changed(record, scores={**record.scores, **scores}))
        return folder

    def test_finished_points_of_the_space_are_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        folder = self.results(tmp_path, monkeypatch)
        read = read_ledger(folder)
        explored = set(read.hashes)
        row, elsewhere = (self.SPACE.base.override(row.overrides).hash for row in self.SPACE.rows)
        assert row in explored
        assert elsewhere not in explored
        finished = {record.recipe_hash for record in Ledger(folder / LEDGER).read() if record.status == "finished"}
        assert explored == finished - {elsewhere}
        assert read.seeds == (1, 2)
        assert read.rungs == (90.0,)
        for record in Ledger(folder / LEDGER).read():
            if record.recipe_hash in explored and record.status == "finished":
                here = read.place[record.recipe_hash], read.seeds.index(record.seed), 0
                assert read.seconds[here] == record.cost["train_seconds"]
                assert read.development[here].tolist() == [record.scores["STSBenchmark"]["dev_spearman_cosine"], 80.0]
                assert read.test[here].tolist() == [record.scores["STSBenchmark"]["test_spearman_cosine"], 81.0]

    def test_rungs_that_all_trials_have_are_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        folder = self.results(tmp_path, monkeypatch)
        ledger = Ledger(folder / LEDGER)
        for number, record in enumerate(ledger.read()):
            early = [
                {"rung": rung, "step": 30 * rung, "seconds": 5.0 * rung, "tokens": 90}
                | {"scores": {"sts": 40.0 + rung, "transfer": 9.0}}
                for rung in (1, 2, 3)
            ]
            record.training["rungs"] = early[: 2 + number % 2]
            ledger.write(record)
        read = read_ledger(folder)
        assert read.rungs == (30.0, 60.0, 90.0)
        assert read.seconds[0, 0].tolist() == [5.0, 10.0, ledger.read()[0].cost["train_seconds"]]
        assert read.development[0, 0, :2, 0].tolist() == [41.0, 42.0]
        assert np.isnan(read.test[:, :, :2]).all()
        assert np.isfinite(read.test[:, :, 2]).all()

    def test_a_folder_without_a_point_is_refused(self, tmp_path: Path):
        make_results(tmp_path, rows=[])
        with pytest.raises(UserError, match=r"no finished trial .* is a point of its search space"):
            read_ledger(tmp_path)

    def test_a_study_of_the_examples_is_read(self):
        example = Path(__file__).parents[3] / "docs/examples/scl_ablation"
        read = read_ledger(example)
        assert np.isfinite(read.test).all()
        assert (read.test != read.development).any()
