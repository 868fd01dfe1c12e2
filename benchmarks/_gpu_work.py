"""The pieces of work that `benchmarks/gpu.py` times, ours and those of sentence-transformers."""

from __future__ import annotations

import contextlib
import gc
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmarks._arithmetic import best, forward_flops
from benchmarks._gpu_models import Triples, sentences
from trainables.encoders import load_encoder
from trainables.encoders.pooling import Mean
from trainables.encoders.projection import Identity
from trainables.encoders.transformer import TransformerEncoder
from trainables.objectives.mnrl import MNRL
from trainables.process_cache import PROCESS_CACHE
from trainables.recipe import EncoderConfig, Recipe
from trainables.senteval.examples import Split, TaskData
from trainables.senteval.protocol import PROTOCOLS
from trainables.senteval.scoring import Embedded, score_task
from trainables.senteval.tasks import TASKS
from trainables.training.chunks import TIGHT
from trainables.training.distributed import Workers
from trainables.training.loop import Watcher, train
from trainables.training.model import StudyModel

PADDED, PACKED, COMPILED, THEIRS = "padded", "packed", "packed, compiled", "sentence-transformers"
CACHED_FROM = 1024
"""From so many anchors on sentence-transformers trains by its own gradient cache, or it would not fit."""
THEIR_BATCH = 256
"""So many sentences it has in one pass, in its gradient cache and in encoding."""


@dataclass(frozen=True)
class Timed:
    """What a piece of work took."""

    seconds: float  # of one step, of encoding all sentences, or of all heads
    tokens: int = 0  # real ones
    flops: float = 0.0
    peak_gb: float | None = None
    chunk: object = None
    """Of training, what `optimisation.chunk=auto` came to; None: all in one piece."""


@dataclass(frozen=True)
class Machine:
    """Where it is measured."""

    device: str  # cuda or cpu
    steps: int
    """Timed training steps; as many are done before them, in which kernels are chosen and compiled."""

    @property
    def precision(self) -> Any:
        return "bf16" if self.device == "cuda" else "fp32"

    def peak(self, side: int) -> float:
        """Operations a second of a product of two square matrices, in our precision."""
        number = torch.bfloat16 if self.precision == "bf16" else torch.float32
        a, b = (torch.randn(side, side, device=self.device).to(number) for _ in "ab")
        return 2 * side**3 / self.best(lambda: a @ b, 20)

    def best(self, run: Callable[[], object], runs: int) -> float:
        """The shortest of so many runs in seconds, after one that is not timed."""

        def finished() -> None:
            run()
            self.settle()

        return best(finished, runs)

    def settle(self) -> None:
        """Wait until a GPU has done what it was given."""
        if self.device == "cuda":
            torch.cuda.synchronize()

    @contextlib.contextmanager
    def memory(self) -> Iterator[Callable[[], float | None]]:
        """Gives the most memory of the GPU that was taken inside, in GB; None without one. Frees what is left over."""
        gc.collect()
        if self.device == "cpu":
            yield lambda: None
            return
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        yield lambda: torch.cuda.max_memory_allocated() / 1e9


