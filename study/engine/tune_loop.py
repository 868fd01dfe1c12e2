"""Ray Tune as it runs a study's trials: what it is asked for, and what it tells the study's own loop."""

from __future__ import annotations

import logging
import shutil
import tempfile

import ray
from ray import tune
from ray.tune.experiment import Trial
from ray.tune.search import Searcher

from study.engine.ray_internals import care_for_actors, count_no_loggers
from study.engine.result_writer import ResultWriter
from study.engine.trainable import TaskTrainable, placement


class StudyLoop(tune.Callback, tune.Stopper):
    """Runs the study's loop on the thread of Tune's."""

    def __init__(self, writer: ResultWriter) -> None:
        self.writer = writer

    def __getstate__(self) -> dict[str, object]:
        """Nothing: Tune pickles its callbacks beside a state of its own, which nobody reads."""
        return {}

    def on_step_end(self, iteration: int, trials: list[Trial], **info: object) -> None:
        """Tune calls this when something has happened, and about ten times a second."""
        self.writer.drain()

    def on_trial_complete(self, iteration: int, trials: list[Trial], trial: Trial, **info: object) -> None:
        """Tune keeps every trial that was. What this one was given, and Tune's statistics of it, nobody wants any more:
        four fifths of its memory."""
        for mapping in (trial.config, trial.evaluated_params, trial.metric_analysis, trial.metric_n_steps):
            mapping.clear()
        trial.last_result.pop("config", None)

    def on_trial_recover(self, iteration: int, trials: list[Trial], trial: Trial, **info: object) -> None:
        self.writer.lost_actor(trial.config["key"], _error(trial))

    def on_trial_error(self, iteration: int, trials: list[Trial], trial: Trial, **info: object) -> None:
        self.writer.given_up(trial.config["key"])

    def __call__(self, trial_id: str, result: dict[str, object]) -> bool:
        """No single trial is stopped by Tune."""
        return False

    def stop_all(self) -> bool:
        """Tune's loop ends once the study has a problem, or its time is over."""
        return self.writer.problem is not None or self.writer.late


def _error(trial: Trial) -> BaseException | None:
    """By what Tune's actor ended; None where nobody can read it."""
    try:
        with open(trial.pickled_error_file, "rb") as file:
            error: BaseException = ray.cloudpickle.load(file)
    except Exception:  # it may be of a class that this process cannot import
        return None
    return error


def run_tune(searcher: Searcher, writer: ResultWriter, at_once: int) -> None:
    """Run what the searcher suggests, so many tasks at once, until it has nothing left."""
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)  # trials that die are begun again, and the console says so
    care_for_actors(lambda: writer.awaited)
    count_no_loggers()
    scratch = tempfile.mkdtemp(prefix="tune-")  # nobody needs Tune's own files: the ledger is the truth
    loop = StudyLoop(writer)
    tuner = tune.Tuner(
        tune.with_resources(TaskTrainable, placement),
        tune_config=tune.TuneConfig(
            search_alg=searcher,
            num_samples=-1,  # the searcher says when there is nothing left
            max_concurrent_trials=at_once,
            reuse_actors=True,
            trial_name_creator=lambda trial: trial.config["key"],
            trial_dirname_creator=lambda trial: f"{trial.config['key']}-{trial.trial_id[-4:]}",
        ),
        run_config=tune.RunConfig(
            storage_path=scratch,
            callbacks=[loop],
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),  # workers bring theirs themselves
            failure_config=tune.FailureConfig(max_failures=-1),  # the coordinator counts the attempts of each trial
            stop=loop,
            verbose=0,
        ),
    )
    try:
        tuner.fit()
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
