"""Three ways to do the same training steps: ours, sentence-transformers' trainer, and a plain loop over padded batches.

Each is made in a process of its own (`side`), so that its peak memory is its own, and does some steps when it is told.
"""

from __future__ import annotations

import gc
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from trainables.recipe import Recipe

SIDES = ("ours", "plain", "sentence_transformers")
WORK: dict[str, dict[str, Any]] = {
    "MNRL triples": {
        "corpus.layout": "groups",
        "objective.name": "mnrl",
        "objective.positives": 1,
        "objective.negatives": 1,
        "objective.temperature": 0.05,
    },
    "cross-entropy rows": {"objective.name": "ce"},
    "SCL rows": {"objective.name": "scl"},
}
"""What is trained: keys of a recipe. Rows are in corpus order."""


@dataclass(frozen=True)
class Measured:
    """Some steps of one side."""

    seconds: float
    units: int  # triples or pairs
    tokens: int  # real ones that went through the encoder
    padded: int  # the same with padding
    flops: float
    peak_bytes: int  # of the process so far


def side(name: str, recipe: dict[str, Any], threads: int, wire: Connection) -> None:
    """Do as many steps as the wire says, again and again; a `Measured` for each order. It ends with an order of 0."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import torch

    torch.set_num_threads(threads)
    do: Callable[[int, int], Measured] = {"ours": _ours, "plain": _plain, "sentence_transformers": _theirs}[name](
        Recipe.from_flat(recipe)
    )
    wire.send("ready")
    first = 0
    while steps := wire.recv():
        gc.collect()
        wire.send(do(first, steps))
        first += steps


def _ours(recipe: Recipe) -> Callable[[int, int], Measured]:
    """The loop that a trial runs."""
    import dataclasses

    from trainables.training.distributed import Workers
    from trainables.training.loop import Watcher, train

    training, encoder = _built(recipe)

    class Following:
        """The batches from a step on."""

        def __init__(self, first: int) -> None:
            self.first, self.steps_per_epoch = first, training.sampler.steps_per_epoch

        def batch(self, step: int) -> Any:
            return training.sampler.batch((self.first + step) % self.steps_per_epoch)

    def do(first: int, steps: int) -> Measured:
        optimisation = dataclasses.replace(recipe.optimisation, max_steps=steps, epochs=1000)
        begin = time.perf_counter()
        train(training.model, Following(first), optimisation, 1, Watcher(), Workers())
        seconds = time.perf_counter() - begin
        lengths, units = [], 0
        for step in range(steps):
            batch = Following(first).batch(step)
            lengths.append([len(ids) for ids in encoder.tokenize(batch.sentences)])
            units += _units(batch)
        padded = sum(_held(encoder, one) for one in lengths)
        return _measured(seconds, units, [n for one in lengths for n in one], padded, encoder.backbone.config)

    return do


def _plain(recipe: Recipe) -> Callable[[int, int], Measured]:
    """What a textbook writes: a batch's sentences padded to its longest, transformers' model, torch's AdamW."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    from trainables.encoders.pooling_functions import mean
    from trainables.training.loop import build_optimiser

    training, _ = _built(recipe)
    model = AutoModel.from_pretrained(recipe.encoder.name).train()
    model.pooler = None
    tokenizer = AutoTokenizer.from_pretrained(recipe.encoder.name)
    objective = training.model.objective
    optimiser = build_optimiser(torch.nn.ModuleList([model, objective]), recipe.optimisation)
    bf16 = recipe.optimisation.precision == "bf16"

    def do(first: int, steps: int) -> Measured:
        units, padded, lengths = 0, 0, []
        begin = time.perf_counter()
        for step in range(first, first + steps):
            batch = training.sampler.batch(step % training.sampler.steps_per_epoch)
            inputs = tokenizer(batch.sentences, padding=True, truncation=True, max_length=128, return_tensors="pt")
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                states = model(**inputs).last_hidden_state
            embeddings = mean((states.float(),), inputs["attention_mask"])
            numbers = {name: torch.from_numpy(getattr(batch, name)) for name in ("premise", "hypothesis", "group")}
            loss = objective(_embedded(embeddings, label=torch.from_numpy(batch.label).long(), **numbers)).value
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            units += _units(batch)
            padded += inputs["input_ids"].numel()
            lengths.extend(inputs["attention_mask"].sum(1).tolist())
        return _measured(time.perf_counter() - begin, units, lengths, padded, model.config)

    return do


