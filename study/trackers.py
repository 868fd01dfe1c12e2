"""Experiment trackers, where a person has them installed and set up."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from study.plan import Plan

if TYPE_CHECKING:
    from ray.tune import Callback


def trackers(plan: Plan) -> list[Callback]:
    """Ray's own callbacks: MLflow if `MLFLOW_TRACKING_URI` is set, Weights & Biases if `WANDB_API_KEY` or
    `WANDB_MODE` is."""
    found: list[Callback] = []
    if importlib.util.find_spec("mlflow") and os.environ.get("MLFLOW_TRACKING_URI"):
        from ray.air.integrations.mlflow import MLflowLoggerCallback

        found.append(MLflowLoggerCallback(experiment_name=plan.space.name))
    if importlib.util.find_spec("wandb") and (os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_MODE")):
        from ray.air.integrations.wandb import WandbLoggerCallback

        found.append(WandbLoggerCallback(project=plan.space.name, dir=str(plan.results / "wandb")))
    return found
