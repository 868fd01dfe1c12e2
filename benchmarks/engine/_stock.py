"""Trials that do nothing on stock Ray Tune over Ray Train, as Ray's documentation shows it.

    python -m benchmarks.engine._stock TRIALS FOLDER

keeps Ray's files in the folder, and prints when the first and the last trial ended, in seconds since the epoch.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import ray
import ray.train
from ray import tune
from ray.train.torch import TorchTrainer
from ray.tune.integration.ray_train import TuneReportCallback


class TrialEnds(tune.Callback):
    """When trials ended."""

    def __init__(self) -> None:
        self.ended: list[float] = []

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **info: Any) -> None:
        self.ended.append(time.time())


def loop(config: dict[str, Any]) -> None:
    """What Train runs on its worker."""
    ray.train.report({"score": config["number"]})


def driver(config: dict[str, Any]) -> None:
    """What Tune runs as a trial."""
    TorchTrainer(
        loop,
        train_loop_config=config,
        scaling_config=ray.train.ScalingConfig(num_workers=1),
        run_config=ray.train.RunConfig(
            name=f"train-{tune.get_context().get_trial_id()}",
            storage_path=config["folder"],
            callbacks=[TuneReportCallback()],
        ),
    ).fit()


def main() -> None:
    """Run them one after another, on two cores: one for the driver and one for its worker."""
    ray.init(address="local", num_cpus=2, num_gpus=0, include_dashboard=False)
    clock, (trials, folder) = TrialEnds(), sys.argv[1:]
    results = tune.Tuner(
        driver,
        param_space={"number": tune.grid_search(list(range(int(trials)))), "folder": folder},
        tune_config=tune.TuneConfig(max_concurrent_trials=1),
        run_config=tune.RunConfig(storage_path=folder, callbacks=[clock]),
    ).fit()
    if results.errors:
        raise results.errors[0]
    ray.shutdown()
    print(clock.ended[0], clock.ended[-1])


if __name__ == "__main__":
    main()