def our_training(folder: str, way: str, batch: int, machine: Machine) -> Timed:
    """A step of the training loop: multiple negatives ranking over triples, AdamW."""
    with machine.memory() as peak:
        encoder = _ours(folder, way, machine)
        model = StudyModel(encoder, Identity(), MNRL(temperature=0.05))
        recipe = Recipe().override({"optimisation.batch_size": batch, "optimisation.precision": machine.precision})
        sampler = Triples(batch, machine.steps)

        TIGHT.clear()  # what did not fit for another way
        chunks: list[object] = []

        def run() -> None:
            chunks.append(train(model, sampler, recipe, seed=1, watcher=Watcher(), workers=Workers()).chunk)

        seconds = machine.best(run, 1) / machine.steps
        lengths = [len(ids) for step in range(machine.steps) for ids in encoder.tokenize(sampler.batch(step).sentences)]
        flops = 3 * forward_flops(encoder.backbone.config, lengths)
        return Timed(seconds, sum(lengths) // machine.steps, flops / machine.steps, peak(), chunks[-1])


def their_training(folder: str, batch: int, machine: Machine) -> Timed:
    """A step of `SentenceTransformerTrainer` over the same triples, with the same loss, optimiser and precision."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import (
        CachedMultipleNegativesRankingLoss,
        MultipleNegativesRankingLoss,
    )
    from transformers import PrinterCallback, TrainerCallback

    class Clock(TrainerCallback):
        """Times the second half of the steps."""

        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if state.global_step in (machine.steps, 2 * machine.steps):
                machine.settle()
                moments.append(time.perf_counter())

    moments: list[float] = []
    sampler = Triples(batch, machine.steps)
    columns: list[list[str]] = [[], [], []]
    for step in range(machine.steps):
        for column, more in zip(columns, sampler.columns(step), strict=True):
            column.extend(more)
    with machine.memory() as peak, tempfile.TemporaryDirectory() as scratch:
        model = SentenceTransformer(folder, device=machine.device)
        cached = batch >= CACHED_FROM
        loss = (
            CachedMultipleNegativesRankingLoss(model, mini_batch_size=THEIR_BATCH)
            if cached
            else MultipleNegativesRankingLoss(model)
        )
        settings = SentenceTransformerTrainingArguments(
            output_dir=scratch,
            per_device_train_batch_size=batch,
            max_steps=2 * machine.steps,
            bf16=machine.precision == "bf16",
            use_cpu=machine.device == "cpu",
            max_grad_norm=0.0,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        data = Dataset.from_dict(dict(zip(("anchor", "positive", "negative"), columns, strict=True)))
        trainer = SentenceTransformerTrainer(model, settings, data, loss=loss, callbacks=[Clock()])
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        lengths = _lengths(model, [text for column in columns for text in column])
        flops = 3 * forward_flops(model[0].auto_model.config, lengths) / machine.steps
        seconds = (moments[1] - moments[0]) / machine.steps
        return Timed(seconds, sum(lengths) // machine.steps, flops, peak())


def our_encoding(folder: str, way: str, count: int, machine: Machine) -> Timed:
    """So many sentences to embeddings on the CPU."""
    with machine.memory() as peak:
        encoder, texts = _ours(folder, way, machine), sentences(count, seed=0)

        def run() -> None:
            PROCESS_CACHE.clear()  # or the tokens would be there already
            encoder.encode(texts)

        seconds = machine.best(run, 2)
        lengths = [len(ids) for ids in encoder.tokenize(texts)]
        return Timed(seconds, sum(lengths), forward_flops(encoder.backbone.config, lengths), peak())


def their_encoding(folder: str, count: int, machine: Machine) -> Timed:
    """The same by `SentenceTransformer.encode`, its weights in our precision."""
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


def heads(device: str, rows: int, dim: int, protocol: str, machine: Machine) -> Timed:
    """All classifiers of a nested cross-validation (as MR has it) over made-up embeddings of two classes."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, rows)
    vectors = random.normal(size=(rows, dim)) + 0.05 * (2 * labels[:, None] - 1)
    embeddings = torch.from_numpy(vectors.astype(np.float32)).to(device)
    data = TaskData({"all": Split([""] * rows, None, labels)}, classes=2)
    given = Embedded(TASKS["MR"], data, embeddings, lambda texts: torch.arange(len(texts), device=device))
    with machine.memory() as peak:
        machine.settle()
        begin = time.perf_counter()
        score_task(given, PROTOCOLS[protocol], seed=1111)
        machine.settle()
        return Timed(time.perf_counter() - begin, peak_gb=peak() if device == "cuda" else None)


def _ours(folder: str, way: str, machine: Machine) -> TransformerEncoder:
    encoder = load_encoder(
        EncoderConfig(name=folder, max_length=128),
        Mean(),
        device=machine.device,
        training_precision=machine.precision,
        evaluation_precision=machine.precision,
    )
    assert isinstance(encoder, TransformerEncoder)
    if way == PADDED:
        encoder._passes.packed = False
    if way == COMPILED:
        compile_layers(encoder.backbone, "inductor" if machine.device == "cuda" else "eager")
    return encoder


def compile_layers(backbone: Any, backend: str) -> None:
    """Have a BERT's layers compiled, each but for its attention, once for each size of a packed row."""
    torch._dynamo.reset()
    torch._dynamo.config.recompile_limit = 64  # sizes; beyond it layers would run as they are, without a word
    for layer in backbone.encoder.layer:
        layer.compile(backend=backend, dynamic=False)


def _lengths(model: Any, texts: Sequence[str]) -> list[int]:
    found = model.tokenizer(list(texts), truncation=True, max_length=model.max_seq_length)["input_ids"]
    return [len(ids) for ids in found]
