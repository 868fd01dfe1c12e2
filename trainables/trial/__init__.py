"""One trial, from a recipe and a seed to scores; or many that train together. Plain PyTorch: Ray is one way to call it.

    from trainables.trial.run import run_trial
    result = run_trial(Recipe().override({"encoder.name": "scenes-small"}), 1, EvaluationConfig("scenes"))
    result.scores["STS12"]["spearman_wmean"]

Importing this package is light; torch loads with `trainables.trial.run`.
"""

from trainables.trial.check import check_recipes, of_tasks, remarks
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
    "of_tasks",
    "population_key",
    "remarks",
]
