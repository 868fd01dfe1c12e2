"""One trial, from recipe and seed to scores, or many trials that train together. It does not need Ray.

    from trainables.trial.run import run_trial
    result = run_trial(Recipe().override({"encoder.name": "scenes-small"}), 1, EvaluationConfig("scenes"))
    result.scores["STS12"]["spearman_wmean"]

Importing this package does not import torch; `trainables.trial.run` does.
"""

from trainables.trial.check import check_recipes, remarks, task_remarks
from trainables.trial.population_key import population_key
from trainables.trial.reporter import Reporter
from trainables.trial.result import TrialResult, Unscored
from trainables.trial.spec import TrialSpec

__all__ = [
    "Reporter",
    "TrialResult",
    "TrialSpec",
    "Unscored",
    "check_recipes",
    "population_key",
    "remarks",
    "task_remarks",
]
