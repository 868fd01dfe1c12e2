"""Trials of an encoder of MiniLM's shape with random weights, one after the other in one process.

    python -m tests.trainables.trial.real_trials FOLDER 20

runs 20, and prints a line of JSON: by trial its batch size, the memory of the process after it, and its peak, in MB or
MiB. `FOLDER` receives the encoder.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import psutil
import torch
from transformers import BertConfig, BertModel

from trainables.encoders import builtin
from trainables.evaluation_config import EvaluationConfig
from trainables.recipe import Recipe
from trainables.trial import TrialResult
from trainables.trial.process_reset import ProcessReset
from trainables.trial.run import run_trial

STEPS = 4
WORDS, HIDDEN, LAYERS, HEADS = 30_522, 384, 1, 12
"""Of MiniLM, but for the layers: it has six. Most of its parameters are the words' vectors."""
BATCHES = (12, 32, 20)
"""Batch sizes, in turn: freed pieces of one trial do not fit the next one's."""


def run_real(folder: Path, count: int) -> list[dict[str, Any]]:
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
        memory = psutil.Process().memory_full_info().pss / 2**20
        trials.append({"batch": batch, "after": memory, "peak": peak})
    return trials


def write_encoder(folder: Path) -> None:
    """A BERT with the words of the built-in encoder, and room for as many as MiniLM has."""
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
