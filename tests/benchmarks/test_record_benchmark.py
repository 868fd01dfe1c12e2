"""The recorded benchmark of searches: what it holds, and that its trials are what a study would run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.record import (
    MORE_SEEDS,
    RUNGS,
    SEEDS,
    SPACE,
    WITH_MORE_SEEDS,
    Bench,
    Job,
    Trial,
    every_point,
    pack,
    planned,
)
from search_spaces import load_space
from study.replay.recorded import Recorded, read_record
from trainables.trial.run import run_trial

ROOT = Path(__file__).parents[2]
RECORDED = sorted((ROOT / "benchmarks/recorded").glob("*.parquet"))
POINT = every_point(load_space(SPACE).base)[600]


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job("scenes", "laptop", (), str(tmp_path_factory.mktemp("embeddings")))


def test_the_plan_is_the_whole_grid_under_several_seeds():
    points = every_point(load_space(SPACE).base)
    trials = planned()
    assert len(points) == len(set(points)) == 1632
    assert len(trials) == len(set(trials)) == 1632 * len(SEEDS) + WITH_MORE_SEEDS * len(MORE_SEEDS)
    assert {trial.chosen for trial in trials} == set(points)


@pytest.mark.slow
def test_a_recorded_trial_is_what_a_study_runs(job: Job, tmp_path: Path):
    """The last rung is the end of `run_trial`: the same training, and the same score of the task that both have."""
    bench = Bench(job)
    rows = bench.run(Trial(POINT, 2))
    evaluation = dataclasses.replace(bench.evaluation, tasks=("STSBenchmark",))
    result = run_trial(bench.base.override(dict(POINT)), 2, evaluation, shared=Path(job.cache))
    scores = result.scores["STSBenchmark"]
    assert rows[-1]["dev_sts"] == pytest.approx(scores["dev_spearman_cosine"], abs=1e-3)
    assert [row["step"] for row in rows] == list(RUNGS)
    assert rows[-1]["tokens"] == result.training["tokens"]
    again = bench.run(Trial(POINT, 2))
    for name in ("dev_sts", "test_sts", "dev_transfer", "test_transfer"):
        assert [row[name] for row in again] == [row[name] for row in rows]


def test_what_is_packed_is_read_back(job: Job, tmp_path: Path):
    bench = Bench(job)
    rows = bench.run(Trial(POINT, 0)) + bench.run(Trial(POINT, 1))
    pd.DataFrame(rows).to_parquet(tmp_path / "00000.parquet")
    found = read_record(pack(job, tmp_path, tmp_path / "packed.parquet"))
    assert found.chosen == (dict(POINT),)
    assert found.base.override(found.chosen[0]).hash == found.hashes[0]
    assert found.seeds == (0, 1)
    assert found.test[0, 1, -1, 1] == pytest.approx(rows[-1]["test_transfer"], rel=1e-6)
    assert found.seconds[0, 0, 2] == pytest.approx(rows[2]["seconds"], rel=1e-6)


@pytest.fixture(scope="module", params=RECORDED, ids=lambda path: path.stem)
def committed(request: pytest.FixtureRequest) -> Recorded:
    return read_record(request.param)


class TestTheCommittedRecord:
    def test_its_recipes_are_the_grid(self, committed: Recorded):
        assert {tuple(chosen.items()) for chosen in committed.chosen} == set(every_point(committed.base))
        for name, chosen in zip(committed.hashes[::50], committed.chosen[::50], strict=True):
            assert committed.base.override(chosen).hash == name

    def test_every_trial_has_all_its_rungs(self, committed: Recorded):
        there = ~pd.isna(committed.development).any(axis=(2, 3))
        assert there.sum() == len(planned())
        assert not pd.isna(committed.test[there]).any()
        assert (committed.seconds[there][:, 1:] > committed.seconds[there][:, :-1]).all()


def test_both_encoders_are_recorded():
    assert [path.stem for path in RECORDED] == [f"{SPACE}-minilm", f"{SPACE}-scenes"]
    assert sum(path.stat().st_size for path in RECORDED) < 20e6
