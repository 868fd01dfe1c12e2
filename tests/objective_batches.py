"""Embedded batches of random float64 vectors for the tests of the objectives, and how to compare two losses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from trainables.objectives import OBJECTIVES
from trainables.objectives.objective import EmbeddedBatch, Objective
from trainables.recipe import FIDELITY, Recipe
from trainables.testing.objectives import Built

DIM = 5
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def embedded(
    text: list[int], rows: list[tuple[int, int, int, int]], seed: int = 0, scale: float = 1.0
) -> EmbeddedBatch:
    """Items by their texts; rows of (group, premise item, hypothesis item, label)."""
    random = torch.Generator().manual_seed(seed)
    group, premise, hypothesis, label = torch.tensor(rows).T
    embeddings, projected = (
        (scale * torch.randn(len(text), DIM, generator=random, dtype=torch.float64)).requires_grad_() for _ in "ep"
    )
    guide = torch.randn(len(text), DIM + 1, generator=torch.Generator().manual_seed(seed + 1), dtype=torch.float64)
    fingerprints = torch.tensor(text)
    generator = torch.Generator().manual_seed(seed)
    return EmbeddedBatch(
        embeddings=embeddings,
        projected=projected,
        text=fingerprints,
        guide=guide,
        premise=premise,
        hypothesis=hypothesis,
        label=label,
        group=group,
        generator=generator,
    )


def labelled(rows: list[tuple[int, int, int]], seed: int = 0, scale: float = 1.0) -> EmbeddedBatch:
    """The layout `rows`: (premise, hypothesis, label); items are unique sentences, groups are premises."""
    items = max(max(premise, hypothesis) for premise, hypothesis, _ in rows) + 1
    return embedded(list(range(items)), [(p, p, h, label) for p, h, label in rows], seed, scale)


def random_rows(seed: int) -> list[tuple[int, int, int]]:
    """Groups of random size, adjacent rows; some hypotheses stand under several premises or are premises."""
    below = _dice(seed)
    return [(premise, below(13), below(3)) for premise in range(5) for _ in range(1 + below(5))]


def grouped(seed: int, groups: int = 5, positives: int = 3, negatives: int = 3, repeats: bool = True) -> EmbeddedBatch:
    """Groups with random numbers of positives and hard negatives, none among them, in shuffled rows.

    With `repeats` texts recur: as anchors, in other groups, under both labels, twice in one group, and as a second
    view of the anchor, which is an item of its own with the anchor's text.
    """
    below = _dice(seed)
    text: list[int] = []
    item_of: dict[int, int] = {}

    def item(word: int) -> int:
        if word not in item_of:
            item_of[word] = len(text)
            text.append(word)
        return item_of[word]

    rows = []
    for group in range(groups):
        anchor = below(3 * groups) if repeats else 1000 + group
        members = [0] * below(positives + 1) + [2] * below(negatives + 1)
        for label in members or [2]:
            if repeats and label == 0 and below(4) == 0:
                hypothesis = len(text)  # a second view
                text.append(anchor)
            else:
                hypothesis = item(below(3 * groups) if repeats else len(rows))
            rows.append((3 + 10 * group, item(anchor), hypothesis, label))
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed)).tolist()
    return embedded(text, [rows[n] for n in order], seed)


def fitting(name: str, seed: int, **shape: Any) -> EmbeddedBatch:
    """Random groups with as much as the formula of an objective takes."""
    kind = OBJECTIVES[name]
    negatives = 3 if kind.most_negatives is None else kind.most_negatives
    return grouped(seed, **{"positives": kind.most_positives or 3, "negatives": negatives, **shape})


def with_bank(batch: EmbeddedBatch, entries: int = 6) -> EmbeddedBatch:
    """Earlier items: some with texts of this batch, some without."""
    random = torch.Generator().manual_seed(77)
    bank = torch.randn(entries, DIM, generator=random, dtype=torch.float64)
    words = torch.cat([batch.text[batch.hypothesis], torch.arange(5000, 5000 + entries)])[::2]
    return replace(batch, bank=bank, bank_text=words[torch.randperm(len(words), generator=random)[:entries]])


def again(batch: EmbeddedBatch) -> EmbeddedBatch:
    """The same batch with its generator at the start."""
    return replace(batch, generator=torch.Generator().manual_seed(batch.generator.initial_seed()))


def in_precision(batch: EmbeddedBatch, dtype: torch.dtype) -> EmbeddedBatch:
    embeddings, projected = (t.detach().to(dtype).requires_grad_() for t in (batch.embeddings, batch.projected))
    guide = None if batch.guide is None else batch.guide.to(dtype)
    return replace(batch, embeddings=embeddings, projected=projected, guide=guide)


def options(name: str, fidelity: str = "paper", **numbers: Any) -> Any:
    """The objective of that name, with those of the numbers that it has."""
    given = {f"objective.{key}": value for key, value in numbers.items()}
    return Recipe().preferring({"objective.name": name, FIDELITY: fidelity, **given}).part(Objective)


def build(objective: Objective) -> Built:
    """In float64."""
    built = Built(objective, DIM).double()
    assert built.objective == objective
    return built


def gradients(value: Tensor, batch: EmbeddedBatch, objective: Built) -> list[Tensor]:
    inputs = [batch.embeddings, batch.projected, *objective.parameters()]
    gradients_of = torch.autograd.grad(value, inputs, allow_unused=True)
    return [torch.zeros_like(i) if g is None else g for g, i in zip(gradients_of, inputs, strict=True)]


def check_equal(value: Tensor, oracle: Tensor, batch: EmbeddedBatch, objective: Built) -> None:
    """That two losses of a batch have the same value and gradients to the tenth digit."""
    torch.testing.assert_close(value, oracle, **EXACT)
    torch.testing.assert_close(gradients(value, batch, objective), gradients(oracle, batch, objective), **EXACT)


def check_finite(batch: EmbeddedBatch, objective: Built) -> Tensor:
    """In fp32 the loss of a batch and all its gradients are finite; the loss."""
    batch, objective = in_precision(batch, torch.float32), objective.float()
    value = objective(batch).value
    assert torch.isfinite(value)
    assert all(torch.isfinite(gradient).all() for gradient in gradients(value, batch, objective))
    return value


def check_shares(batch: EmbeddedBatch, objective: Built, workers: int) -> None:
    """The parts of so many workers add up to the loss of one, and each counts the whole batch."""
    whole = objective(batch)
    parts = [objective(replace(batch, rank=rank, workers=workers)) for rank in range(workers)]
    check_equal(torch.stack([part.value for part in parts]).sum(), whole.value, batch, objective)
    assert all(part.counts == whole.counts for part in parts)


def _dice(seed: int):
    random = torch.Generator().manual_seed(seed)
    return lambda top: int(torch.randint(top, (1,), generator=random))