def _theirs(recipe: Recipe) -> Callable[[int, int], Measured]:
    """sentence-transformers' trainer with the same batches in the same order, and its own loss where it has one."""
    import torch
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss, SoftmaxLoss
    from transformers import TrainerCallback

    training, _ = _built(recipe)
    model = SentenceTransformer(recipe.encoder.name, device="cpu")
    model.max_seq_length = 128
    triples = recipe.corpus.layout == "groups"
    kind = recipe.objective.name
    loss: torch.nn.Module
    if triples:
        loss = MultipleNegativesRankingLoss(model)
    elif kind == "ce":
        loss = SoftmaxLoss(model, model.get_embedding_dimension(), 3)
    else:
        loss = _scl_for_theirs(model, training.model.objective)
    seen: list[tuple[int, list[int]]] = []  # padded tokens and lengths of each pass

    def count(_: Any, inputs: tuple[Any, ...]) -> None:
        mask = inputs[0]["attention_mask"]
        seen.append((mask.numel(), mask.sum(1).tolist()))

    model.register_forward_pre_hook(count)

    class Timer(TrainerCallback):
        seconds = 0.0

        def on_train_begin(self, *_: Any, **__: Any) -> None:
            self.began = time.perf_counter()

        def on_train_end(self, *_: Any, **__: Any) -> None:
            self.seconds = time.perf_counter() - self.began

    def do(first: int, steps: int) -> Measured:
        sampler = training.sampler
        batches = [sampler.batch(step % sampler.steps_per_epoch) for step in range(first, first + steps)]
        rows = [row for batch in batches for row in (_triples(batch) if triples else _rows(batch, kind == "scl"))]
        sizes = iter([len(_triples(batch)) if triples else len(batch.label) for batch in batches])
        seen.clear()
        with tempfile.TemporaryDirectory() as scratch:
            arguments = SentenceTransformerTrainingArguments(
                output_dir=scratch,
                per_device_train_batch_size=recipe.optimisation.batch_size,
                max_steps=steps,
                learning_rate=recipe.optimisation.learning_rate,
                bf16=recipe.optimisation.precision == "bf16",
                use_cpu=True,
                report_to="none",
                save_strategy="no",
                disable_tqdm=True,
                max_grad_norm=0.0,
                batch_sampler=lambda dataset, **_: _InOrder(list(sizes)),
            )
            timer = Timer()
            trainer = SentenceTransformerTrainer(
                model=model, args=arguments, train_dataset=Dataset.from_list(rows), loss=loss, callbacks=[timer]
            )
            trainer.train()
        padded, lengths = sum(numel for numel, _ in seen), [n for _, some in seen for n in some]
        units = sum(_units(batch) for batch in batches)
        return _measured(timer.seconds, units, lengths, padded, model[0].auto_model.config)

    return do


class _InOrder:
    """Rows in batches of given sizes."""

    def __init__(self, sizes: list[int]) -> None:
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.sizes)

    def __iter__(self) -> Iterator[list[int]]:
        start = 0
        for size in self.sizes:
            yield list(range(start, start + size))
            start += size

    def set_epoch(self, epoch: int) -> None:
        """Each epoch has the same order."""


def _scl_for_theirs(model: Any, objective: Any) -> Any:
    """Liao's loss as sentence-transformers takes one. A row's label is its own and its group's number times 3."""
    import torch

    class Loss(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.objective = model, objective

        def forward(self, features: Any, labels: Any) -> Any:
            premise, hypothesis = (self.model(one)["sentence_embedding"] for one in features)
            group = labels // 3
            first = (group.unsqueeze(1) == group).long().argmax(dim=1)  # a group's first row has its premise
            place = torch.arange(len(labels)) + len(labels)
            both = torch.cat([premise, hypothesis]).float()
            return self.objective(_embedded(both, premise=first, hypothesis=place, label=labels % 3, group=group)).value

    return Loss()


def _embedded(embeddings: Any, **numbers: Any) -> Any:
    """A batch for our objectives, each text for itself."""
    import torch

    from trainables.objectives.objective import EmbeddedBatch

    generator = torch.Generator().manual_seed(0)
    text = torch.arange(len(embeddings))
    return EmbeddedBatch(embeddings=embeddings, projected=embeddings, text=text, generator=generator, **numbers)


def _built(recipe: Recipe) -> tuple[Any, Any]:
    from trainables.trial.build import build_encoder, build_training

    encoder = build_encoder(recipe, 1, None)
    return build_training(recipe, 1, encoder), encoder


def _held(encoder: Any, lengths: list[int]) -> int:
    """Tokens with padding of a batch in our passes."""
    from trainables.encoders.passes import Passes

    passes: Passes = encoder._passes
    if passes.packed:
        return sum(lengths)
    return sum(len(one) * max(lengths[i] for i in one) for one in passes.cut(lengths))


def _triples(batch: Any) -> list[dict[str, str]]:
    """Anchor, positive and hard negative of each group."""
    found: dict[int, dict[str, str]] = {}
    for premise, hypothesis, label, group in zip(
        batch.premise, batch.hypothesis, batch.label, batch.group, strict=True
    ):
        row = found.setdefault(int(group), {"anchor": batch.sentences[premise]})
        row["positive" if label == 0 else "negative"] = batch.sentences[hypothesis]
    return list(found.values())


def _rows(batch: Any, grouped: bool) -> list[dict[str, Any]]:
    """Premise, hypothesis and label; with `grouped` the label also says which rows belong together."""
    return [
        {
            "premise": batch.sentences[premise],
            "hypothesis": batch.sentences[hypothesis],
            "label": int(label) + (3 * int(group) if grouped else 0),
        }
        for premise, hypothesis, label, group in zip(
            batch.premise, batch.hypothesis, batch.label, batch.group, strict=True
        )
    ]


def _units(batch: Any) -> int:
    """Its groups, where they are triples, else its pairs."""
    labels = len(batch.label)
    groups = len(set(batch.group.tolist()))
    return groups if labels == 2 * groups else labels


def _measured(seconds: float, units: int, lengths: list[int], padded: int, config: Any) -> Measured:
    from benchmarks._arithmetic import forward_flops

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Measured(seconds, units, sum(lengths), padded, 3 * forward_flops(config, lengths), peak)
