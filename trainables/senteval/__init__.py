"""SentEval: 28 tasks as entries of a registry, one embedding pass, all classifiers of a task in one fit.

    from trainables.senteval import evaluate
    result = evaluate(encoder.encode, "data/senteval", ["sts", "transfer"])
    result.tasks["STS12"]["spearman_wmean"], result.kept["gold.STS12"]

Averages of papers and goals of a search are in `search_spaces`. Nothing heavy is imported before `evaluate` or
`development` runs.
"""

from trainables.senteval.evaluation import SentEvalResult, check_data, development, evaluate, fingerprint, import_late
from trainables.senteval.tasks import GROUPS, TASKS, Task, groups, task_names

__all__ = [
    "GROUPS",
    "TASKS",
    "SentEvalResult",
    "Task",
    "check_data",
    "development",
    "evaluate",
    "fingerprint",
    "groups",
    "import_late",
    "task_names",
]
