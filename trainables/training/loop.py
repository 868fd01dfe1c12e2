"""The training loop: one global batch a step, the same on one worker or many, resumable at any step."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

import torch
from torch import nn

from trainables.corpora.batch import Sampler
from trainables.recipe import OptimisationConfig
from trainables.training.checkpoint import Progress, load_state, save_state
from trainables.training.distributed import Workers
from trainables.training.model import StudyModel, TokenizedBatch, decay_groups

MOMENTUM = 0.9
RUNGS = 8
"""Training pauses so often for a report; checkpoints are written there."""


class TrainingDivergedError(Exception):
    """The loss is no longer a number."""


class Watcher(Protocol):
    """Follows a training as it goes on."""

    def step(self, step: int, scalars: dict[str, float]) -> None:
        """After each step, on the first worker only."""

    def rung(self, number: int, save: Callable[[Path], None]) -> bool:
        """On every worker, `RUNGS` times; False ends the training."""


def total_steps(sampler: Sampler, config: OptimisationConfig) -> int:
    """Steps of the whole training."""
    steps = config.epochs * sampler.steps_per_epoch
    return min(steps, config.max_steps or steps)


def learning_rate(step: int, steps: int, config: OptimisationConfig) -> float:
    """The rate at a step counted from 0: a linear rise, then linear to 0, half a cosine to 0, or constant."""
    warmup = int(config.warmup * steps)
    if step < warmup:
        return config.learning_rate * step / warmup
    if config.schedule == "constant":
        return config.learning_rate
    left = (steps - step) / max(steps - warmup, 1)
    if config.schedule == "cosine":
        return config.learning_rate * (1 - math.cos(math.pi * left)) / 2
    return config.learning_rate * left


def build_optimiser(model: nn.Module, config: OptimisationConfig) -> torch.optim.Optimizer:
    """AdamW with torch's defaults, or SGD with momentum; weight decay on matrices only."""
    groups = decay_groups(model, config.weight_decay)
    if config.optimiser == "sgd":
        return torch.optim.SGD(groups, lr=config.learning_rate, momentum=MOMENTUM)
    return torch.optim.AdamW(groups, lr=config.learning_rate, fused=True)


def train(
    model: StudyModel,
    sampler: Sampler,
    config: OptimisationConfig,
    seed: int,
    watcher: Watcher,
    workers: Workers,
    resume: Path | None = None,
) -> Progress:
    """Train in place; returns how far it came, with sums over all batches.

    Every random draw comes from (seed, worker, step), so a resumed training repeats an unbroken one exactly.
    Raises `TrainingDivergedError` where the loss is not finite.
    """
    optimiser = build_optimiser(model, config)
    progress = load_state(resume, model, optimiser) if resume else Progress()
    steps = total_steps(sampler, config)
    rungs = {steps * number // RUNGS: number for number in range(1, RUNGS + 1)}
    began = time.perf_counter() - progress.seconds
    model.train()
    for batch in _tokenized(model, sampler, range(progress.step, steps)):
        for group in optimiser.param_groups:
            group["lr"] = learning_rate(progress.step, steps, config)
        torch.manual_seed(_seed(seed, workers.rank, progress.step))
        loss = model.loss(batch, workers, torch.Generator().manual_seed(_seed(seed, -1, progress.step)))
        optimiser.zero_grad(set_to_none=True)
        loss.value.backward()
        workers.sum_gradients(model.parameters())
        if config.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
        optimiser.step()

        value = float(workers.total(loss.value))
        if not math.isfinite(value):
            raise TrainingDivergedError(f"the loss is {value} at step {progress.step}")
        progress.step += 1
        progress.last_loss = value
        progress.seconds = time.perf_counter() - began
        progress.add(
            loss=value,
            pairs=len(batch.label),
            sentences=len(batch.tokens),
            tokens=sum(map(len, batch.tokens)),
            **loss.counts,
        )
        if workers.rank == 0:
            rate = optimiser.param_groups[0]["lr"]
            watcher.step(progress.step, {"loss": value, "learning_rate": rate, **loss.counts})
        if progress.step in rungs and not watcher.rung(
            rungs[progress.step], lambda folder: save_state(folder, model, optimiser, progress)
        ):
            break
    return progress


def _tokenized(model: StudyModel, sampler: Sampler, steps: range) -> Iterator[TokenizedBatch]:
    """The batches of those steps; the next one is tokenized while the model works on this one."""

    def prepare(step: int) -> TokenizedBatch:
        return TokenizedBatch.of(sampler.batch(step), model.encoder)

    with ThreadPoolExecutor(max_workers=1) as ahead:
        upcoming = ahead.submit(prepare, steps[0]) if steps else None
        for step in steps:
            assert upcoming is not None
            batch = upcoming.result()
            if step + 1 < steps.stop:
                upcoming = ahead.submit(prepare, step + 1)
            yield batch


def _seed(seed: int, worker: int, step: int) -> int:
    """A different stream for every (seed, worker, step)."""
    return (seed * 1_000_003 + (worker + 2) * 7_919 + step * 104_729) % (2**63)
