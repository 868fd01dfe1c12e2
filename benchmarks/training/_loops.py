"""The trainings that `training.py` compares, its sides: ours as in a trial, and sentence-transformers' trainer.

Each side is a process of its own (`side`), which trains once. The sides take turns, some steps each, so that other work
on the machine affects all sides alike.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import random
import resource
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from benchmarks.training._peer import train_peer
from trainables.recipe import Recipe

_TRIPLES: dict[str, Any] = {
    "corpus.layout": "groups",
    "objective.name": "mnrl",
    "objective.positives": 1,
    "objective.negatives": 1,
    "objective.temperature": 0.05,
}
WORK: dict[str, dict[str, Any]] = {
    "MNRL triples": _TRIPLES,
    "MNRL guided": {
        **_TRIPLES,
        "objective.false_negatives": "guide",
        "objective.directions": ("query_to_doc", "query_to_query", "doc_to_doc"),
    },
    "SCL rows": {"objective.name": "scl"},
}
"""Settings of the compared trainings, as recipe keys. Rows are in corpus order. The guide is the original encoder. It
embeds each batch within its step, as in a first epoch. Later epochs, for which our training caches the guide's
embeddings, are not measured."""
SIDES = ("ours", "default", "best")
"""Our training; sentence-transformers by default; and at its fastest, with batches of rows of similar length and no
gradient norm. Its trainer ignores transformers' `group_by_length`, so a batch sampler groups the rows."""


@dataclass(frozen=True)
class TrainedStep:
    """Counts of one training step."""

    units: int  # triples or pairs
    tokens: int  # of their texts; a text in several of them counts each time, as on all sides
    encoded: tuple[int, ...]  # tokens of each encoded text
    padded: int  # the same with padding


@dataclass
class Turns:
    """Divides a training into turns and times them."""

    wire: Connection
    warm_up: int
    steps: int
    count: int
    began: float = 0.0

    @property
    def last(self) -> int:
        """Number of steps of the whole training."""
        return self.warm_up + self.count * self.steps

    def after(self, step: int) -> None:
        """Handle the end of a step, counted from 1. At the end of the warm-up and of each turn, send its seconds to the
        parent process and wait for an answer."""
        if self.warm_up <= step <= self.last and (step - self.warm_up) % self.steps == 0:
            self.wire.send(time.perf_counter() - self.began)
            self.wire.recv()
            gc.collect()
            self.began = time.perf_counter()


