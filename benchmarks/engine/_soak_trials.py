"""The trials of a soak: short ones in a worker of a study, and real ones in one process.

    python -m benchmarks.engine._soak_trials FOLDER 20

runs 20 real ones, of an encoder of MiniLM's shape with random weights, and prints a line of JSON: by trial its batch
size, the memory of the process after it, and its peak, in MB or MiB.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.engine._processes import memory
from study.engine import worker
from study.engine.messages import WorkerTask
from study.engine.worker_group import Worker
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.senteval import task_names
from trainables.training.distributed import Workers
from trainables.trial import Reporter, TrialResult, TrialSpec
from trainables.trial.measure import TrialClock

STEPS, ITEMS = 4, 1500
"""Of a training, and of the evaluation task of a short one."""
TASK = "STSBenchmark"
WORDS, HIDDEN, LAYERS, HEADS = 30_522, 384, 1, 12
"""Of MiniLM, but for the layers: it has six. Most of its parameters are the words' vectors."""
BATCHES = (12, 32, 20)
"""Batch sizes, in turn: freed pieces of one trial do not fit the next one's."""


def perform(task: WorkerTask, me: Worker) -> None:
    """What a worker does with a task, with short trials in place of real ones."""
    with patch.object(worker, "run_trials", short):
        worker.perform(task, me)


def short(
    specs: Sequence[TrialSpec],
    *,
    reporter: Reporter,
    **unused: Any,
) -> Iterator[TrialResult]:
    """Trials of some milliseconds with steps, predictions, scores and costs: `trainables.trial.run.run_trials`."""
    for spec in specs:
        clock, draw = TrialClock(), random.Random(f"{spec.recipe.hash}-{spec.seed}")
        reporter.begin(STEPS)
        for step in range(1, STEPS + 1):
            reporter.step(step, {"loss": draw.random()})
        clock.training_ended()
        score = 50 + 20 * draw.random()
        scores: Any = {task: {} for task in task_names(spec.evaluation.tasks)}
        scores[TASK] = {"dev_spearman_cosine": score, "test_spearman_cosine": score - 1}
        yield TrialResult(
            scores=scores,
            predictions={f"{TASK}.test": np.random.default_rng(spec.seed).random(ITEMS, dtype=np.float32)},
            training={"steps": STEPS, "loss": draw.random()},
            cost=clock.cost(Workers()),
        )


def run_real(folder: Path, count: int) -> list[dict[str, Any]]:
    """Run so many real trials in this process, one after the other. `folder` receives the encoder."""
    import torch

    from trainables.trial.process_reset import ProcessReset
    from trainables.trial.run import run_trial

    torch.set_num_threads(1)
    write_encoder(folder)
    settings = {"encoder.name": str(folder), "corpus.nli": "scenes", "corpus.limit": 256}
    recipe = Recipe().preferring({**settings, "optimisation.max_steps": STEPS})
    evaluation = EvaluationConfig("scenes", ("STS12",), "fast")
    between, trials = ProcessReset(), []
    for number in range(count):
        batch = BATCHES[number % len(BATCHES)]
        with between.trial():
            result = run_trial(recipe.override({"optimisation.batch_size": batch}), number, evaluation)
            assert isinstance(result, TrialResult)
            peak = result.cost["peak_memory_mb"]
            del result
        trials.append({"batch": batch, "after": memory(os.getpid()), "peak": peak})
    return trials


def write_encoder(folder: Path) -> None:
    """A BERT with the words of the built-in encoder, and room for as many as MiniLM has."""
    from transformers import BertConfig, BertModel

    from trainables.encoders import builtin

    tokenizer = builtin.build()[1]
    config = BertConfig(
        vocab_size=WORDS,
        hidden_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=4 * HIDDEN,
        pad_token_id=tokenizer.pad_token_id,
    )
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


if __name__ == "__main__":
    print(json.dumps(run_real(Path(sys.argv[1]), int(sys.argv[2]))))
