"""The objectives of Liao 2021 as plain loops over sentences, written from the paper's equations (the oracle)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from trainables.objectives.objective import EmbeddedBatch
from trainables.objectives.pair_classifier import PairClassifier

Drawn = list[tuple[int, list[int], list[int]]]
"""For each anchor: its sentence, the rows whose hypotheses are its positives, and those of its negatives."""


@dataclass(frozen=True)
class Pool:
    """What an anchor may draw from."""

    anchor: int
    required: list[int]
    positives: list[int]
    negatives: list[int]


def pools(batch: EmbeddedBatch, config: Any) -> list[Pool]:
    """Who may be contrasted with whom, in the order of the anchors."""
    premise, hypothesis, label = batch.premise.tolist(), batch.hypothesis.tolist(), batch.label.tolist()
    rows = range(len(label))
    pooled = []
    for row in rows if config.anchors == "rows" else [premise.index(anchor) for anchor in sorted(set(premise))]:
        anchor = premise[row]
        entailed = [r for r in rows if premise[r] == anchor and label[r] == 0]
        if not entailed or (config.anchors == "rows" and label[row] != 0):
            continue
        known = {int(batch.text[s]) for s in [anchor, *(hypothesis[r] for r in entailed)]}
        masked = config.false_negatives != "keep"
        others = [r for r in rows if r not in entailed and not (masked and int(batch.text[hypothesis[r]]) in known)]
        pooled.append(Pool(anchor, [row] if config.anchors == "rows" else [], entailed, others))
    return pooled


def cross_entropy(u: Tensor, v: Tensor, label: int, classifier: PairClassifier) -> Tensor:
    """One pair's term of eq. 1: minus the log of the probability of its label."""
    first, second = (layer for layer in classifier.layers)
    assert isinstance(first, nn.Linear)
    assert isinstance(second, nn.Linear)
    x = torch.cat([u, v, (u - v).abs()])
    y = second.weight @ (first.weight @ x + first.bias) + second.bias  # no activation between
    return -torch.log(torch.exp(y[label]) / sum(torch.exp(y[c]) for c in range(3)))


def ce(batch: EmbeddedBatch, classifier: PairClassifier) -> Tensor:
    """Eq. 1."""
    total = batch.embeddings.sum() * 0
    for p, h, label in zip(batch.premise.tolist(), batch.hypothesis.tolist(), batch.label.tolist(), strict=True):
        total = total + cross_entropy(batch.embeddings[p], batch.embeddings[h], label, classifier)
    return total / len(batch.label)


def scl(batch: EmbeddedBatch, drawn: Drawn, config: Any) -> Tensor:
    """Eq. 2, averaged over the anchors; 0 where there is none. A filter looks at cosines of the guide, or at the dot
    products of the loss itself."""
    total, temperature = batch.projected.sum() * 0, config.temperature
    guided = config.false_negatives == "guide"
    space = (
        torch.nn.functional.normalize(batch.guide, dim=1)
        if guided and batch.guide is not None
        else batch.projected.detach()
    )
    for anchor, positives, negatives in drawn:

        def term(row: int, anchor: int = anchor) -> Tensor:
            dot = torch.dot(batch.projected[anchor], batch.projected[int(batch.hypothesis[row])])
            return torch.exp(dot / temperature)

        if config.false_negatives in ("guide", "self"):
            near = {
                row: float(torch.dot(space[anchor], space[int(batch.hypothesis[row])]))
                for row in range(len(batch.label))
            }
            limit = min(near[row] for row in positives) + (0.0 if guided else 0.1)
            negatives = [row for row in negatives if near[row] <= limit]
        denominator = sum(term(row) for row in [*positives, *negatives])
        if batch.bank is not None and batch.bank_text is not None:
            entailed = [r for r in range(len(batch.label)) if batch.premise[r] == anchor and batch.label[r] == 0]
            known = {int(batch.text[i]) for i in [anchor, *batch.hypothesis[entailed].tolist()]}
            for entry, text in zip(batch.bank, batch.bank_text.tolist(), strict=True):
                if text not in known:
                    denominator = denominator + torch.exp(torch.dot(batch.projected[anchor], entry) / temperature)
        total = total + sum(-torch.log(term(row) / denominator) for row in positives) / len(positives)
    return total / max(len(drawn), 1)


def augment(batch: EmbeddedBatch, drawn: Drawn, classifier: PairClassifier) -> Tensor:
    """Eq. 1 over the pairs that SCL's positives and negatives form."""
    terms = []
    for anchor, positives, negatives in drawn:
        for row in [*positives, *negatives]:
            own = int(batch.premise[row]) == anchor
            label = 0 if row in positives else int(batch.label[row]) if own else 2
            u, v = batch.embeddings[anchor], batch.embeddings[int(batch.hypothesis[row])]
            terms.append(cross_entropy(u, v, label, classifier))
    return sum(terms, batch.embeddings.sum() * 0) / max(len(terms), 1)


LIAO_ORACLES: dict[str, Callable[[EmbeddedBatch, Any, Drawn, PairClassifier | None], Tensor]] = {
    "ce": lambda batch, config, drawn, classifier: ce(batch, classifier),
    "ce_augment": lambda batch, config, drawn, classifier: augment(batch, drawn, classifier),
    # Eq. 3. Where lambda is 1 the classifier does not exist.
    "scl": lambda batch, config, drawn, classifier: (
        config.weight * scl(batch, drawn, config)
        + ((1 - config.weight) * ce(batch, classifier) if classifier is not None else 0)
    ),
}


def naive_loss(batch: EmbeddedBatch, config: Any, drawn: Drawn, classifier: PairClassifier | None) -> Tensor:
    """The whole objective that `config` names."""
    return LIAO_ORACLES[config.name](batch, config, drawn, classifier)
