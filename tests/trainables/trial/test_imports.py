"""What a trial imports before its first step: no library that the step does without."""

from __future__ import annotations

import subprocess
import sys

import pytest

TRIAL = """
import sys
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.trial import Reporter
from trainables.trial.run import run_trial

class FirstStep(Reporter):
    def step(self, step, scalars):
        print("first step:", *{name.partition(".")[0] for name in sys.modules})
        sys.exit()

recipe = Recipe().preferring({
    "encoder.name": "scenes-small", "corpus.nli": "scenes", "corpus.limit": 128, "optimisation.batch_size": 8,
    "optimisation.max_steps": 3, "optimisation.epochs": 3,
})
run_trial(recipe, 1, EvaluationConfig("scenes", ("STS12", "STSBenchmark", "TREC"), "fast"), reporter=FirstStep())
"""
UNNEEDED = {
    "datasets", "matplotlib", "mlflow", "nltk", "optuna", "pandas", "peft", "pyarrow", "ray", "sentence_transformers",
    "sklearn", "tensorboard", "torchvision", "wandb",
}  # fmt: skip


@pytest.mark.slow
def test_no_first_step_waits_for_a_library_that_it_does_without() -> None:
    done = subprocess.run([sys.executable, "-c", TRIAL], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = set(done.stdout.partition("first step:")[2].split())
    assert {"torch", "transformers"} <= loaded, "the step was not reached, or its modules were not read"
    assert not loaded & UNNEEDED
