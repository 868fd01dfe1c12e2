"""The layout of near paraphrases: similar pairs of the STS Benchmark (CLSR's second corpus)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from trainables.corpora import scenes
from trainables.corpora.batch import Sampler
from trainables.corpora.layouts.contract import Layout
from trainables.corpora.request import SamplerRequest, check_batch_size
from trainables.corpora.samplers import PairSampler
from trainables.corpora.tables import sts_rows
from trainables.errors import UserError
from trainables.sections import LIMIT, SCENES, SENTEVAL, STSB
from trainables.tabular import score_within

SIMILAR_ABOVE = 4.0
"""Pairs with a higher score are similar (Qiu 2022, section 4.1)."""
SCALE = (0, 5)
SPLITS = ("train", "dev", "test")

Similar = dict[str, list[tuple[str, str]]]
"""Pairs by split. All are trained on, so scores on the dev or test split are of sentences seen in training."""


def load_similar(senteval: Path, limit: int | None = None) -> Similar:
    """Return similar pairs of each split of `SENTEVAL/downstream/STS/STSBenchmark`, at most `limit` in all."""
    folder = senteval / STSB
    pairs: Similar = {split: [] for split in SPLITS}
    for split in SPLITS:
        file = folder / f"sts-{split}.csv"
        if not file.is_file():
            raise UserError(
                f"{file} is not there; corpus.layout=similar_pairs trains on STSBenchmark: give corpus.senteval a "
                "folder that has it"
            )
        for where, row in sts_rows(file):
            similar = score_within(row["score"], where, SCALE) > SIMILAR_ABOVE
            sides = row["sentence1"].strip(), row["sentence2"].strip()
            if not all(sides):
                raise UserError(f"{where}: one of its two sentences is empty")
            if similar and (limit is None or sum(map(len, pairs.values())) < limit):
                pairs[split].append(sides)
    if not any(pairs.values()):
        raise UserError(f"{folder} holds no pair with a score above {SIMILAR_ABOVE:g}")
    return pairs


@dataclass(frozen=True)
class SimilarPairLayout(Layout):
    """Pairs of the STS Benchmark that score above 4, each a positive pair (CLSR)."""

    name = "similar_pairs"
    meaning = "pairs of STS-B scored above 4 (CLSR)"
    reads = "corpus.senteval"
    positives_at_most = 1
    hard_negatives = False
    fits_population = True

    senteval: str = SENTEVAL()
    limit: int | None = LIMIT()

    def make(self, request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
        of_split = self._batches(request)
        pairs = [*chain.from_iterable(of_split.values())]
        first, second = zip(*pairs, strict=True)
        sampler = PairSampler(first, second, request.batch_size, request.seed)
        return sampler, {
            "source": f"STSBenchmark in {self._folder}",
            "pairs": len(pairs),
            "fingerprint": hashlib.sha256("\n".join(map("\x1f".join, pairs)).encode()).hexdigest()[:12],
            "splits": {split: len(some) for split, some in of_split.items()},
            "note": _note(of_split),
            **sampler.counts,
        }

    def check(self, request: SamplerRequest) -> None:
        self._batches(request)

    def sentences(self, request: SamplerRequest) -> Iterator[str]:
        pairs = load_similar(self._folder, self.limit).values()
        return chain.from_iterable(chain.from_iterable(pairs))

    def check_sentences(self, request: SamplerRequest) -> None:
        load_similar(self._folder, self.limit)

    def remarks(self, request: SamplerRequest) -> list[str]:
        """Return the warning that training uses pairs of the dev and test splits."""
        return [f"corpus.layout={self.name}: {_note(load_similar(self._folder, self.limit))}"]

    @property
    def _folder(self) -> Path:
        return scenes.ensure() / "senteval" if self.senteval == SCENES else Path(self.senteval)

    def _batches(self, request: SamplerRequest) -> Similar:
        pairs = load_similar(self._folder, self.limit)
        count = sum(map(len, pairs.values()))
        has = f"{count} pairs of STSBenchmark scored above {SIMILAR_ABOVE:g}"
        check_batch_size(request.batch_size, count, str(self._folder), has)
        return pairs


def _note(pairs: Similar) -> str:
    return f"{len(pairs['dev'])} dev and {len(pairs['test'])} test pairs of STSBenchmark are among them"
