"""The files that a study writes to its results folder: `study.json`, and one record for each finished trial.

    info = StudyInfo.load(results)
    records = Ledger(results / LEDGER).read()

Reports are made from these alone. All other files can be made again, or are needed only while the study runs.
"""

from reports.ledger.failures import Failure, read_failures
from reports.ledger.finals import (
    Finals,
    LearningCurve,
    fresh_seeds,
    is_explored,
    is_fresh,
    is_soup,
    seed_in_words,
)
from reports.ledger.folders import (
    CURVES,
    FAILURES,
    LEDGER,
    LOOKS,
    MODELS,
    PLUGINS,
    PREDICTIONS,
    STUDY,
    split_key,
    trial_key,
)
from reports.ledger.json_files import plain, write_json
from reports.ledger.ledger import Ledger
from reports.ledger.progress import STAGES, Curve, Curves, Progress, Running, StageTime, Waiting, add_losses
from reports.ledger.record import (
    EVALUATED,
    Evaluation,
    Record,
    Scoring,
    Work,
    mean_measured,
    seconds_by_work,
    seconds_of,
    seconds_trained,
    training_seconds,
)
from reports.ledger.study_info import StudyInfo

__all__ = [
    "CURVES",
    "EVALUATED",
    "FAILURES",
    "LEDGER",
    "LOOKS",
    "MODELS",
    "PLUGINS",
    "PREDICTIONS",
    "STAGES",
    "STUDY",
    "Curve",
    "Curves",
    "Evaluation",
    "Failure",
    "Finals",
    "LearningCurve",
    "Ledger",
    "Progress",
    "Record",
    "Running",
    "Scoring",
    "StageTime",
    "StudyInfo",
    "Waiting",
    "Work",
    "add_losses",
    "fresh_seeds",
    "is_explored",
    "is_fresh",
    "is_soup",
    "mean_measured",
    "plain",
    "read_failures",
    "seconds_by_work",
    "seconds_of",
    "seconds_trained",
    "seed_in_words",
    "split_key",
    "training_seconds",
    "trial_key",
    "write_json",
]
