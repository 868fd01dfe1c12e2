"""Pairs of the STS Benchmark that are nearly paraphrases (CLSR's second corpus), and the layout made of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from trainables.corpora.batch import Sampler
from trainables.corpora.request import SamplerRequest, check_batch_size
from trainables.corpora.samplers import PairSampler
from trainables.corpora.text_lines import numbered_lines
from trainables.errors import UserError, shown

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


def load_similar(senteval: Path | None, limit: int | None = None) -> SimilarPairs:
    """Read `SENTEVAL/downstream/STS/STSBenchmark`; `limit` keeps the first so many similar pairs."""
    if senteval is None:
        raise UserError(
            "corpus.layout=similar_pairs trains on STSBenchmark: give corpus.senteval a folder in SentEval's layout"
        )
    folder = senteval / "downstream" / "STS" / "STSBenchmark"
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
        for number, line in numbered_lines(file):
            where = f"{file}, line {number}"
            columns = line.rstrip("\r\n").split("\t")
            if len(columns) < 7:
                raise UserError(f"{where}: {len(columns)} columns where STSBenchmark has 7 or more")
            similar = _score(columns[4], where) > ABOVE
            if not (columns[5].strip() and columns[6].strip()):
                raise UserError(f"{where}: one of its two sentences is empty")
            if similar and (limit is None or len(first) < limit):
                first.append(columns[5].strip())
                second.append(columns[6].strip())
                splits[split] += 1
    if not first:
        raise UserError(f"{folder} holds no pair with a score above {ABOVE:g}")
    digest = hashlib.sha256("\n".join(f"{a}\x1f{b}" for a, b in zip(first, second, strict=True)).encode())
    return SimilarPairs(first, second, splits, digest.hexdigest()[:12])


def _score(found: str, where: str) -> float:
    try:
        score = float(found)
    except ValueError:
        raise UserError(f"{where}: the score {shown(found)} is no number") from None
    if not SCALE[0] <= score <= SCALE[1]:
        raise UserError(f"{where}: the score {shown(found)} is not between {SCALE[0]} and {SCALE[1]}")
    return score


def make_similar(request: SamplerRequest) -> tuple[Sampler, dict[str, Any]]:
    """The batches of the layout `similar_pairs`, and what their corpus is, ready for JSON."""
    pairs = _load(request)
    sampler = PairSampler(pairs.first, pairs.second, request.batch_size, request.seed)
    return sampler, {
        "source": f"STSBenchmark in {request.senteval}",
        "pairs": len(pairs),
        "fingerprint": pairs.fingerprint,
        "splits": pairs.splits,
        "note": _note(pairs),
        **sampler.counts,
    }


def check_similar(request: SamplerRequest) -> None:
    """Refuse what `make_similar` would."""
    _load(request)


def sentences(request: SamplerRequest) -> Iterator[str]:
    """All sentences in corpus order, repeated ones too."""
    pairs = load_similar(request.senteval, request.corpus.limit)
    return chain.from_iterable(zip(pairs.first, pairs.second, strict=True))


def check_source(request: SamplerRequest) -> None:
    """Refuse files that `sentences` could not read."""
    load_similar(request.senteval, request.corpus.limit)


def remarks(request: SamplerRequest) -> list[str]:
    """That pairs are trained on which evaluation scores."""
    return [f"corpus.layout={request.corpus.layout}: {_note(load_similar(request.senteval, request.corpus.limit))}"]


def _note(pairs: SimilarPairs) -> str:
    return f"{pairs.splits['dev']} dev and {pairs.splits['test']} test pairs of STSBenchmark are among them"


def _load(request: SamplerRequest) -> SimilarPairs:
    pairs = load_similar(request.senteval, request.corpus.limit)
    has = f"{len(pairs)} pairs of STSBenchmark scored above {ABOVE:g}"
    check_batch_size(request.batch_size, len(pairs), str(request.senteval), has)
    return pairs
