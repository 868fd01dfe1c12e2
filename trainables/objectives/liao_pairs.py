"""Who is contrasted with whom in Liao 2021: anchors, positives and negatives of a batch of NLI pairs."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from trainables.objectives.kernel import draw
from trainables.objectives.objective import ENTAILMENT, EmbeddedBatch
from trainables.recipe import ObjectiveConfig


@dataclass(frozen=True)
class Contrast:
    """Candidates are the batch's hypotheses, one for each pair. All on the CPU."""

    anchors: Tensor  # (anchors,) index into sentences: the premises
    positives: Tensor  # (anchors, pairs), boolean
    negatives: Tensor  # (anchors, pairs), boolean


def choose_contrast(batch: EmbeddedBatch, config: ObjectiveConfig) -> Contrast:
    """Section 3 of the paper, "Anchor, Positive and Negative Sentence"; or what its released code does."""
    premise, hypothesis, label = (t.cpu() for t in (batch.premise, batch.hypothesis, batch.label))
    if config.fidelity == "released":
        return _released(premise, label, config, batch.generator)
    entailed = label == ENTAILMENT
    anchors = premise[entailed].unique()  # every premise that has a positive in the batch
    own = premise == anchors.unsqueeze(1)  # (anchors, pairs)
    positives = own & entailed
    # A sentence that the anchor entails is never its negative, also where another premise repeats it.
    text = batch.text.cpu()[hypothesis]
    same = text.unsqueeze(0) == text.unsqueeze(1)  # (pairs, pairs)
    entailed_sentence = (positives.double() @ same.double()) > 0
    return Contrast(
        anchors,
        draw(positives, config.positives, batch.generator),
        draw(~entailed_sentence, config.negatives, batch.generator),
    )


def _released(premise: Tensor, label: Tensor, config: ObjectiveConfig, generator: torch.Generator) -> Contrast:
    """Every entailed row is an anchor with its own hypothesis among the positives; N- has no effect."""
    rows = torch.nonzero(label == ENTAILMENT).squeeze(1)  # (anchors,)
    entailments = (premise == premise[rows].unsqueeze(1)) & (label == ENTAILMENT)  # (anchors, pairs)
    itself = torch.zeros_like(entailments)
    itself[torch.arange(len(rows)), rows] = True
    others = None if config.positives is None else config.positives - 1
    positives = itself | draw(entailments & ~itself, others, generator)
    return Contrast(premise[rows], positives, ~entailments)
