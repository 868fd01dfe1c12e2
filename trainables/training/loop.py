"""The training loop: one global batch per step, with equal results on one or several workers, resumable at any step."""

from __future__ import annotations

import functools
import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from trainables.corpora.batch import Sampler
from trainables.objectives.objective import Loss
from trainables.recipe import OptimisationConfig, Recipe
from trainables.to_device import to_device
from trainables.training.checkpoint import TrainingProgress, load_state, save_state
from trainables.training.chunks import Chunks
from trainables.training.distributed import Workers
from trainables.training.dropout_streams import RandomState
from trainables.training.gradients import GradientSum
from trainables.training.model import StudyModel, TokenizedBatch, decay_groups
from trainables.training.optimisers import Optimiser
from trainables.training.pace import Pace
from trainables.training.pending_numbers import PendingNumbers
from trainables.training.renewal import Renewal
from trainables.training.rungs import RungPlan
from trainables.training.token_memory import TokenMemory
from trainables.training.weights_kept import build_weight_rule


class TrainingDivergedError(Exception):
    """The loss of a step is infinite or not a number."""

    def __init__(self, message: str, progress: TrainingProgress) -> None:
        """`progress`: the progress until the divergence, with all its seconds."""
        super().__init__(message)
        self.progress = progress


class Interrupted(Exception):  # noqa: N818 - it is no error
    """A checkpoint was taken, and the training continues from it in another process."""


class Watcher:
    """Callbacks of a training. The methods of this base class do nothing. Steps are counted from 1."""

    rung_plan: RungPlan | None = None
    """The rungs at which `rung` is called, the same on every worker; None: no rungs."""

    def step(self, step: int, scalars: dict[str, float]) -> None:
        """Receive the numbers of a step, on the first worker only. The device may already run the next step."""

    def wants_checkpoint(self, step: int) -> bool:
        """Return whether a checkpoint is wanted. Called on the first worker, after each step without a pending
        checkpoint. The checkpoint follows the next step, when all workers know of it; after a rung, a scored step and
        the last step, it is taken at once."""
        return False

    def checkpoint(self, step: int, save: Callable[[Path], None]) -> bool:
        """Write a checkpoint by `save(folder)`, on the first worker. Called on every worker; return False on all of
        them to end the training."""
        return True

    def rung(self, number: int, progress: TrainingProgress) -> bool:
        """Handle rung `number`, counted from 1, before the last step. If a step reaches several rungs, only the last of
        these is handled. Called on every worker; return False on all of them to end the training."""
        return True

    def score(self) -> float | None:
        """Return the encoder's development score in percent, the same on every worker, for `optimisation.keep=best`.
        None if there is no data for it."""
        return None


def learning_rate(step: int, steps: int, config: OptimisationConfig) -> float:
    """Return the learning rate at a step, counted from 0. It rises linearly in the warm-up. Then it falls to 0,
    linearly or by a half cosine, or stays constant."""
    warmup = int(config.warmup * steps)
    if step < warmup:
        return config.learning_rate * step / warmup
    if config.schedule == "constant":
        return config.learning_rate
    left = (steps - step) / max(steps - warmup, 1)
    if config.schedule == "cosine":
        return config.learning_rate * (1 - math.cos(math.pi * left)) / 2
    return config.learning_rate * left


