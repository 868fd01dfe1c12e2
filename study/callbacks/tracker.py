"""What every experiment tracker is told of a trial: its name, its recipe, and all that was measured, as numbers."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

from reports.ledger import Record, StudyInfo
from search_spaces.averages import averages
from search_spaces.goals import GOALS
from study.cli.terminal import printable
from study.plan import Plan
from study.trial import TrialSpec

LONGEST_NAME = 120
"""Characters that a tracker's list of trials has room for; Weights & Biases takes 128."""
NO_SCORES = ("examples", "seconds", "reason")
"""What a record holds of a task beside its scores."""


def name_of(trial: TrialSpec) -> str:
    """What a list of trials calls it: the label and the seed."""
    label = printable(trial.name)
    ending = f" seed {trial.seed}"
    room = LONGEST_NAME - len(ending)
    return (label if len(label) <= room else label[: room - 1] + "…") + ending


def parameters(trial: TrialSpec) -> dict[str, str | int | float | bool]:
    """The flat recipe and its evaluation with the seed; without keys whose value is None, and several values as one
    text."""
    values = {"label": printable(trial.name), "seed": trial.seed, **trial.recipe, **trial.evaluation}
    return {
        key: ", ".join(map(str, value)) if isinstance(value, tuple | list) else value
        for key, value in values.items()
        if value is not None
    }


def study_of(plan: Plan) -> str:
    """Tells a study from every other one, also from an earlier one in the same folder; the same when it is
    continued."""
    return f"{plan.place.at('')} {StudyInfo.load(plan.results).created_at}"


def trial_id(study: str, key: str) -> str:
    """Sixteen hexadecimal digits for a trial of that study."""
    return hashlib.sha256(f"{study} {key}".encode()).hexdigest()[:16]


def rung_metrics(number: int, scores: Mapping[str, float]) -> dict[str, float]:
    """`development/rung` and `development/score`; of several goals a score each, `development/score/sts`."""
    several = len(scores) > 1
    return {
        "development/rung": number,
        **{f"development/score/{goal}" if several else "development/score": score for goal, score in scores.items()},
    }


def measured(record: Record) -> dict[str, float]:
    """All numbers of a record that are finite, by name: `MR/test_accuracy`, `average/liao_sts`,
    `development/selection`, `geometry/alignment`, `training/negatives_per_anchor`, `cost/gpu_seconds`."""
    scores = {
        task: {name: value for name, value in numbers.items() if name not in NO_SCORES}
        for task, numbers in record.scores.items()
    }
    development = {goal.name: goal.of(record.scores, {}) for goal in GOALS.values() if not goal.cost}
    found: dict[str, Any] = {
        **scores,
        "average": averages(record.scores),
        "development": development,
        "geometry": record.geometry,
        "training": record.training,
        "cost": record.cost,
    }
    return dict(_numbers(found))


def _numbers(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, float]]:
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{before}{name}/")
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            yield before + name, float(value)
