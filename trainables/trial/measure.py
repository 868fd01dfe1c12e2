"""What a trial measures of itself: its training, its seconds and its memory."""

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
"""What the loop, and `counts_of` for most objectives, add up over the batches."""
FILTERED = "filtered_negatives"
"""What scores took from the negatives, added up likewise where an objective filters them."""


class TrialClock:
    """The seconds of a trial: those until training ended, and those of the evaluation after it; and its memory."""

    def __init__(self, already: float = 0.0, resumed: float = 0.0, peak: Peak | None = None) -> None:
        """`already`: seconds that training has taken in this process, if it ended just now; `resumed`: seconds that it
        took in an earlier process; `peak`: of its memory, else counted from now on."""
        self.trained = time.perf_counter()
        self.began = self.trained - already
        self.resumed = resumed
        self.peak = peak or Peak()

    def training_ended(self) -> None:
        self.trained = time.perf_counter()

    def cost(self, workers: Workers) -> TrialCost:
        """What the trial has cost until now: seconds, GPU seconds, and peak memory in MiB (`Peak`).

        `evaluation_seconds` are all after the training; of these `evaluating_seconds` passed after the last embedding,
        and need no GPU: there are none yet (`after_scoring`).
        """
        now = time.perf_counter()
        seconds = now - self.began + self.resumed
        return {
            "seconds": seconds,
            "train_seconds": self.trained - self.began + self.resumed,
            "evaluation_seconds": now - self.trained,
            "evaluating_seconds": 0.0,
            "gpu_seconds": seconds * gpus_of(workers),
            "peak_memory_mb": self.peak.taken(),
            "workers": workers.count,
            "threads": torch.get_num_threads(),
        }


def after_scoring(cost: TrialCost, seconds: float, gpus: float = 0.0, memory: float | None = None) -> TrialCost:
    """The cost with so many seconds of scoring, while the trial held that many GPUs and took so many MiB; None: it took
    none of the memory that is counted."""
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
    """How many GPUs a trial's workers hold."""
    return workers.count * workers.gpus if torch.cuda.is_available() else 0.0


def measured(progress: TrainingProgress, resumed_seconds: float, **more: Any) -> TrainingNumbers:
    """What a record says of a training, and `more`. A count that is not in `COUNTED` is kept as a sum. `streams` is
    there where something was drawn at random in the forward passes: see `TrainingProgress.streams`."""
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