def take_turns(
    recipe: Recipe, threads: int, options: argparse.Namespace, before: Callable[[], None]
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    """Train each side. `before` is called before each turn. Return the seconds of each side's turns, and the last
    message of its process."""
    context = multiprocessing.get_context("spawn")
    wires: dict[str, Connection] = {}
    seconds: dict[str, list[float]] = {name: [] for name in SIDES}
    processes = []
    try:
        for name in SIDES:
            wires[name], other = context.Pipe()
            turns = Turns(other, options.warm_up, options.steps, options.turns)
            processes.append(context.Process(target=side, args=(name, recipe.flat(), threads, turns), daemon=True))
            processes[-1].start()
            other.close()  # so that the end of a process is noticed
            wires[name].recv()
        for turn in range(options.turns):
            before()
            start = turn % len(SIDES)  # each turn starts with another side
            for name in SIDES[start:] + SIDES[:start]:
                wires[name].send("go on")
                seconds[name].append(wires[name].recv())
        ends = {}
        for name, wire in wires.items():
            wire.send("end")
            ends[name] = wire.recv()
        return seconds, ends
    finally:
        for process in processes:
            process.join(10)
            process.terminate()


def side(name: str, recipe: dict[str, Any], threads: int, turns: Turns) -> None:
    """Train as one side. At the end, send a `TrainedStep` for each step, and the process's peak memory in bytes."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import torch

    torch.set_num_threads(threads)
    read = Recipe.from_flat(recipe)
    with redirect_stdout(sys.stderr):  # stdout is for the table
        steps = _ours(read, turns) if name == "ours" else _theirs(name == "best", read, turns)
    turns.wire.send((steps, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024))


def _ours(recipe: Recipe, turns: Turns) -> list[TrainedStep]:
    """Run the training loop of a trial."""
    from trainables.training.distributed import Workers
    from trainables.training.loop import Watcher, train

    class OurTurns(Watcher):
        def step(self, step: int, scalars: dict[str, float]) -> None:
            turns.after(step)

    training, encoder = built(recipe)
    # A step is reported when the next one is done. So one more step is trained, and the first is not counted.
    longer = recipe.override({"optimisation.max_steps": turns.last + 1, "optimisation.epochs": turns.last + 1})
    train(training.model, training.sampler, longer, 1, OurTurns(), Workers())
    batches = [training.sampler.batch(step) for step in range(1, turns.last + 1)]
    return [_our_step(encoder, batch, recipe.corpus.layout == "groups") for batch in batches]


def _our_step(encoder: Any, batch: Any, triples: bool) -> TrainedStep:
    lengths = [len(ids) for ids in encoder.tokenize(batch.sentences)]
    length = dict(zip(batch.sentences, lengths, strict=True))
    rows = rows_of(batch, triples)
    passes = encoder._passes
    padded = sum(lengths) if passes.packed else sum(len(i) * max(lengths[j] for j in i) for i in passes.cut(lengths))
    return TrainedStep(len(rows), sum(length[text] for row in rows for text in _texts(row)), tuple(lengths), padded)


def _theirs(best: bool, recipe: Recipe, turns: Turns) -> list[TrainedStep]:
    """Run sentence-transformers' trainer over the same batches of rows, with its own loss where it has such a loss."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import GISTEmbedLoss, MultipleNegativesRankingLoss

    training, _ = built(recipe)
    triples = recipe.corpus.layout == "groups"
    batches = [rows_of(training.sampler.batch(step), triples, step) for step in range(turns.last)]
    rows, sizes = [row for batch in batches for row in batch], [len(batch) for batch in batches]
    model = SentenceTransformer(recipe.encoder.name, device="cpu")
    if not triples:
        loss = _scl_for_theirs(model, training.model.objective)
    elif (guide := recipe.flat().get("objective.guide")) is not None:
        teacher = SentenceTransformer(str(guide), device="cpu")
        loss = GISTEmbedLoss(model, teacher, temperature=recipe.flat()["objective.temperature"])
    else:
        loss = MultipleNegativesRankingLoss(model)
    passes: list[tuple[int, list[int]]] = []  # by pass: tokens with padding, and tokens of each text
    steps: list[TrainedStep] = []

    def count(_: Any, inputs: tuple[Any, ...]) -> None:
        mask = inputs[0]["attention_mask"]
        passes.append((mask.numel(), mask.sum(1).tolist()))

    model.register_forward_pre_hook(count)

    def after(step: int) -> None:
        encoded = tuple(length for _, lengths in passes for length in lengths)
        padded = sum(tokens for tokens, _ in passes)
        steps.append(TrainedStep(len(cut[step - 1]), sum(encoded), encoded, padded))
        passes.clear()
        turns.after(step)

    cut = cut_by_length(rows, sizes) if best else in_order(sizes)
    train_peer(
        model,
        loss,
        Dataset.from_list(rows),
        after,
        per_device_train_batch_size=recipe.optimisation.batch_size,
        max_steps=turns.last,
        learning_rate=recipe.optimisation.learning_rate,
        bf16=recipe.optimisation.precision == "bf16",
        use_cpu=True,
        batch_sampler=lambda dataset, **_: cut,  # any list of batches is a batch sampler
        max_grad_norm=0.0 if best else 1.0,
    )
    return steps


def in_order(sizes: Sequence[int]) -> list[list[int]]:
    """Return row numbers in batches of these sizes, in order."""
    ends = [sum(sizes[: i + 1]) for i in range(len(sizes))]
    return [list(range(end - size, end)) for size, end in zip(sizes, ends, strict=True)]


def cut_by_length(rows: Sequence[dict[str, Any]], sizes: Sequence[int]) -> list[list[int]]:
    """Return row numbers in batches of these sizes, with rows of similar length together, in random order."""
    order = sorted(range(len(rows)), key=lambda i: sum(map(len, _texts(rows[i]))))
    batches = [[order[i] for i in batch] for batch in in_order(sizes)]
    random.Random(0).shuffle(batches)
    return batches


def _scl_for_theirs(model: Any, objective: Any) -> Any:
    """Return Liao's loss for sentence-transformers. A row's label is its class plus 3 times its group's number."""
    import torch

    from trainables.objectives.objective import EmbeddedBatch

    class SclLoss(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.objective = model, objective

        def forward(self, features: Any, labels: Any) -> Any:
            both = torch.cat([self.model(texts)["sentence_embedding"] for texts in features]).float()
            group = labels // 3
            batch = EmbeddedBatch(
                embeddings=both,
                projected=both,
                text=torch.arange(len(both)),
                generator=torch.Generator().manual_seed(0),
                premise=(group.unsqueeze(1) == group).long().argmax(dim=1),  # a group's first row has its premise
                hypothesis=torch.arange(len(labels)) + len(labels),
                label=labels % 3,
                group=group,
            )
            return self.objective.loss(batch).value

    return SclLoss()


def built(recipe: Recipe) -> tuple[Any, Any]:
    """Return a recipe's training and its encoder."""
    from trainables.trial.build import build_encoder, build_training

    encoder = build_encoder(recipe, 1, None)
    return build_training(recipe, 1, encoder), encoder


def rows_of(batch: Any, triples: bool, step: int = 0) -> list[dict[str, Any]]:
    """Return a batch for sentence-transformers: anchor, positive and hard negative of each group, or premise,
    hypothesis and label of each pair. The label also encodes the group; `step` separates batches."""
    rows: list[dict[str, Any]] = []
    groups: dict[int, dict[str, Any]] = {}
    for premise, hypothesis, label, group in zip(
        *(getattr(batch, name).tolist() for name in ("premise", "hypothesis", "label", "group")), strict=True
    ):
        text = batch.sentences[hypothesis]
        if triples:
            row = groups.setdefault(group, {"anchor": batch.sentences[premise], "positive": "", "negative": ""})
            row["positive" if label == 0 else "negative"] = text
        else:
            number = step * len(batch.sentences) + group
            rows.append({"premise": batch.sentences[premise], "hypothesis": text, "label": label + 3 * number})
    return rows or list(groups.values())


def _texts(row: dict[str, Any]) -> list[str]:
    return [value for value in row.values() if isinstance(value, str)]