def build_optimiser(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return the optimiser of a recipe, with weight decay on matrices only."""
    config = recipe.optimisation
    return recipe.part(Optimiser).build(decay_groups(model, config.weight_decay), config.learning_rate)


def train(
    model: StudyModel,
    sampler: Sampler,
    recipe: Recipe,
    seed: int,
    watcher: Watcher,
    workers: Workers,
    resume: Path | None = None,
) -> TrainingProgress:
    """Train the model in place and return the progress, with sums over all batches. See `stepwise`."""
    steps = recipe.optimisation.steps(sampler.steps_per_epoch)
    batches = functools.partial(_tokenized, model, sampler, Renewal(model, sampler, workers))
    rungs = watcher.rung_plan.in_steps(sampler.steps_per_epoch) if watcher.rung_plan else None
    return deque(stepwise(model, batches, steps, recipe, seed, watcher, workers, resume, rungs), maxlen=1).pop()


def stepwise(
    model: StudyModel,
    batches: Callable[[range], Iterable[TokenizedBatch]],
    steps: int,
    recipe: Recipe,
    seed: int,
    watcher: Watcher,
    workers: Workers,
    resume: Path | None = None,
    rungs: RungPlan | None = None,
) -> Iterator[TrainingProgress]:
    """Train the model in place, and yield the progress before the first step and after each step. At the end the
    encoder has the weights that `optimisation.keep` names.

    Every random draw depends on (seed, worker, step), so a resumed training equals an unbroken one, except for
    FlashAttention's sums over sentences of more than 128 tokens on a GPU. `rungs` are in steps (`RungPlan.in_steps`).
    Raises on every worker `TrainingDivergedError` if the loss is not finite, `Interrupted` if the watcher ends it.
    """
    config, optimiser = recipe.optimisation, build_optimiser(model, recipe)
    keeping = build_weight_rule(config, steps, model.encoder, watcher.score)
    progress = load_state(resume, model, optimiser, keeping.tensors) if resume else TrainingProgress()
    passed = rungs.reached(progress.step, steps, progress.sums.get("tokens", 0)) if rungs else 0
    account = _Account(progress, watcher, workers)
    save = functools.partial(save_state, model=model, optimiser=optimiser, progress=progress, weights=keeping.tensors)
    model.train()
    with GradientSum(model.parameters(), workers) as gradients:
        chunks = Chunks(model, config.chunk, config.batch_size, workers, gradients, progress.chunk)
        first = progress.step
        yield progress
        left = range(first, first if keeping.stops_early(progress) else steps)
        for done, batch in enumerate(batches(left), start=first + 1):
            rate = learning_rate(done - 1, steps, config)
            for group in optimiser.param_groups:
                group["lr"] = rate if "rate" not in group else rate * (group["rate"] / config.learning_rate)
            torch.manual_seed(_seed(seed, workers.rank, done - 1))
            undrawn = RandomState.of(model.encoder.device) if done == first + 1 else None
            loss = chunks.step(batch, _seed(seed, -1, done - 1))
            progress.chunk = chunks.chunk
            if undrawn is not None and undrawn.drawn_since():
                progress.streams = max(workers.count, progress.streams or 0)
            if config.clip_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), config.clip_norm)
            optimiser.step()

            account.add(done, batch, loss, rate)
            before, passed = passed, rungs.reached(done, steps, account.tokens) if rungs else 0
            at_rung = passed > before and done < steps  # at the end a stop saves nothing
            if done == steps or at_rung or keeping.waits_for_device(done):
                account.settle()
            keeping.after(done, progress)
            if at_rung and not watcher.rung(passed, progress):
                return  # kept weights are not put back
            if account.checkpoint_due:
                account.settle()
                if not watcher.checkpoint(done, save):
                    raise Interrupted(f"training goes on elsewhere from its checkpoint after step {done}")
                account.checkpoint_taken()
            yield progress
            if keeping.stops_early(progress):
                break
        keeping.put_back()


@dataclass(frozen=True)
class _Step:
    """A step that the device may still be computing."""

    number: int  # counted from 1
    pending: PendingNumbers  # the loss over all workers, the wish for a checkpoint, and counts that are tensors
    rate: float
    sums: dict[str, float]  # of the batch
    counts: dict[str, float | Tensor]  # of the objective


class _Account:
    """Updates the progress and calls the watcher, one step late, so that no step waits for the device. Decides, equally
    on all workers, when a checkpoint is due."""

    def __init__(self, progress: TrainingProgress, watcher: Watcher, workers: Workers) -> None:
        self.progress, self.watcher, self.workers = progress, watcher, workers
        self.checkpoint_due = False
        """Whether a checkpoint must be taken now. `checkpoint_taken` resets it."""
        self._wished = False
        self._began = time.perf_counter() - progress.seconds
        self._pace = Pace(progress.step, progress.sums.get("tokens", 0))
        self._last: _Step | None = None

    @property
    def tokens(self) -> float:
        """Tokens of all steps, including the last one."""
        return self.progress.sums.get("tokens", 0) + (self._last.sums["tokens"] if self._last else 0)

    def add(self, number: int, batch: TokenizedBatch, loss: Loss, rate: float) -> None:
        """Store a step that the device has queued, and `settle` the step before it."""
        if self.workers.rank == 0 and not self._wished:
            self._wished = self.watcher.wants_checkpoint(number)
        value = loss.value.detach()
        # The wish for a checkpoint is exchanged with the loss, so that all workers receive it in the same step.
        numbers = torch.stack([value, torch.full_like(value, self._wished)])
        counts = [to_device(count, value.device).view(1) for count in loss.counts.values() if isinstance(count, Tensor)]
        # float64 holds every count exactly.
        pending = PendingNumbers(torch.cat([part.double() for part in (self.workers.total(numbers), *counts)]))
        self.settle()
        sums = {"pairs": len(batch.label), "sentences": len(batch.tokens), "tokens": sum(map(len, batch.tokens))}
        mined = {"mining_seconds": batch.mining_seconds} if batch.mining_seconds else {}
        self._last = _Step(number, pending, rate, sums | mined, dict(loss.counts))

    def settle(self) -> None:
        """Wait for the last step and add it to the progress, unless this was done."""
        step, self._last = self._last, None
        if step is None:
            return
        loss, wished, *read = step.pending.read()
        progress = self.progress
        progress.seconds = time.perf_counter() - self._began
        if not math.isfinite(loss):
            raise TrainingDivergedError(f"the loss is {loss} at step {step.number - 1}", progress)
        progress.step, progress.last_loss = step.number, loss
        late = iter(read)
        counts = {name: _number(count, late) for name, count in step.counts.items()}
        progress.add(loss=loss, **step.sums, **counts)
        self.checkpoint_due = wished > 0
        if self.workers.rank == 0:
            pace = self._pace.after(step.number, progress.sums["tokens"])
            self.watcher.step(step.number, {"loss": loss, "learning_rate": step.rate, **counts, **pace})

    def checkpoint_taken(self) -> None:
        """Reset `checkpoint_due` after the checkpoint was taken."""
        self.checkpoint_due = self._wished = False


def _number(count: float | Tensor, late: Iterator[float]) -> float:
    """Return a count. The count of a tensor is the next number of `late`, which the device computed."""
    if not isinstance(count, Tensor):
        return count
    return next(late) if count.is_floating_point() else int(next(late))


def _tokenized(model: StudyModel, sampler: Sampler, renewal: Renewal, steps: range) -> Iterator[TokenizedBatch]:
    """Yield the batches of the steps. The next batch is tokenized during a step, unless its negatives must be mined
    with the weights after this step."""
    memory = TokenMemory(model.encoder) if len(steps) > sampler.steps_per_epoch else None  # else no text is repeated

    def prepare(step: int) -> TokenizedBatch:
        return model.tokenized(sampler.batch(step), memory)

    with ThreadPoolExecutor(max_workers=1) as ahead:
        renewal.begin()
        upcoming = None
        for step in steps:
            mining_seconds = 0.0
            if upcoming is None:
                mining_seconds = renewal.renew(step)
                upcoming = ahead.submit(prepare, step)
            batch, upcoming = upcoming.result(), None
            if step + 1 < steps.stop and not renewal.due(step + 1):
                upcoming = ahead.submit(prepare, step + 1)
            yield replace(batch, mining_seconds=mining_seconds) if mining_seconds else batch


def _seed(seed: int, worker: int, step: int) -> int:
    """Return a different seed for every (seed, worker, step)."""
    return (seed * 1_000_003 + (worker + 2) * 7_919 + step * 104_729) % (2**63)
