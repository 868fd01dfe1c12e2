"""The numbers that a trial measures about itself: training, seconds and memory."""

from __future__ import annotations

import time
from typing import Any, cast

import torch

from trainables.record_parts import TrainingNumbers, TrialCost
from trainables.training.checkpoint import TrainingProgress
from trainables.training.distributed import Workers
from trainables.training.model import TEMPERATURE
from trainables.trial.peak import Peak

COUNTED = ("loss", "pairs", "sentences", "tokens", "anchors", "positives", "negatives", "batches_without_anchor")
"""Names of sums over the batches, which the loop and, for most objectives, `counts_of` compute."""
FILTERED = "filtered_negatives"
"""Name of the sum over batches of negatives removed by their scores, for objectives that filter negatives."""


class TrialClock:
    """Measures a trial's seconds, until the end of training and of the evaluation after it, and its memory."""

    def __init__(self, elapsed: float = 0.0, resumed: float = 0.0, peak: Peak | None = None) -> None:
        """`elapsed`: seconds of training in this process, if training just ended. `resumed`: seconds of training in an
        earlier process. `peak`: the trial's memory; None: it is measured from now on."""
        self.trained = time.perf_counter()
        self.began = self.trained - elapsed
        self.resumed = resumed
        self.peak = peak or Peak()

    def training_ended(self) -> None:
        self.trained = time.perf_counter()

    def cost(self, workers: Workers) -> TrialCost:
        """Return the trial's cost until now: seconds, GPU seconds, and peak memory in MiB (`Peak`).

        `evaluation_seconds` counts all seconds after training. `evaluating_seconds` counts the part after the last
        embedding, which needs no GPU; it is 0 here and added by `after_scoring`.
        """
        now = time.perf_counter()
        seconds = now - self.began + self.resumed
        return {
            "seconds": seconds,
            "train_seconds": self.trained - self.began + self.resumed,
            "evaluation_seconds": now - self.trained,
            "evaluating_seconds": 0.0,
            "gpu_seconds": seconds * gpus_of(workers),
            "peak_memory_mb": self.peak.in_mebibytes(),
            "workers": workers.count,
            "threads": torch.get_num_threads(),
        }


def after_scoring(cost: TrialCost, seconds: float, gpus: float = 0.0, memory: float | None = None) -> TrialCost:
    """Return the cost plus `seconds` of scoring, during which the trial held `gpus` GPUs and took `memory` MiB. None:
    this memory does not count, as for a trial on a GPU, or cannot be measured."""
    before = cost.get("peak_memory_mb")
    return {
        **cost,
        "seconds": cost["seconds"] + seconds,
        "evaluation_seconds": cost["evaluation_seconds"] + seconds,
        "evaluating_seconds": cost["evaluating_seconds"] + seconds,
        "gpu_seconds": (cost["gpu_seconds"] or 0.0) + seconds * gpus,
        "peak_memory_mb": before if before is None or memory is None else max(memory, before),
    }


def gpus_of(workers: Workers) -> float:
    """Return how many GPUs a trial's workers hold."""
    return workers.count * workers.gpus if torch.cuda.is_available() else 0.0


def training_numbers(progress: TrainingProgress, resumed_seconds: float, **more: Any) -> TrainingNumbers:
    """Return the numbers of a training for the record, and `more`. Counts that are not in `COUNTED` are stored as sums.
    `streams` is present if the forward passes drew random numbers (`TrainingProgress.streams`)."""
    sums = progress.sums
    steps, anchors = max(progress.step, 1), sums.get("anchors", 0)
    numbers = {
        **{name: value for name, value in sums.items() if name not in (*COUNTED, FILTERED, TEMPERATURE)},
        **({"filtered_per_anchor": sums[FILTERED] / anchors} if FILTERED in sums and anchors else {}),
        **({} if progress.streams is None else {"streams": progress.streams}),
        "chunk": progress.chunk,
        "steps": progress.step,
        "loss": sums.get("loss", 0.0) / steps,
        "last_loss": progress.last_loss,
        "pairs": int(sums.get("pairs", 0)),
        "sentences": int(sums.get("sentences", 0)),
        "tokens": int(sums.get("tokens", 0)),
        "anchors": int(anchors),
        "positives_per_anchor": sums.get("positives", 0) / anchors if anchors else None,
        "negatives_per_anchor": sums.get("negatives", 0) / anchors if anchors else None,
        "batches_without_anchor": int(sums.get("batches_without_anchor", 0)),
        "seconds": progress.seconds,
        "resumed_seconds": resumed_seconds,
        **more,
    }
    return cast(TrainingNumbers, numbers)  # an objective may count more
