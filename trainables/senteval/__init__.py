"""SentEval whole: 28 tasks as data, one embedding pass, all classifiers of a task in one fit.

    from trainables.senteval import evaluate, task_names
    result = evaluate(encoder.encode, Path("senteval"), task_names(["sts", "transfer"]), "full")
    result.tasks["STS12"]["spearman_wmean"], result.averages["liao_transfer"]

Nothing heavy is imported before `evaluate`, `development` or `fingerprint` run.
"""

from trainables.senteval.evaluation import (
    Evaluation,
    check_data,
    development,
    evaluate,
    fingerprint,
    goals,
    selection_score,
)
from trainables.senteval.tasks import GROUPS, TASKS, task_names

__all__ = [
    "GROUPS",
    "TASKS",
    "Evaluation",
    "check_data",
    "development",
    "evaluate",
    "fingerprint",
    "goals",
    "selection_score",
    "task_names",
]
