"""Tune's and Syne Tune's searches as replayed ones: told what their own loops would tell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks._rivals_told import Rival
from benchmarks._rivals_tune import TuneSearch
from benchmarks.rivals import SYNE_TUNE, TUNE, main, rivals
from study.replay.compare import Comparison, Conditions
from study.replay.recorded import Recorded, read_record
from study.replay.simulate import SearchBudget, TrialCurves, simulate
from tests.made_record import write_record
from trainables.recipe import Value

HALVING = TUNE["OptunaSearch + ASHA, factor 2"]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return read_record(write_record(tmp_path_factory.mktemp("record") / "small.parquet", recipes=60, more_seeds=0))


class Listed(Rival):
    """Asks for the recipes of a list, and notes what it is told."""

    def __init__(self, recorded: Recorded, numbers: Sequence[int], stopped: Sequence[int] = ()) -> None:
        super().__init__(recorded, recorded.rungs, [0])
        self.numbers, self.stopped, self.told = list(numbers), stopped, list[tuple[str, Any]]()

    def ask(self, name: str) -> Mapping[str, Value]:
        return {**self.recorded.base.flat(), **self.recorded.chosen[self.numbers[int(name) - 1]]}

    def begin(self, name: str, trial: str) -> None:
        """Nothing to do."""

    def report(self, name: str, trial: str, result: dict[str, Any], *, last: bool) -> bool:
        self.told.append((name, result["step"]))
        return not last and self.numbers[int(name) - 1] not in self.stopped

    def end(self, name: str, trial: str, result: dict[str, Any] | None) -> None:
        self.told.append((name, "end"))


def test_a_rival_is_told_every_rung_and_once_more_of_a_recipe_that_it_repeats(record: Recorded) -> None:
    search = Listed(record, [3, 5, 3, 5], stopped=[5])
    history = simulate(TrialCurves.of(record, range(5)), search, [0], 1, SearchBudget(recipes=4))
    assert [told for name, told in search.told if name == "1"] == [3, 6, 12, 24, 48]
    assert [told for name, told in search.told if name == "2"] == [3]
    assert search.told[-2:] == [("3", 48), ("4", 3)]
    assert history.recipe.tolist() == [3, 5]
    assert history.finished.tolist() == [True, False]
    assert search.running == set()


def test_tune_stops_what_its_scheduler_would_stop_and_its_search_takes_the_score_there_for_the_end(
    record: Recorded,
) -> None:
    one = record.of_goals(["sts"])
    search = TuneSearch(one, one.rungs, [0, 2], HALVING, 0)
    history = simulate(TrialCurves.of(one, range(5)), search, [0, 2], 2, SearchBudget(recipes=40))
    assert 0 < history.finished.sum() < 0.6 * len(history.recipe)
    told = [trial.value for trial in search.search._ot_study.get_trials() if trial.state.name == "COMPLETE"]
    assert len(told) == 40
    for value, recipe in zip(told, search.recipes.values(), strict=True):
        ends = [history.stops[(history.recipe == recipe) & (history.seed == seed)].item() - 1 for seed in (0, 2)]
        expected = np.mean([one.development[recipe, seed, end, 0] for seed, end in zip((0, 2), ends, strict=True)])
        assert np.isclose(value, expected)


def test_every_rival_spends_its_budget_and_no_more(record: Recorded) -> None:
    pytest.importorskip("syne_tune", reason="Syne Tune is not installed")
    comparison = Comparison(record.of_goals(["sts"]), Conditions(seeds=2, workers=3, compute=0.07))
    entered = rivals()
    assert len(entered) == len(TUNE) + len(SYNE_TUNE)
    for named in [entered[1], *entered[len(TUNE) :]]:  # one of Tune's: its search thinks for seconds
        if "CQR" in named.name and find_spec("xgboost") is None:
            continue
        outcome = comparison.run(named, 0)
        assert 0.04 < outcome.compute / outcome.whole <= 0.07, named.name
        assert np.isfinite(outcome.found)
        assert (outcome.finished < outcome.trials - 3) == named.stops, named.name


def test_the_table_has_a_row_for_each_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("syne_tune", reason="Syne Tune is not installed")
    path = write_record(tmp_path / "small.parquet", recipes=30, more_seeds=0)
    asked = ["--repeats", "2", "--processes", "1", "--only", "random", "BOHB, factor 2", "--compute", "0.1"]
    main(["--record", str(path), *asked])
    first, second = (
        [line.split("|")[1].strip() for line in part.splitlines()[2:]]
        for part in capsys.readouterr().out.strip().split("\n\n")
    )
    searches = ["Syne Tune: BOHB, factor 2", "Syne Tune: random", "random + asha", "random + none"]
    assert (sorted(first), sorted(second)) == ([*searches, "whole record"], searches)
