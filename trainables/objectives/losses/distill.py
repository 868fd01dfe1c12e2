"""Distillation: training on a teacher's embeddings, similarities or margins instead of labels. The teacher is a frozen
encoder, or its scores are in the training data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from trainables.corpora.layouts import Layout
from trainables.errors import UserError
from trainables.keys import key
from trainables.labels import CONTRADICTION, ENTAILMENT
from trainables.lazy_torch import torch
from trainables.objectives.objective import EmbeddedBatch, Loss, Objective
from trainables.objectives.temperature import TEMPERATURE
from trainables.objectives.widths import Widths
from trainables.to_device import to_device

if TYPE_CHECKING:
    from torch import Tensor

_OUT = -1e9
"""Score of a left-out text, instead of minus infinity: a softmax over only minus infinity is NaN."""
_UNIT = 0.01
"""Vectors count as unit vectors if their length differs from 1 by less than this, because bf16 rounds."""
_LEAST = 1e-6
"""Least divisor when embeddings are normalised. It keeps the gradient at length 0 finite in any precision."""


@dataclass(frozen=True)
class Distill(Widths, Objective):
    """Losses over (projected) embeddings x and a teacher's embeddings t, with cosines s, over the whole batch:

        similarities   tau^2 times the mean over anchors of KL( softmax(s_t / tau) || softmax(s_x / tau) ), over all
                       compared texts but the anchor's own (TAS-B, Lin 2020)
        margins        the mean of ( (s_x(a, p) - s_x(a, n)) - (s_t(a, p) - s_t(a, n)) )^2 over each anchor's positives
                       and hard negatives (MarginMSE, Hofstaetter 2020)
        embeddings     the mean of (x - t)^2 over all sentences and numbers (Reimers 2020). If all t have length 1, as
                       in a model that ends in Normalize, x / |x| and t / |t| are compared at each width

    Only margins use labels: to tell positives from hard negatives. Without `teacher` the training data contain a
    teacher's scores of each anchor's texts (`corpora/teacher_scores.py`). They replace s_t in margins, and in

        similarities   tau^2 times the mean over anchors of KL( softmax(s_t / tau) || softmax(s_x / tau) ), over the
                       anchor's own texts with a score, for anchors with at least two such texts
    """

    name = "distill"
    meaning = "a teacher's similarities, margins or embeddings in place of labels"
    layouts = ("rows", "groups", "pairs", "similar_pairs", "sentences", "scored_pairs", "same_label")
    contrasts = False

    teacher: str | None = key(
        None,
        "Hub id or folder of the frozen encoder that is imitated, with its own pooling. Its embeddings are computed "
        "once, and kept. none learns a teacher's margins or scores that stand in the training data.",
        is_path=True,
    )
    matches: Literal["similarities", "margins", "embeddings"] = key(
        "similarities",
        "What of the teacher is learned. similarities: how near each anchor is to all texts of the batch (to its own, "
        "where their scores stand in the data); margins: how much nearer a positive is than a hard negative; "
        "embeddings: these, or their directions where the teacher's have length 1.",
        search=("similarities", "margins", "embeddings"),
    )
    temperature: float | Literal["learned"] = TEMPERATURE(when=("matches", "similarities".__eq__))

    def check(self, layout: type[Layout]) -> None:
        if self.taught and (self.matches == "embeddings" or not layout.taught):
            raise UserError(
                "objective.name=distill needs a teacher; name an encoder by objective.teacher, a hub id or a folder, "
                "or take corpus.layout=groups, data with a teacher's margins or scores, and "
                "objective.matches=similarities or margins"
            )
        if self.matches == "margins" and not layout.hard_negatives:
            raise UserError(
                f"objective.matches=margins compares positives with hard negatives, and corpus.layout={layout.name} "
                "has none; take corpus.layout=groups, or objective.matches=similarities"
            )
        if self.temperature == "learned":
            raise UserError(
                "objective.temperature=learned would flatten teacher and learner alike; give objective.temperature a "
                "number"
            )

    @property
    def taught(self) -> bool:
        return self.teacher is None

    def check_teacher(self, dim: int, teacher: int) -> None:
        """Raise `UserError` if `matches="embeddings"` and the sizes of trained and teacher's embeddings differ."""
        if self.matches == "embeddings" and dim != teacher:
            raise UserError(
                f"objective.matches=embeddings compares {dim} numbers with the {teacher} of objective.teacher; set "
                f"head.kind=linear and head.dim={teacher}, or take objective.matches=similarities"
            )

    def loss(self, batch: EmbeddedBatch, module: Any = None) -> Loss:
        teacher = batch.score if self.taught else batch.guide
        assert teacher is not None, "the layout gives the teacher's scores, or the model its embeddings"
        teacher, matches = teacher.to(batch.projected.dtype), self.matches
        if matches == "margins" and not self.taught:
            teacher = _near(batch, teacher)
        similarities = self._lists if self.taught else self._similarities
        term = {"similarities": similarities, "margins": _margins, "embeddings": _embeddings}[matches]
        return Loss(self.at_widths(lambda width: term(batch, batch.projected[:, :width], teacher)))

    def _divergence(self, teacher: Tensor, learner: Tensor) -> Tensor:
        """Return tau^2 times the sum over anchors of KL( softmax(teacher / tau) || softmax(learner / tau) )."""
        assert self.temperature != "learned", "`check` refuses it"
        target, learned = ((near / self.temperature).log_softmax(dim=1) for near in (teacher, learner))
        return self.temperature**2 * (target.exp() * (target - learned)).sum()

    def _lists(self, batch: EmbeddedBatch, learner: Tensor, scores: Tensor) -> Tensor:
        group = to_device(batch.pairs.group.unique(), learner.device)
        own = (batch.group == group.unsqueeze(1)) & scores.isfinite()  # (anchors, pairs)
        mine = batch.share(len(own))

        lists = (  # (anchors of this worker, pairs)
            near.expand(own.shape)[mine].masked_fill(~own[mine], _OUT)
            for near in (scores.nan_to_num(), _near(batch, learner))
        )
        return self._divergence(*lists) / (own.sum(dim=1) > 1).sum().clamp(min=1)

    def _similarities(self, batch: EmbeddedBatch, learner: Tensor, teacher: Tensor) -> Tensor:
        anchors, device = batch.pairs.premise.unique(), learner.device
        candidates = to_device(batch.pairs.hypothesis.unique(), device)
        mine = to_device(anchors[batch.share(len(anchors))], device)
        same = batch.text[mine].unsqueeze(1) == batch.text[candidates]

        units = (torch.nn.functional.normalize(embeddings, dim=1) for embeddings in (teacher, learner))
        cosines = ((unit[mine] @ unit[candidates].T).masked_fill(same, _OUT) for unit in units)
        return self._divergence(*cosines) / len(anchors)


