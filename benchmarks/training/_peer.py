"""sentence-transformers' trainer for comparisons with ours: it only trains, without saving or printing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any


def train_peer(model: Any, loss: Any, data: Any, after: Callable[[int], None], **settings: Any) -> None:
    """Train a `SentenceTransformer`. `after` is called after each step, counted from 1. `settings`: arguments of the
    trainer."""
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
    from transformers import PrinterCallback, TrainerCallback

    class AfterStep(TrainerCallback):
        def on_step_end(self, _: Any, state: Any, *__: Any, **___: Any) -> None:
            after(state.global_step)

    with tempfile.TemporaryDirectory() as scratch:
        silent = {"save_strategy": "no", "logging_strategy": "no", "report_to": "none", "disable_tqdm": True}
        arguments = SentenceTransformerTrainingArguments(output_dir=scratch, **silent, **settings)
        trainer = SentenceTransformerTrainer(model, arguments, data, loss=loss, callbacks=[AfterStep()])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
