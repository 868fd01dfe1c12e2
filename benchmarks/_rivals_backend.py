"""Syne Tune's searches in Syne Tune's own simulator, on the exported record: do they come out in the same order?"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks._rivals_syne_tune import made, space_of
from reports.statistics.fronts import on_front
from study.replay.compare import Conditions, common_seeds
from study.replay.metrics import Yardstick
from study.replay.recorded import Recorded
from study.replay.syne_tune import FIDELITY, export

if TYPE_CHECKING:
    from pandas import DataFrame

LONGER = 1000
"""Its clock counts the real time that a search thinks, and trainings of the record take a tenth of a second; so they
are made to take so much longer."""


def backend_table(
    recorded: Recorded,
    yardstick: Yardstick,
    searches: Mapping[str, tuple[str, int | None]],
    conditions: Conditions,
    repeats: int,
) -> str:
    """A row for each search: what it found, as in the other table. Trials of a recipe that was tried before are run
    again there, at full cost."""
    from reports.markdown import number, table
    from study.replay.repeats import mean

    one_goal = len(recorded.goals) == 1
    scale = 1 if one_goal else 100
    rows = []
    for name, (kind, factor) in searches.items():
        results = [_run(recorded, kind, factor, conditions, repeat) for repeat in range(repeats)]
        found = mean([scale * _found(recorded, yardstick, result) for result in results])
        trials = np.mean([result["trial_id"].nunique() for result in results])
        interval = f"{number(found.value)} [{number(found.low)}, {number(found.high)}]"
        rows.append([f"Syne Tune: {name}", f"{trials:,.0f}", interval])
    what = "regret" if one_goal else "hypervolume, %"
    return table(["in Syne Tune's own simulator", "trials", what], rows)


def _run(recorded: Recorded, kind: str, factor: int | None, conditions: Conditions, repeat: int) -> DataFrame:
    """One search; a row for each report of a trial. The seed is the one that the replay gives this repeat."""
    from syne_tune import StoppingCriterion, Tuner
    from syne_tune.backend.simulator_backend.simulator_backend import SimulatorConfig
    from syne_tune.backend.simulator_backend.simulator_callback import SimulatorCallback
    from syne_tune.blackbox_repository import UserBlackboxBackend
    from syne_tune.blackbox_repository.blackbox_tabular import deserialize

    logging.getLogger("syne_tune").setLevel(logging.ERROR)
    seed = int(np.random.default_rng(repeat).choice(common_seeds(recorded), 1, replace=False)[0])
    whole = float(np.nansum(np.nanmax(recorded.seconds[:, seed], axis=1)))
    assert conditions.compute is not None
    callback = SimulatorCallback()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):  # it tells of every trial
        os.environ["SYNETUNE_FOLDER"] = folder
        (path, *_) = export({"record": recorded}, Path(folder))
        box = deserialize(str(path))["record"]
        box.objectives_evaluations[..., box.objectives_names.index("seconds")] *= LONGER
        box = box.rename_objectives({**{f"dev_{goal}": goal for goal in recorded.goals}, "seconds": "seconds"})
        np.random.seed(repeat)
        Tuner(
            trial_backend=UserBlackboxBackend(
                box,
                elapsed_time_attr="seconds",
                seed=seed,
                simulator_config=SimulatorConfig(0, 0, 0, 0, 0),
                tuner_sleep_time=1,
            ),
            scheduler=made(kind, factor)(space_of(recorded), recorded.goals, recorded.rungs, repeat),
            stop_criterion=StoppingCriterion(
                max_wallclock_time=LONGER * conditions.compute * whole / conditions.workers
            ),
            n_workers=conditions.workers,
            sleep_time=0,
            callbacks=[callback],
            save_tuner=False,
        ).run()
        reports: DataFrame = callback.dataframe()
    return reports


def _found(recorded: Recorded, yardstick: Yardstick, reports: Any) -> float:
    """The regret of its pick, or its share of the hypervolume."""
    ended = reports[reports[FIDELITY] == recorded.rungs[-1]]
    recipes = [recorded.nearest(_chosen(recorded, row)) for row in ended.to_dict("records")]
    seen = ended[list(recorded.goals)].to_numpy()
    if len(recorded.goals) == 1:
        return yardstick.regret(recipes[int(seen[:, 0].argmax())])
    return yardstick.share([recipes[place] for place in on_front(seen)])


def _chosen(recorded: Recorded, row: dict[str, Any]) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for domain in recorded.space.domains:
        if domain.is_asked({**recorded.base.flat(), **chosen}):
            chosen[domain.key] = row[f"config_{domain.key}"]
    return chosen
