"""Trials of an encoder of MiniLM's shape in one process, one after the other, as a worker runs them.

    python -m benchmarks._real_trials FOLDER 20

prints one line of JSON: by trial its batch size, the memory of the process after it, and its peak, all in MB or MiB.
The weights are random: memory does not depend on them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks._processes import memory

WORDS, HIDDEN, LAYERS, HEADS = 30_522, 384, 1, 12
"""Of MiniLM, but for the layers: it has six. Most of its parameters are the words' vectors."""
BATCHES = (12, 32, 20)
"""Batch sizes, in turn: freed pieces of one trial do not fit the next one's."""
STEPS = 4


def run(folder: Path, count: int) -> list[dict[str, Any]]:
    """Run so many trials in this process. `folder` receives the encoder."""
    import os

    import torch

    from trainables.evaluation_config import EvaluationConfig
    from trainables.recipe import Recipe
    from trainables.trial.process_reset import ProcessReset
    from trainables.trial.run import run_trial

    torch.set_num_threads(1)
    write_encoder(folder)
    recipe = Recipe().preferring(
        {
            "encoder.name": str(folder),
            "corpus.nli": "scenes",
            "corpus.limit": 256,
            "optimisation.max_steps": STEPS,
        }
    )
    evaluation = EvaluationConfig("scenes", ("STS12",), "fast")
    between, found = ProcessReset(), []
    for number in range(count):
        batch = BATCHES[number % len(BATCHES)]
        with between.trial():
            result = run_trial(recipe.override({"optimisation.batch_size": batch}), number, evaluation)
            peak = result.cost["peak_memory_mb"]
            del result
        found.append({"batch": batch, "after": memory(os.getpid()), "peak": peak})
    return found


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


def main(arguments: Sequence[str]) -> None:
    """`FOLDER TRIALS`."""
    print(json.dumps(run(Path(arguments[0]), int(arguments[1]))))


if __name__ == "__main__":
    main(sys.argv[1:])
