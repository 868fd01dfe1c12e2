"""What workers do in tests of the engine: tasks without work."""

from __future__ import annotations

import functools
import os
import random
import sys
import time
from typing import Any

from reports.ledger import Evaluation, Record
from study.engine.messages import Scored, WorkerTask
from study.engine.worker_group import Worker
from study.trial import Trial
from trainables.senteval import task_names
from trainables.senteval.tasks import TASKS


def renewing(task: WorkerTask, me: Worker) -> None:
    """Each trial's process is renewed after it."""
    if me.rank == 0:
        for trial in task.trials:
            scores: dict[str, Any] = {task: {} for task in task_names(trial.evaluation.tasks)}
            record = Record(
                trial.recipe.flat(),
                trial.recipe_hash,
                trial.seed,
                evaluations=[Evaluation(trial.evaluation.protocol, scores)],
                cost={"crew": me.timesheet.read_and_reset()},
            )
            me.tell(Scored(trial.key, record, None, None))
        me.finish(task, renew=True)


def dying(task: WorkerTask, me: Worker) -> None:
    """Seed 0 kills its process; that of others is renewed."""
    if task.trials[0].seed == 0:
        os._exit(1)
    renewing(task, me)


PAUSE = 0.1
"""Seconds that a made-up trial takes, so that a test can strike in the midst of a study."""


def made_up(task: WorkerTask, me: Worker) -> None:
    """Scores that the temperature and the seed give, the same whenever a trial runs."""
    for trial in task.trials:
        if trial.key not in task.done:
            time.sleep(PAUSE)
            me.tell(Scored(trial.key, made_up_record(trial), None, None))
    me.finish(task)


def made_up_record(trial: Trial) -> Record:
    """The nearer the temperature lies to 0.7, the better; what does not train is far worse."""
    draw = random.Random(trial.key)
    temperature = float(str(trial.recipe.flat().get("objective.temperature", 3.0)))
    true = 80.0 - 20.0 * abs(temperature - 0.7) if trial.recipe.trains else 50.0
    seed = draw.gauss(0.0, 0.3) if trial.recipe.uses_seed else 0.0
    development, tested = true + seed, true + 0.8 * seed + draw.gauss(0.0, 0.1)
    numbers = {"dev_spearman_cosine": development, "test_spearman_cosine": tested, TASKS["STSBenchmark"].metric: tested}
    scores = {name: {} for name in task_names(trial.evaluation.tasks)} | {"STSBenchmark": numbers}
    return Record(
        trial.recipe.flat(),
        trial.recipe_hash,
        trial.seed,
        evaluations=[Evaluation(trial.evaluation.protocol, scores)],
        cost={"seconds": 1.0, "train_seconds": 1.0},
        hardware=trial.resources.hardware,
    )


def main(perform: str, results: str, *options: str) -> int:
    """Run rows of a space with it, on a Ray of its own; returns the number of failed trials."""
    from study.cli.options import parse
    from study.engine.cluster import allot, find_cluster
    from study.engine.launch import run_study
    from study.plan import decide, read_request

    request = parse(["--space", "scl_npos_nneg", "--scale", "laptop", "--results", results, *options])
    cluster = find_cluster()
    plan = decide(read_request(request), cluster.gpus)
    return run_study(plan, cluster, allot(cluster, request), f"tests.engine_work:{perform}")


def command(perform: str, *options: str) -> int:
    """`study/run.py` with its own options, but for what its workers do."""
    from study import run
    from study.engine import launch

    launch.run_study = functools.partial(launch.run_study, perform=f"tests.engine_work:{perform}")
    sys.argv[1:] = options
    return run.command()


if __name__ == "__main__":
    sys.exit(command(*sys.argv[2:]) if sys.argv[1] == "command" else main(*sys.argv[1:]))
