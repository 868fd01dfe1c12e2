"""Mining hard negatives: ours against sentence-transformers' mine_hard_negatives, seconds of each in turns.

The same encoder, pairs and rules: three negatives of each anchor, at least 5 % of the positive's score below it, among
the nearest 50 texts. Both embed each text once, in batches as they make them, and rank by products; neither keeps
anything from one turn to the next. The sides take turns in one process, first one, then the other first. A text that is
both anchor and candidate is no anchor's own negative here, which the peer does not know; the pairs' sides are apart, so
that both can find the same, and how many of the negatives are the same stands in the table.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchmarks._asked import add_encoder, add_pairs, check_numbers, chosen_encoder

if TYPE_CHECKING:
    from trainables.corpora.mining import Rules
    from trainables.corpora.nli import NLIPairs

Found = set[tuple[str, str]]
"""Anchors, each with a negative."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    check_numbers(asked, pairs=60, turns=1, threads=1)
    encoder = chosen_encoder(asked)
    import torch

    from trainables.corpora.mining import Rules

    torch.set_num_threads(asked.threads)
    rules, pairs = Rules(each=3, share=0.05), _pairs(asked.data, asked.pairs)
    sides = {"ours": _ours(encoder, pairs, rules), "mine_hard_negatives": _theirs(encoder, pairs, rules)}
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}  # in all, and of these embedding
    found: dict[str, Found] = {}
    for turn in range(asked.turns):
        for name in sorted(sides, reverse=turn % 2 == 1):
            began = time.perf_counter()
            found[name], embedding = sides[name]()
            seconds[name].append((time.perf_counter() - began, embedding))
    ratios = [theirs[0] / ours[0] for ours, theirs in zip(*(seconds[name] for name in sides), strict=True)]
    share = len(found["ours"] & found["mine_hard_negatives"]) / max(map(len, found.values()))
    print(
        f"torch {torch.__version__}, {len(pairs):,} pairs of {Path(asked.data).name}, {asked.threads} threads, ", end=""
    )
    print(f"{asked.turns} turns; means, ratios' ends\n")
    print("| side | seconds | of these embedding | negatives | found by both | ours is faster by |\n|" + "---|" * 6)
    for name, times in seconds.items():
        ratio = f"{fmean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if name != "ours" else ""
        whole, embedding = (fmean(part) for part in zip(*times, strict=True))
        print(f"| {name} | {whole:.1f} | {embedding:.1f} | {len(found[name]):,} | {share:.1%} | {ratio} |")


def _pairs(source: str, most: int) -> NLIPairs:
    """The first so many entailed pairs whose second text is no anchor."""
    from dataclasses import replace

    from trainables.corpora.nli import load_nli
    from trainables.labels import ENTAILMENT

    loaded = load_nli(source)
    anchors = set(loaded.premises)
    rows = [
        row for row, label in enumerate(loaded.labels) if label == ENTAILMENT and loaded.hypotheses[row] not in anchors
    ][:most]
    texts = ([side[row] for row in rows] for side in (loaded.premises, loaded.hypotheses))
    premises, hypotheses = texts
    return replace(loaded, premises=premises, hypotheses=hypotheses, labels=loaded.labels[rows], file=loaded.file[rows])


def _ours(encoder: str, pairs: NLIPairs, rules: Rules) -> Callable[[], tuple[Found, float]]:
    from trainables.corpora.mining import mined_table, with_table
    from trainables.encoders import load_encoder
    from trainables.labels import CONTRADICTION
    from trainables.recipe import EncoderConfig

    loaded = load_encoder(EncoderConfig(name=encoder))
    timed = _Timed(loaded.encode)

    def mine() -> tuple[Found, float]:
        mined = with_table(pairs, mined_table(pairs, timed, rules))
        rows = (mined.labels == CONTRADICTION).nonzero()[0].tolist()
        return {(mined.premises[row], mined.hypotheses[row]) for row in rows}, timed.taken()

    return mine


def _theirs(encoder: str, pairs: NLIPairs, rules: Rules) -> Callable[[], tuple[Found, float]]:
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import mine_hard_negatives

    model = SentenceTransformer(encoder, device="cpu")
    timed = _Timed(model.encode)
    model.encode_query = model.encode_document = timed
    data = Dataset.from_dict({"anchor": pairs.premises, "positive": pairs.hypotheses})

    def mine() -> tuple[Found, float]:
        with contextlib.redirect_stderr(io.StringIO()):  # its bars
            found = mine_hard_negatives(
                data,
                model,
                range_min=rules.skip,
                range_max=rules.depth,
                relative_margin=rules.share,
                num_negatives=rules.each,
                verbose=False,
            )
        return set(zip(found["anchor"], found["negative"], strict=True)), timed.taken()

    return mine


class _Timed:
    """An encoder's `encode`, and how many seconds it took."""

    def __init__(self, encode: Callable[..., Any]) -> None:
        self.encode, self.seconds = encode, 0.0

    def __call__(self, texts: Sequence[str], **options: Any) -> Any:
        began = time.perf_counter()
        found = self.encode(texts, **options)
        self.seconds += time.perf_counter() - began
        return found

    def taken(self) -> float:
        """Since it was asked last."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks mining", description=__doc__)
    add_encoder(parser)
    add_pairs(parser)
    parser.add_argument("--pairs", type=int, default=3000, help="entailed pairs to mine for (default: 3000)")
    parser.add_argument("--turns", type=int, default=3, help="turns of each side (default: 3)")
    parser.add_argument("--threads", type=int, default=1, help="threads (default: 1)")
    return parser