def _near(batch: EmbeddedBatch, embeddings: Tensor) -> Tensor:  # (pairs,)
    return torch.nn.functional.cosine_similarity(embeddings[batch.premise], embeddings[batch.hypothesis], dim=1)


def _margins(batch: EmbeddedBatch, learner: Tensor, target: Tensor) -> Tensor:
    """Return the margin loss. target: (pairs,) the teacher's similarity of each pair; NaN: unknown."""
    rows = ((batch.pairs.label == label).nonzero().squeeze(1) for label in (ENTAILMENT, CONTRADICTION))
    better, worse = (to_device(row, learner.device) for row in rows)
    together = batch.group[better].unsqueeze(1) == batch.group[worse]  # (positives, negatives)
    together = together & target[better].isfinite().unsqueeze(1) & target[worse].isfinite()
    mine = batch.share(len(together))

    def margins(near: Tensor) -> Tensor:
        return near[better][mine].unsqueeze(1) - near[worse]

    squares = (margins(_near(batch, learner)) - margins(target.nan_to_num())).square() * together[mine]
    return squares.sum() / together.sum().clamp(min=1)


def _embeddings(batch: EmbeddedBatch, learner: Tensor, teacher: Tensor) -> Tensor:
    mine = batch.share(len(learner))
    length = teacher.norm(dim=1)  # 0 for an empty text
    unit = (((length - 1).abs() < _UNIT) | (length == 0)).all()  # a tensor, so that the CPU does not wait
    near, target = (
        torch.where(unit, torch.nn.functional.normalize(each, dim=1, eps=_LEAST), each)
        for each in (learner, teacher[:, : learner.shape[1]])
    )
    return (near[mine] - target[mine]).square().sum() / learner.numel()
