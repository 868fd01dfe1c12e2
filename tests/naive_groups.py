"""The objectives over groups as plain loops, written from the papers' equations (the oracle)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from trainables.objectives.objective import EmbeddedBatch


@dataclass(frozen=True)
class Group:
    """Items of one group."""

    anchor: int
    positives: list[int]
    negatives: list[int]
    texts: set[int]  # of the anchor and its positives


def groups_of(batch: EmbeddedBatch) -> list[Group]:
    columns = (batch.group, batch.premise, batch.hypothesis, batch.label)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    groups = []
    for name in sorted({row[0] for row in rows}):
        own = [row for row in rows if row[0] == name]
        anchor = own[0][1]
        positives = [hypothesis for _, _, hypothesis, label in own if label == 0]
        negatives = [hypothesis for _, _, hypothesis, label in own if label == 2]
        groups.append(Group(anchor, positives, negatives, {int(batch.text[item]) for item in [anchor, *positives]}))
    return groups


class Terms:
    """exp(sim / tau) of items, and what stands in a denominator."""

    def __init__(self, batch: EmbeddedBatch, config: Any) -> None:
        self.batch, self.config = batch, config
        self.groups = groups_of(batch)
        self.zero = batch.projected.sum() * 0
        self.filters = config.false_negatives in ("guide", "self")
        guided = config.false_negatives == "guide"
        self.space = batch.guide if guided and batch.guide is not None else batch.projected.detach()
        margin = {"guide": 0.0, "self": 0.1}.get(config.false_negatives, 0.0)
        self.margin = margin if getattr(config, "filter_margin", None) is None else config.filter_margin

    def vector(self, items: list[int]) -> Tensor:
        """Their mean, as what judges false negatives sees it."""
        return self.space[items].mean(dim=0)

    def far(self, anchor: Tensor, positives: list[Tensor], candidate: Tensor) -> bool:
        """Whether a candidate is a negative by its similarity: not nearer than the farthest positive and the margin."""
        if not self.filters:
            return True
        return self.not_nearer(min(float(self.cosine(anchor, p)) for p in positives), anchor, candidate)

    def not_nearer(self, least: float, anchor: Tensor, candidate: Tensor) -> bool:
        limit = least + self.margin * (abs(least) if self.config.filter_by == "relative" else 1)
        return float(self.cosine(anchor, candidate)) <= limit

    def cosine(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.dot(a, b) / (a.pow(2).sum().sqrt() * b.pow(2).sum().sqrt())

    def term(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.exp(self.cosine(a, b) / self.config.temperature)

    def score(self, a: int, b: int) -> Tensor:
        return self.cosine(self.batch.projected[a], self.batch.projected[b]) / self.config.temperature

    def raised(self, config: Any, own: bool, a: int, b: int) -> Tensor:
        """What the hardness of a negative adds to its score; `own`: it is the anchor's own hard negative."""
        raises = getattr(config, "hardness", 0.0) and config.hardness_of in ("all", "hard" if own else "in_batch")
        cosine = self.cosine(self.batch.projected[a], self.batch.projected[b]).detach()
        return config.hardness * cosine if raises else self.zero

    def counts(self, group: Group, item: int, start: int | None = None) -> bool:
        """Whether an item may be a negative of the group, compared with its anchor or with `start`."""
        if self.config.false_negatives == "keep":
            return True
        if int(self.batch.text[item]) in group.texts:
            return False
        positives = [self.vector([p]) for p in group.positives]
        if not positives or not self.filters:
            return True
        anchor = self.vector([group.anchor])
        least = min(float(self.cosine(anchor, positive)) for positive in positives)
        compared = anchor if start is None else self.vector([start])
        return self.not_nearer(least, compared, self.vector([item]))

    def bank(self, group: Group, anchor: Tensor, positives: list[int] | None = None) -> Iterator[Tensor]:
        if self.batch.bank is not None and self.batch.bank_text is not None:
            near = [self.space[p] for p in (group.positives if positives is None else positives)]
            for entry, text in zip(self.batch.bank, self.batch.bank_text.tolist(), strict=True):
                if text not in group.texts and (not near or self.far(anchor.detach(), near, entry)):
                    yield self.term(anchor, entry)

    def mean(self, losses: list[Tensor]) -> Tensor:
        return sum(losses, self.zero) / max(len(losses), 1)


