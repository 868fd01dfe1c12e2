"""Caption and image retrieval: the rank of each caption's image, and of the nearest of each image's captions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from trainables.senteval.effects import mean_effects
from trainables.senteval.embedded import Embedded
from trainables.senteval.examples import Split
from trainables.senteval.items import Answers
from trainables.senteval.kinds.contract import RANK, SHARE, TRAIN_DEV_TEST, KindScores, TaskKind
from trainables.senteval.protocol import Protocol
from trainables.senteval.ranking import CAPTIONS, DIRECTIONS, FOLDS, RECALL_DEPTHS, fold_size, recalls
from trainables.senteval.task_fields import TaskFields

IMAGE_RANKS = "image_ranks"
"""Name of the array with the rank of the nearest caption of each caption's image, equal for all captions of an
image."""


class Retrieval(TaskKind):
    """`test_recall` is the mean of R@1, R@5 and R@10 in both directions, each averaged over five folds of images."""

    name = "retrieval"
    splits = TRAIN_DEV_TEST
    target = "images"
    reported = (
        "dev_recall",
        "test_recall",
        *(f"test_{way}_r{k}" for way in DIRECTIONS for k in RECALL_DEPTHS),
        *(f"test_{way}_medr" for way in DIRECTIONS),
    )
    main = "test_recall"

    def range_of(self, number: str) -> tuple[float, float]:
        return RANK if number.endswith("_medr") else SHARE

    def score(self, given: Embedded, protocol: Protocol, seed: int) -> KindScores:
        from trainables.senteval.projections import fit_projections

        parts = {name: (given.embeddings[given.lookup(part.left)], part) for name, part in given.data.splits.items()}
        dev, to_images, to_captions = fit_projections(parts, seed)
        answers = Answers(
            to_images, np.zeros_like(to_images), further_arrays={IMAGE_RANKS: to_captions.repeat(CAPTIONS)}
        )
        return KindScores((answers,), [len(parts[name][0]) for name in ("dev", "test")], {"dev_recall": dev})

    def numbers(self, task: TaskFields, answers: Answers, protocol: Protocol | None) -> dict[str, float | None]:
        if IMAGE_RANKS not in answers.further_arrays or len(answers.gold) % (FOLDS * CAPTIONS):
            return {}
        to_images, to_captions = answers.predicted, answers.further_arrays[IMAGE_RANKS][::CAPTIONS]
        shares = recalls(to_images, to_captions)
        medians = {
            f"{way}_medr": float(np.mean([np.floor(np.median(fold)) + 1 for fold in np.split(ranks, FOLDS)]))
            for way, ranks in (("i2t", to_captions), ("t2i", to_images))
        }
        numbers = {f"test_{name}": value for name, value in {**shares, **medians}.items()}
        return {"test_recall": math.fsum(shares.values()) / len(shares), **numbers}

    def effects(self, task: TaskFields, number: str, answers: Answers, protocol: Protocol | None) -> np.ndarray | None:
        if number.endswith("_medr"):
            return None
        names = (
            [number.removeprefix("test_")]
            if number != "test_recall"
            else [f"{way}_r{k}" for way in DIRECTIONS for k in RECALL_DEPTHS]
        )
        ranks = {"i2t": answers.further_arrays[IMAGE_RANKS], "t2i": answers.predicted}
        hits = [ranks[name[:3]] < int(name.partition("_r")[2]) for name in names]
        return mean_effects(np.mean(hits, axis=0), [len(answers.gold) // FOLDS] * FOLDS)

    def groups(self, splits: Sequence[Split]) -> np.ndarray | None:
        """Return groups by image: captions of one image are sampled together."""
        labels = np.concatenate([split.labels for split in splits])
        return labels[: CAPTIONS * FOLDS * fold_size(len(labels) // CAPTIONS)]
