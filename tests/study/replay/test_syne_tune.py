"""The record as a black box of Syne Tune: it reads back every number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from study.replay.recorded import Recorded, read_record
from study.replay.syne_tune import export, main
from tests.made_record import write_record
from trainables.errors import UserError

pytest.importorskip("syne_tune", reason="Syne Tune is not installed: pip install --no-deps syne-tune fastparquet")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return read_record(write_record(tmp_path_factory.mktemp("record") / "small.parquet"))


@pytest.fixture(scope="module")
def folders(record: Recorded, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return export({"small": record}, tmp_path_factory.mktemp("boxes"))


def box(folder: Path, task: str = "small") -> Any:
    from syne_tune.blackbox_repository.blackbox_tabular import deserialize

    return deserialize(str(folder))[task]


@pytest.mark.parametrize("which", [0, 1])
def test_syne_tune_reads_back_every_rung_and_seed_of_random_configurations(
    record: Recorded, folders: list[Path], which: int
) -> None:
    read = box(folders[which])
    seeds = json.loads((folders[which] / "metadata.json").read_text())["seeds"]
    assert seeds == list(range((3, 10)[which]))
    random = np.random.default_rng(0)
    for number in random.choice(len(read.hyperparameters), 60):
        configuration = read.hyperparameters.iloc[int(number)].to_dict()
        recipe = asked_for(record, configuration)
        for place, seed in enumerate(seeds):
            for rung, step in enumerate(record.rungs):
                found = read.objective_function(configuration, fidelity=int(step), seed=place)
                at = recipe, record.seeds.index(seed), rung
                for goal, name in enumerate(record.goals):
                    assert found[f"dev_{name}"] == np.float32(record.development[at][goal])
                    assert found[f"test_{name}"] == np.float32(record.test[at][goal])
                assert found["seconds"] == np.float32(record.seconds[at])
                assert found["scoring_seconds"] == np.float32(record.scoring[at])
                assert found["tokens"] == record.tokens[at]


def test_a_whole_grid_answers_whatever_syne_tune_draws(tmp_path: Path) -> None:
    whole = read_record(write_record(tmp_path / "whole.parquet", recipes=None, more_seeds=0))
    (folder,) = export({"whole": whole}, tmp_path)
    read = box(folder, "whole")
    assert len(read.hyperparameters) == 5 * 4 * 2 * 2 * 2 * 2 * 2 * 2 * 3
    hashes = json.loads((folder / "metadata.json").read_text())["recipes"]["whole"]
    assert len(set(hashes)) == len(whole.hashes)
    for _ in range(200):
        drawn = {key: domain.sample() for key, domain in read.configuration_space.items()}
        assert read.objective_function(drawn, fidelity=48, seed=1)["tokens"] == 90 * 48
        found = read.hyperparameters_index.loc[tuple(drawn.values())]["index"]
        assert hashes[int(np.asarray(found).item())] == whole.hashes[asked_for(whole, drawn)]


def test_two_records_are_two_tasks_row_by_row(record: Recorded, tmp_path: Path) -> None:
    other = read_record(write_record(tmp_path / "other.parquet"))
    shuffled = [*range(20, 40), *range(20)]
    other = Recorded(
        other.space,
        other.base,
        other.goals,
        tuple(other.hashes[row] for row in shuffled),
        tuple(other.chosen[row] for row in shuffled),
        other.seeds,
        other.rungs,
        *(part[shuffled] for part in (other.seconds, other.scoring, other.tokens, other.development, other.test)),
    )
    folder, _ = export({"small": record, "other": other}, tmp_path)
    assert np.array_equal(box(folder).objectives_evaluations, box(folder, "other").objectives_evaluations)


def test_records_that_do_not_go_together_are_refused(record: Recorded, tmp_path: Path) -> None:
    other = read_record(write_record(tmp_path / "other.parquet", recipes=39))
    with pytest.raises(UserError, match="other has other recipes than small"):
        export({"small": record, "other": other}, tmp_path)


def test_the_command_says_where_the_boxes_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_record(tmp_path / "small.parquet", recipes=4, more_seeds=0)
    assert main([str(path), "--to", str(tmp_path / "boxes")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'boxes' / 'every_recipe'}: tasks small\n"
    with pytest.raises(UserError, match="same file name"):
        main([str(path), str(path), "--to", str(tmp_path)])


def asked_for(record: Recorded, configuration: dict[str, Any]) -> int:
    """The recipe of a configuration in which keys that it does not ask for have some value."""
    chosen: dict[str, Any] = {}
    for domain in record.space.domains:
        if domain.is_asked({**record.base.flat(), **chosen}):
            chosen[domain.key] = configuration[domain.key]
    return record.chosen.index(chosen)