def mnrl(batch: EmbeddedBatch, config: Any) -> Tensor:
    """SupMPN, eq. 6."""
    terms = Terms(batch, config)
    losses = []
    for group in terms.groups:
        if not group.positives:
            continue
        (positive,) = group.positives
        x, own = batch.projected[group.anchor], terms.score(group.anchor, positive)
        sums = dict.fromkeys(getattr(config, "directions", ("query_to_doc",)), terms.zero)
        for direction in sums:
            if direction in ("query_to_doc", "doc_to_query"):
                sums[direction] = torch.exp(own)  # the pair itself
            start = group.anchor if direction.startswith("query") else positive
            for other in terms.groups:
                if direction.endswith("query"):
                    compared = [] if other is group else [other.anchor]
                elif direction == "doc_to_doc":
                    compared = [] if other is group else other.positives + other.negatives
                else:
                    compared = ([] if other is group else other.positives) + other.negatives
                for item in compared:
                    if terms.counts(group, item, start):
                        score = terms.score(start, item)
                        if direction == "query_to_doc":
                            score = score + terms.raised(config, other is group, start, item)
                        sums[direction] = sums[direction] + torch.exp(score)
        sums["query_to_doc"] = sum(terms.bank(group, x), sums["query_to_doc"])
        apart = getattr(config, "partition", "joint") == "apart"
        for denominator in sums.values() if apart else [sum(sums.values())]:
            losses.append(torch.log(denominator) - own)
    return terms.mean(losses)


def supmpn(batch: EmbeddedBatch, config: Any) -> Tensor:
    """SupMPN, eq. 7; as released, each left-out positive adds exp(0)."""
    terms = Terms(batch, config)
    losses = []
    for group in terms.groups:
        x = batch.projected[group.anchor]
        own_losses = []
        for positive in group.positives:
            own = terms.term(x, batch.projected[positive])
            others = terms.zero
            for other in terms.groups:
                if other is not group:
                    for item in other.positives:
                        if terms.counts(group, item):
                            others = others + terms.term(x, batch.projected[item])
                for item in other.negatives:
                    if terms.counts(group, item):
                        others = others + terms.term(x, batch.projected[item])
            if config.own_positives == "score_zero":
                others = others + len(group.positives) - 1
            others = sum(terms.bank(group, x), others)
            own_losses.append(-torch.log(own / (own + others)))
        if own_losses:
            losses.append(terms.mean(own_losses))
    return terms.mean(losses)


def supcon(batch: EmbeddedBatch, config: Any) -> Tensor:
    """SupMPN, eq. 5; with `contrast="all"` Khosla's eq. 2."""
    terms = Terms(batch, config)
    losses = []
    if config.contrast == "all":
        members = [(group, item) for group in terms.groups for item in (group.anchor, *group.positives)]
        for index, (group, item) in enumerate(members):
            x, own, denominator = batch.projected[item], [], terms.zero
            mates = [member for other, (whose, member) in enumerate(members) if whose is group and other != index]
            for other, (whose, member) in enumerate(members):
                known = config.false_negatives != "keep" and int(batch.text[member]) in group.texts
                vectors = [terms.vector([mate]) for mate in mates]
                counts = not known and (not vectors or terms.far(terms.vector([item]), vectors, terms.vector([member])))
                if other != index and (whose is group or counts):
                    term = terms.term(x, batch.projected[member])
                    denominator = denominator + term
                    own += [term] if whose is group else []
            if own:
                denominator = sum(terms.bank(group, x, mates), denominator)
                losses.append(terms.mean([-torch.log(term / denominator) for term in own]))
        return terms.mean(losses)
    for group in terms.groups:
        x = batch.projected[group.anchor]
        denominator = terms.zero
        for other in terms.groups:
            for item in other.positives:
                if other is group or terms.counts(group, item):
                    denominator = denominator + terms.term(x, batch.projected[item])
        denominator = sum(terms.bank(group, x), denominator)
        if group.positives:
            losses.append(
                terms.mean([-torch.log(terms.term(x, batch.projected[p]) / denominator) for p in group.positives])
            )
    return terms.mean(losses)


