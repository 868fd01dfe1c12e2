"""The layout of pairs of texts with a similarity score: STS-B, SICK, or the user's own table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from trainables.corpora.batch import Sampler
from trainables.corpora.layouts.valued_texts import TableLayout, ValuedRows
from trainables.corpora.request import SamplerRequest, check_batch_size
from trainables.corpora.samplers import PairSampler
from trainables.corpora.tables import OpenTable, open_table
from trainables.errors import UserError, shown
from trainables.sections import STSB
from trainables.tabular import as_number, no_number


@dataclass(frozen=True)
class ScoredPairLayout(TableLayout):
    """Pairs of texts with a score.

    Scores between -1 and 1 are not changed. Other scores, such as 0 to 5 of STS-B, are scaled to 0 to 1, by the lowest
    and the highest score of the corpus.
    """

    name = "scored_pairs"
    meaning = "two texts and a score"
    can_avoid_duplicates = True
    positives_at_most = 0
    roles = MappingProxyType({"sentence1": ("sentence1",), "sentence2": ("sentence2",), "score": ("score", "label")})

    def value(self, cell: Any, where: str) -> float | None:
        score = as_number(cell)
        if score is not None or no_number(cell):
            return score
        raise UserError(f"{where}: the score {shown(cell)} is no finite number")

    def scenes(self, folder: Path) -> OpenTable:
        return open_table(folder / STSB / "sts-train.csv")

    def refuse(self, request: SamplerRequest, rows: ValuedRows) -> None:
        where = f"corpus.nli={self.nli!r}"
        if min(rows.values) == max(rows.values):
            raise UserError(f"{where}: all scores are {rows.values[0]:g}, so there is nothing to learn from them")
        check_batch_size(request.batch_size, len(rows.texts), where, f"{len(rows.texts)} scored pairs")

    def sampler(self, request: SamplerRequest, rows: ValuedRows) -> tuple[Sampler, dict[str, Any]]:
        first, second = zip(*rows.texts, strict=True)
        scores = np.array(between_0_and_1(rows.values), dtype=np.float32)
        sampler = PairSampler(first, second, request.batch_size, request.seed, scores, request.no_duplicates)
        return sampler, {"pairs": len(first), "scores": [min(rows.values), max(rows.values)], **sampler.counts}

    def remarks(self, request: SamplerRequest) -> list[str]:
        """Return the range of scores in local files, and whether they are scaled."""
        if not self.local:
            return []
        scores = self.rows().values
        low, high = min(scores), max(scores)
        scale = "" if low >= -1 and high <= 1 else ", read as 0 to 1"
        return [f"corpus.nli={self.nli!r}: scores lie between {low:g} and {high:g}{scale}"]


def between_0_and_1(scores: list[float]) -> list[float]:
    """Scale scores to 0 to 1 by their lowest and highest; scores between -1 and 1 are not changed."""
    low, high = min(scores), max(scores)
    if low >= -1 and high <= 1:
        return scores
    return [(score / 2 - low / 2) / (high / 2 - low / 2) for score in scores]  # halves, as a difference may overflow
