"""Run a study's trials with Ray Tune, and the study's own loop on Tune's thread."""

from __future__ import annotations

import logging
import shutil
import tempfile

import ray
from ray import tune
from ray.tune.experiment import Trial
from ray.tune.search import Searcher

from study.engine.ray_internals import disable_logger_statistics, replace_actor_manager
from study.engine.result_writer import ResultWriter
from study.engine.trainable import TaskTrainable, placement


class StudyLoop(tune.Callback, tune.Stopper):
    """Callback and stopper of Tune, which runs the study's own loop on Tune's thread."""

    def __init__(self, writer: ResultWriter) -> None:
        self.writer = writer

    def __getstate__(self) -> dict[str, object]:
        """Return nothing: Tune pickles its callbacks with its own state, which nobody reads."""
        return {}

    def on_step_end(self, iteration: int, trials: list[Trial], **info: object) -> None:
        """Handle the study's events. Tune calls this when something has happened, and about ten times a second."""
        self.writer.drain()

    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: object) -> None:
        """Clear the trial's config and Tune's statistics of it: four fifths of its memory. Tune keeps every past
        trial."""
        for mapping in (trial.config, trial.evaluated_params, trial.metric_analysis, trial.metric_n_steps):
            mapping.clear()
        trial.last_result.pop("config", None)

    def on_trial_recover(self, iteration: int, trials: list[Trial], trial: Trial, **info: object) -> None:
        self.writer.lost_actor(trial.config["key"], _error(trial))

    def on_trial_error(self, iteration: int, trials: list[Trial], trial: Trial, **info: object) -> None:
        self.writer.given_up(trial.config["key"])

    def __call__(self, trial_id: str, result: dict[str, object]) -> bool:
        """Return False: Tune stops no single trial."""
        return False

    def stop_all(self) -> bool:
        """Return whether the study has a problem, or its time is over. Tune's loop then ends."""
        return self.writer.problem is not None or self.writer.late


def _error(trial: Trial) -> BaseException | None:
    """Return the error that ended Tune's actor; None if it cannot be read."""
    try:
        with open(trial.pickled_error_file, "rb") as file:
            error: BaseException = ray.cloudpickle.load(file)
    except Exception:  # its class may not be importable in this process
        return None
    return error


def run_tune(searcher: Searcher, writer: ResultWriter, at_once: int) -> None:
    """Run what the searcher suggests, `at_once` tasks in parallel, until it has nothing left."""
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)  # dead trials are begun again, and the console says so
    replace_actor_manager(lambda: writer.awaited)
    disable_logger_statistics()
    scratch = tempfile.mkdtemp(prefix="tune-")  # nobody needs Tune's own files: the ledger is the truth
    loop = StudyLoop(writer)
    tuner = tune.Tuner(
        tune.with_resources(TaskTrainable, placement),
        tune_config=tune.TuneConfig(
            search_alg=searcher,
            num_samples=-1,  # the searcher ends the run
            max_concurrent_trials=at_once,
            reuse_actors=True,
            trial_name_creator=lambda trial: trial.config["key"],
            trial_dirname_creator=lambda trial: f"{trial.config['key']}-{trial.trial_id[-4:]}",
        ),
        run_config=tune.RunConfig(
            storage_path=scratch,
            callbacks=[loop],
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),  # workers send checkpoints themselves
            failure_config=tune.FailureConfig(max_failures=-1),  # the coordinator counts the attempts of each trial
            stop=loop,
            verbose=0,
        ),
    )
    try:
        tuner.fit()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
