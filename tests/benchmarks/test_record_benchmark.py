"""The recorded benchmark of searches: what it holds, and that its trials are what a study would run."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.record import (
    FROZEN,
    MORE_SEEDS,
    RUNGS,
    SEEDS,
    TUNED,
    WITH_MORE_SEEDS,
    Job,
    Trial,
    every_point,
    make_bench,
    pack,
    planned,
)
from study.replay.recorded import Recorded, read_record
from tests.conftest import slow_case
from trainables.trial.run import run_trial

ROOT = Path(__file__).parents[2]
RECORDED = sorted((ROOT / "benchmarks/recorded").glob("*.parquet"))
SIZES = {FROZEN: 1632, TUNED: 672}
POINT = 600
"""The number of one on each space's grid."""


@pytest.fixture(scope="module", params=[FROZEN, slow_case(TUNED)])
def job(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job(request.param, "scenes", "laptop", (), str(tmp_path_factory.mktemp("embeddings")))


@pytest.mark.parametrize(("space", "more"), [(FROZEN, WITH_MORE_SEEDS * len(MORE_SEEDS)), (TUNED, 0)])
def test_the_plan_is_the_whole_grid_under_several_seeds(space: str, more: int):
    points = every_point(space)
    trials = planned(space)
    assert len(points) == len(set(points)) == SIZES[space]
    assert len(trials) == len(set(trials)) == SIZES[space] * len(SEEDS) + more
    assert {trial.chosen for trial in trials} == set(points)


@pytest.mark.slow
def test_a_recorded_trial_is_what_a_study_runs(job: Job):
    """The last rung is the end of `run_trial`: the same training, and the same score of the task that both have."""
    bench, point = make_bench(job), every_point(job.space)[POINT]
    rows = bench.run(Trial(point, 2))
    evaluation = dataclasses.replace(bench.evaluation, tasks=("STSBenchmark",))
    result = run_trial(bench.base.override(dict(point)), 2, evaluation, shared=Path(job.cache))
    scores = result.scores["STSBenchmark"]
    assert rows[-1]["dev_sts"] == pytest.approx(scores["dev_spearman_cosine"], abs=1e-3)
    assert [row["step"] for row in rows] == list(RUNGS)
    assert rows[-1]["tokens"] == result.training["tokens"]
    again = bench.run(Trial(point, 2))
    for name in (name for name in rows[0] if name.startswith(("dev_", "test_"))):
        assert [row[name] for row in again] == [row[name] for row in rows]


def test_what_is_packed_is_read_back(job: Job, tmp_path: Path):
    bench, point = make_bench(job), every_point(job.space)[POINT]
    rows = bench.run(Trial(point, 0)) + bench.run(Trial(point, 1))
    pd.DataFrame(rows).to_parquet(tmp_path / "00000.parquet")
    found = read_record(pack(job, tmp_path, tmp_path / "packed.parquet"))
    assert found.chosen == (dict(point),)
    assert found.base.override(found.chosen[0]).hash == found.hashes[0]
    assert found.seeds == (0, 1)
    assert found.test[0, 1, -1, -1] == pytest.approx(rows[-1][f"test_{found.goals[-1]}"], rel=1e-6)
    assert found.seconds[0, 0, 2] == pytest.approx(rows[2]["seconds"], rel=1e-6)


@pytest.fixture(scope="module", params=RECORDED, ids=lambda path: path.stem)
def committed(request: pytest.FixtureRequest) -> Recorded:
    return read_record(request.param)


class TestTheCommittedRecord:
    def test_its_recipes_are_the_grid(self, committed: Recorded):
        assert {tuple(chosen.items()) for chosen in committed.chosen} == set(every_point(committed.space.name))
        for name, chosen in zip(committed.hashes[::50], committed.chosen[::50], strict=True):
            assert committed.base.override(chosen).hash == name

    def test_every_trial_has_all_its_rungs(self, committed: Recorded):
        there = ~pd.isna(committed.development).any(axis=(2, 3))
        assert there.sum() == len(planned(committed.space.name))
        assert not pd.isna(committed.test[there]).any()
        assert (committed.seconds[there][:, 1:] > committed.seconds[there][:, :-1]).all()


def test_what_is_recorded():
    assert [path.stem for path in RECORDED] == [f"{FROZEN}-minilm", f"{FROZEN}-scenes", f"{TUNED}-scenes"]
    assert sum(path.stat().st_size for path in RECORDED) < 20e6