def ntxent(batch: EmbeddedBatch, config: Any) -> Tensor:
    """CLSR, eq. 1, with DeCLUTR's mean positive; the mean over both directions of all pairs."""
    terms = Terms(batch, config)
    vectors: list[tuple[Group, Tensor, set[int]]] = []
    compared: list[Tensor] = []
    for group in terms.groups:
        if group.positives:
            mean = sum(batch.projected[p] for p in group.positives) / len(group.positives)
            vectors.append((group, batch.projected[group.anchor], {int(batch.text[group.anchor])}))
            vectors.append((group, mean, {int(batch.text[p]) for p in group.positives}))
            compared += [terms.vector([group.anchor]), terms.vector(group.positives)]
    losses = []
    for a, (group, v, _) in enumerate(vectors):
        b = a + 1 if a % 2 == 0 else a - 1
        denominator = terms.zero
        for i, (_, other, texts) in enumerate(vectors):
            false_negative = config.false_negatives != "keep" and bool(texts & group.texts)
            false_negative |= not terms.far(compared[a], [compared[b]], compared[i])
            if i == b or (i != a and not false_negative):
                denominator = denominator + terms.term(v, other)
        losses.append(-torch.log(terms.term(v, vectors[b][1]) / sum(terms.bank(group, v), denominator)))
    return terms.mean(losses)


class Distances:
    def __init__(self, batch: EmbeddedBatch, config: Any) -> None:
        self.batch, self.config = batch, config
        self.zero = batch.projected.sum() * 0

    def __call__(self, a: int, b: int) -> Tensor:
        difference = self.batch.projected[a] - self.batch.projected[b]
        return difference.pow(2).sum().sqrt() if bool((difference != 0).any()) else self.zero

    def hinge(self, near: Tensor, far: Tensor) -> Tensor:
        return torch.clamp(near - far + self.config.margin, min=0)

    def may_be_far(self, group: Group, item: int) -> bool:
        return self.config.false_negatives == "keep" or int(self.batch.text[item]) not in group.texts

    def triples(self) -> Iterator[tuple[int, list[int], list[int]]]:
        """Each member, the others of its class, and what it is to be far from."""
        groups = groups_of(self.batch)
        for group in groups:
            members = [group.anchor, *group.positives]
            for index, a in enumerate(members):
                others = members[:index] + members[index + 1 :]
                far = [item for other in groups if other is not group for item in [other.anchor, *other.positives]]
                if index == 0:
                    far += group.negatives
                yield a, others, [n for n in far if self.may_be_far(group, n)]


def triplet(batch: EmbeddedBatch, config: Any) -> Tensor:
    """SupMPN, eq. 1, the mean over the triplets."""
    distance = Distances(batch, config)
    losses = [
        distance.hinge(distance(group.anchor, p), distance(group.anchor, n))
        for group in groups_of(batch)
        for p in group.positives
        for n in group.negatives
        if distance.may_be_far(group, n)
    ]
    return sum(losses, distance.zero) / max(len(losses), 1)


def batch_all(batch: EmbeddedBatch, config: Any) -> Tensor:
    """SupMPN, eq. 2, over the number of triplets that violate the margin."""
    distance = Distances(batch, config)
    losses = [
        distance.hinge(distance(a, p), distance(a, n))
        for a, others, far in distance.triples()
        for p in others
        for n in far
    ]
    return sum(losses, distance.zero) / max(sum(bool(loss > 0) for loss in losses), 1)


def batch_hard(batch: EmbeddedBatch, config: Any) -> Tensor:
    """SupMPN, eq. 3, the mean over the members with both a positive and a negative."""
    distance = Distances(batch, config)
    losses = [
        distance.hinge(
            max((distance(a, p) for p in others), key=Tensor.item), min((distance(a, n) for n in far), key=Tensor.item)
        )
        for a, others, far in distance.triples()
        if others and far
    ]
    return sum(losses, distance.zero) / max(len(losses), 1)


def mlm(batch: EmbeddedBatch, config: Any) -> Tensor:
    """Nothing of its own."""
    return batch.projected.sum() * 0


GROUP_ORACLES: dict[str, Callable[[EmbeddedBatch, Any], Tensor]] = {
    "ntxent": ntxent,
    "mnrl": mnrl,
    "simcse": mnrl,
    "supcon": supcon,
    "supmpn": supmpn,
    "triplet": triplet,
    "batch_all": batch_all,
    "batch_hard": batch_hard,
    "mlm": mlm,
}
