"""Pairs of the STS Benchmark that are nearly paraphrases (CLSR's second corpus), and the layout made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from trainables.corpora import scenes
from trainables.corpora.batch import Sampler
from trainables.corpora.layout import Layout
from trainables.corpora.request import SamplerRequest, check_batch_size
from trainables.corpora.samplers import PairSampler
from trainables.corpora.tables import sts_rows
from trainables.errors import UserError
from trainables.sections import LIMIT, SCENES, SENTEVAL, STSB
from trainables.tabular import score_within

ABOVE = 4.0
"""Pairs with a higher score are similar (Qiu 2022, section 4.1)."""
SCALE = (0, 5)
SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class SimilarPairs:
    """Pairs of all three splits, in that order."""

    first: list[str]
    second: list[str]
    splits: dict[str, int]
    """How many of the pairs are from each split; a score on dev or test is of sentences seen in training."""
    fingerprint: str

    def __len__(self) -> int:
        return len(self.first)


def load_similar(senteval: Path, limit: int | None = None) -> SimilarPairs:
    """Read `SENTEVAL/downstream/STS/STSBenchmark`; `limit` keeps the first so many similar pairs."""
    folder = senteval / STSB
    first: list[str] = []
    second: list[str] = []
    splits = dict.fromkeys(SPLITS, 0)
    for split in SPLITS:
        file = folder / f"sts-{split}.csv"
        if not file.is_file():
            raise UserError(
                f"{file} is not there; corpus.layout=similar_pairs trains on STSBenchmark: give corpus.senteval a "
                "folder that has it"
            )
        for where, row in sts_rows(file):
            similar = score_within(row["score"], where, SCALE) > ABOVE
            sentence1, sentence2 = row["sentence1"].strip(), row["sentence2"].strip()
            if not (sentence1 and sentence2):
                raise UserError(f"{where}: one of its two sentences is empty")
            if similar and (limit is None or len(first) < limit):
                first.append(sentence1)
                second.append(sentence2)
                splits[split] += 1
    if not first:
        raise UserError(f"{folder} holds no pair with a score above {ABOVE:g}")
    digest = hashlib.sha256("\n".join(f"{a}\x1f{b}" for a, b in zip(first, second, strict=True)).encode())
    return SimilarPairs(first, second, splits, digest.hexdigest()[:12])


@dataclass(frozen=True)
class SimilarPairLayout(Layout):
    """Pairs of the STS Benchmark that score above 4, each a positive pair (CLSR)."""

    name = "similar_pairs"
    meaning = "pairs of STS-B scored above 4 (CLSR)"
    reads = "corpus.senteval"
    positives_at_most = 1
    hard_negatives = False
    stacks = True

    senteval: str = SENTEVAL()
    limit: int | None = LIMIT()

    def make(self, request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
        pairs = self._batches(request)
        sampler = PairSampler(pairs.first, pairs.second, request.batch_size, request.seed)
        return sampler, {
            "source": f"STSBenchmark in {self._folder}",
            "pairs": len(pairs),
            "fingerprint": pairs.fingerprint,
            "splits": pairs.splits,
            "note": _note(pairs),
            **sampler.counts,
        }

    def check(self, request: SamplerRequest) -> None:
        self._batches(request)

    def sentences(self, request: SamplerRequest) -> Iterator[str]:
        pairs = load_similar(self._folder, self.limit)
        return chain.from_iterable(zip(pairs.first, pairs.second, strict=True))

    def check_sentences(self, request: SamplerRequest) -> None:
        load_similar(self._folder, self.limit)

    def remarks(self, request: SamplerRequest) -> list[str]:
        """That pairs are trained on which evaluation scores."""
        return [f"corpus.layout={self.name}: {_note(load_similar(self._folder, self.limit))}"]

    @property
    def _folder(self) -> Path:
        return scenes.ensure() / "senteval" if self.senteval == SCENES else Path(self.senteval)

    def _batches(self, request: SamplerRequest) -> SimilarPairs:
        pairs = load_similar(self._folder, self.limit)
        has = f"{len(pairs)} pairs of STSBenchmark scored above {ABOVE:g}"
        check_batch_size(request.batch_size, len(pairs), str(self._folder), has)
        return pairs


def _note(pairs: SimilarPairs) -> str:
    return f"{pairs.splits['dev']} dev and {pairs.splits['test']} test pairs of STSBenchmark are among them"
