"""A small study without Ray, for the tests of what follows a study."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

from reports.ledger import LEDGER, Ledger, Record
from reports.testing import made_record
from study.callbacks import Outlook
from study.cli.options import parse
from study.engine.launch import prepare_results
from study.plan import decide, read_request
from study.trial import TrialSpec
from tests.simulated_study import spec_of

SCORES: dict[str, dict[str, Any]] = {
    **{f"STS{year}": {"spearman_wmean": 50.0 + year, "examples": 1000, "seconds": 1.5} for year in range(12, 17)},
    "MR": {"dev_accuracy": 70.0, "test_accuracy": 71.5, "ratio": float("nan")},
    "CR": {"reason": "no data"},
    "STSBenchmark": {"dev_spearman_cosine": 60.0, "test_spearman_cosine": 58.25},
}
MEASURED = {
    **{f"STS{year}/spearman_wmean": 50.0 + year for year in range(12, 17)},
    "MR/dev_accuracy": 70.0,
    "MR/test_accuracy": 71.5,
    "STSBenchmark/dev_spearman_cosine": 60.0,
    "STSBenchmark/test_spearman_cosine": 58.25,
    "average/liao_sts": 64.0,
    "development/selection": 65.0,
    "development/sts": 60.0,
    "development/transfer": 70.0,
    "training/negatives_per_anchor": 61.5,
    "training/steps": 90.0,
    "cost/seconds": 30.0,
    "cost/crew/busy": 9.0,
    "cost/crew/idle": 1.0,
}
"""What trackers make of it."""


def outlook(results: Path, space: str = "scl_tau", *arguments: str) -> Outlook:
    """Of a study with four trials to come, which has been prepared in the folder."""
    command = ["--space", space, "--scale", "laptop", "--results", str(results), *arguments]
    plan = decide(read_request(parse(command)), 0)
    prepare_results(plan, "2 cores")
    return Outlook(plan, Ledger(plan.results / LEDGER), 2, lambda: 4, lambda: (), lambda: math.inf)


def trial(looked: Outlook, number: int = 0, name: str | None = None) -> TrialSpec:
    """One of the study's trials."""
    planned = looked.plan.fixed_trials()[number]
    return spec_of(dataclasses.replace(planned, name=name or planned.name))


def record(spec: TrialSpec, stopped: str | None = None) -> Record:
    """What the trial leaves; with a reason, that of one that was stopped early."""
    return made_record(
        dict(spec.recipe),
        spec.recipe_hash,
        spec.seed,
        status="pruned" if stopped else "finished",
        scores={} if stopped else SCORES,
        protocol=str(spec.evaluation["evaluation.protocol"]),
        training={"negatives_per_anchor": 61.5, "steps": 90, "stopped": stopped},
        cost={"seconds": 30.0, "crew": {"busy": 9.0, "idle": 1.0}},
    )
