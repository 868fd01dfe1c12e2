"""Work that `gpu.py` times, by our code and by sentence-transformers."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.gpu._models import LONGEST, Triples, sentences
from benchmarks.training._arithmetic import best, forward_flops
from benchmarks.training._peer import train_peer
from trainables.encoders import load_encoder
from trainables.encoders.pooling import Mean
from trainables.encoders.projection import Identity
from trainables.encoders.transformer import TransformerEncoder
from trainables.objectives.losses.mnrl import MNRL
from trainables.process_cache import PROCESS_CACHE
from trainables.recipe import EncoderConfig, Recipe
from trainables.training.chunks import OUT_OF_MEMORY_KINDS
from trainables.training.distributed import Workers
from trainables.training.loop import Watcher, stepwise, train
from trainables.training.model import StudyModel
from trainables.trial.build import build_model

PRECISIONS = ("fp32", "tf32", "bf16")
"""Precisions of encoding."""
_MNRL = {"corpus.layout": "groups", "objective.temperature": 0.05, "objective.name": "mnrl"}
OBJECTIVES: dict[str, dict[str, Any]] = {
    "mnrl": _MNRL,
    "ce": {"objective.name": "ce"},
    "scl": {"objective.name": "scl"},
    "batch_hard": {"corpus.layout": "groups", "objective.name": "batch_hard"},
    "mnrl, MLM": {**_MNRL, "objective.mlm": 0.1},
    "mnrl, gradient cache": {**_MNRL, "optimisation.chunk": 16_384},
}
"""Maps names of objectives to their settings. All train on the same triples."""
WARM_UP, PROFILED = 4, 3
"""Number of steps before the timed steps, and number of profiled steps after them."""
CACHED_FROM = 1024
"""From this number of anchors on, sentence-transformers uses its own gradient cache, because otherwise the batch would
not fit."""
THEIR_BATCH = 256
"""Number of sentences that sentence-transformers encodes in one pass, in its gradient cache and in encoding."""


@dataclass(frozen=True)
class Timed:
    """Time and amount of a piece of work."""

    seconds: float  # of one step, or of encoding all sentences
    tokens: int  # without padding
    flops: float
    peak_gb: float | None = None
    idle: float | None = None
    """Share of a profiled step's time in which no kernel runs."""

    @property
    def speed(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds


@dataclass(frozen=True)
class Machine:
    """The device, and how work is timed on it."""

    device: str  # cuda or cpu
    steps: int
    """Number of training steps that are timed."""

    @property
    def precision(self) -> Any:
        return "bf16" if self.device == "cuda" else "fp32"

    def peak(self, side: int) -> float:
        """Return the operations per second of a product of two square matrices, in our precision."""
        number = torch.bfloat16 if self.precision == "bf16" else torch.float32
        a, b = (torch.randn(side, side, device=self.device).to(number) for _ in "ab")
        return 2 * side**3 / self.best(lambda: a @ b, 20)

    def best(self, run: Callable[[], object], runs: int) -> float:
        """Return the seconds of the fastest of these runs, after one run that is not timed."""

        def finished() -> None:
            run()
            self.settle()

        return best(finished, runs)

    def settle(self) -> None:
        """Wait until the GPU has finished its work."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    def idle(self, run: Callable[[], object]) -> float | None:
        """Return the share of a run's time in which no GPU kernel runs, by torch's profiler; None without a GPU."""
        if self.device == "cpu":
            return None
        self.settle()
        with torch.profiler.profile(activities=list(torch.profiler.supported_activities())) as profile:
            begin = time.perf_counter()
            run()
            self.settle()
            seconds = time.perf_counter() - begin
        kernels = [event for event in profile.events() if event.device_type == torch.autograd.DeviceType.CUDA]
        return 1 - sum(kernel.device_time_total for kernel in kernels) / 1e6 / seconds

    @contextlib.contextmanager
    def memory(self) -> Iterator[Callable[[], float | None]]:
        """Free unused memory. Yield a function that returns the peak GPU memory inside the `with` block, in GB; None
        without a GPU."""
        gc.collect()
        if self.device == "cpu":
            yield lambda: None
            return
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        yield lambda: torch.cuda.max_memory_allocated() / 1e9


def objective(folder: str, settings: dict[str, Any], batch: int, machine: Machine) -> Timed:
    """Time a training step of an objective on one batch that is already tokenized: the GPU alone."""
    recipe = Recipe().preferring({"encoder.name": folder, "pooling.mode": "mean", **settings})
    recipe = recipe.override({"optimisation.batch_size": batch, "optimisation.precision": machine.precision})
    with machine.memory() as peak:
        encoder = _ours(folder, machine, masked_lm=bool(settings.get("objective.mlm")))
        model = build_model(recipe, encoder)
        tokenized = model.tokenized(Triples(batch, 1).batch(0))
        timed, last = WARM_UP + machine.steps, WARM_UP + machine.steps + PROFILED
        clock = StepClock(machine)
        idle: float | None = None
        training = stepwise(model, lambda steps: [tokenized for _ in steps], last, recipe, 1, Watcher(), Workers())
        for done, _ in enumerate(training):  # before the first step, and after each one
            if done in (WARM_UP, timed):
                clock.mark()
            if done == timed:
                idle = machine.idle(lambda: [next(training) for _ in range(PROFILED)])
        lengths = [len(ids) for ids in tokenized.tokens]
        flops = 3 * forward_flops(encoder.backbone.config, lengths)
        return Timed(clock.seconds / machine.steps, sum(lengths), flops, peak(), idle)


class StepClock:
    """Seconds between the first and the last `mark()`. Each call waits until the GPU has finished its work."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.marks: list[float] = []

    def mark(self) -> None:
        self.machine.settle()
        self.marks.append(time.perf_counter())

    @property
    def seconds(self) -> float:
        return self.marks[-1] - self.marks[0]


def our_training(folder: str, batch: int, machine: Machine) -> Timed:
    """Time a step of the training loop with tokenizing: multiple negatives ranking over triples, AdamW."""
    with machine.memory() as peak:
        encoder = _ours(folder, machine)
        model = StudyModel(encoder, Identity(), MNRL(temperature=0.05))
        recipe = Recipe().override({"optimisation.batch_size": batch, "optimisation.precision": machine.precision})
        sampler = DrawnBatches(Triples(batch, 2 * machine.steps + 1))
        OUT_OF_MEMORY_KINDS.clear()  # lengths that did not fit in earlier runs
        clock = StepClock(machine)

        class OurMarks(Watcher):
            """Marks steps. A step is reported when the next one is queued, so the last one is not timed."""

            def step(self, step: int, scalars: dict[str, float]) -> None:
                if step in (machine.steps, 2 * machine.steps):
                    clock.mark()

        train(model, sampler, recipe, seed=1, watcher=OurMarks(), workers=Workers())
        timed = range(machine.steps + 1, 2 * machine.steps + 1)
        lengths = [len(ids) for step in timed for ids in encoder.tokenize(sampler.batch(step).sentences)]
        flops = 3 * forward_flops(encoder.backbone.config, lengths)
        return Timed(clock.seconds / machine.steps, sum(lengths) // machine.steps, flops / machine.steps, peak())


class DrawnBatches:
    """A sampler with batches made in advance, so that making them is not timed."""

    def __init__(self, sampler: Triples) -> None:
        self.steps_per_epoch = sampler.steps_per_epoch
        self.batch = [sampler.batch(step) for step in range(sampler.steps_per_epoch)].__getitem__


def their_training(folder: str, batch: int, machine: Machine) -> Timed:
    """Time a step of `SentenceTransformerTrainer` over such triples, with our loss, optimiser and precision."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import (
        CachedMultipleNegativesRankingLoss,
        MultipleNegativesRankingLoss,
    )

    clock = StepClock(machine)

    def mark(step: int) -> None:
        """Mark the second half of the steps."""
        if step in (machine.steps, 2 * machine.steps):
            clock.mark()

    sampler = Triples(batch, machine.steps)
    columns: list[list[str]] = [[], [], []]
    for step in range(machine.steps):
        for column, more in zip(columns, sampler.columns(step), strict=True):
            column.extend(more)
    with machine.memory() as peak:
        model = SentenceTransformer(folder, device=machine.device)
        loss: Any = MultipleNegativesRankingLoss(model)
        if batch >= CACHED_FROM:
            loss = CachedMultipleNegativesRankingLoss(model, mini_batch_size=THEIR_BATCH)
        train_peer(
            model,
            loss,
            Dataset.from_dict(dict(zip(("anchor", "positive", "negative"), columns, strict=True))),
            mark,
            per_device_train_batch_size=batch,
            max_steps=2 * machine.steps,
            bf16=machine.precision == "bf16",
            use_cpu=machine.device == "cpu",
            max_grad_norm=0.0,
        )
        lengths = _lengths(model, [text for column in columns for text in column])
        flops = 3 * forward_flops(model[0].auto_model.config, lengths) / machine.steps
        seconds = clock.seconds / machine.steps
        return Timed(seconds, sum(lengths) // machine.steps, flops, peak())


def our_encoding(folder: str, precision: Any, count: int, machine: Machine) -> Timed:
    """Time the encoding of `count` sentences, with the embeddings moved to the CPU."""
    with machine.memory() as peak:
        texts, encoder = sentences(count, seed=0), _ours(folder, machine, evaluation_precision=precision)

        def run() -> None:
            PROCESS_CACHE.clear()  # else the tokens would be cached
            encoder.encode(texts)

        seconds = machine.best(run, 2)
        lengths = [len(ids) for ids in encoder.tokenize(texts)]
        return Timed(seconds, sum(lengths), forward_flops(encoder.backbone.config, lengths), peak())


def their_encoding(folder: str, count: int, machine: Machine) -> Timed:
    """Time the encoding of `count` sentences by `SentenceTransformer.encode`, with weights in our precision."""
    from sentence_transformers import SentenceTransformer

    with machine.memory() as peak:
        model, texts = SentenceTransformer(folder, device=machine.device), sentences(count, seed=0)
        model.to(torch.bfloat16 if machine.precision == "bf16" else torch.float32)
        seconds = machine.best(
            lambda: model.encode(texts, batch_size=THEIR_BATCH, show_progress_bar=False, convert_to_tensor=True).cpu(),
            2,
        )
        lengths = _lengths(model, texts)
        return Timed(seconds, sum(lengths), forward_flops(model[0].auto_model.config, lengths), peak())


def _ours(folder: str, machine: Machine, **how: Any) -> TransformerEncoder:
    config = EncoderConfig(name=folder, max_length=LONGEST)
    encoder = load_encoder(config, Mean(), device=machine.device, training_precision=machine.precision, **how)
    assert isinstance(encoder, TransformerEncoder)
    return encoder


def _lengths(model: Any, texts: Sequence[str]) -> list[int]:
    tokens = model.tokenizer(list(texts), truncation=True, max_length=model.max_seq_length)["input_ids"]
    return [len(ids) for ids in tokens]
