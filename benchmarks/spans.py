"""Spans of documents per second on one core, token lists of the batch included.

What a training step waits for: the next batch of `SpanSampler`, from drawn uniforms to finished token lists with the
special tokens, with the paper's numbers (l_min 32, l_max 512, A = 2, P = 2, 16 documents) for every strategy. The
documents are random tokens of web pages' lengths in a memory-mapped file, so that neither data nor encoder is needed.
Processor time is counted. The tokenization, done once for a study, is not part of it.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trainables.corpora.documents import TokenizedDocuments
from trainables.corpora.spans import SpanOptions, SpanSampler

SHORTEST_DOCUMENT, MEAN_LENGTH = 2048, 3000
"""Tokens of a document."""
TARGET = 20_000
"""Spans a second on one core that are fast enough; printed beside what is measured."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    print(
        f"{asked.documents:,} documents, {asked.runs} runs of {asked.steps} batches; target {TARGET:,} spans a second\n"
    )
    print("| strategy | anchors as in | spans/s, median (least to most) | batches/s |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        documents = _documents(Path(folder), asked.documents)
        for spans in (
            SpanOptions(places="apart"),
            SpanOptions(places="blocks"),
            SpanOptions(strategy="adjacent"),
            SpanOptions(strategy="subsuming"),
        ):
            sampler = SpanSampler(documents, spans, batch_size=16, seed=0, wrap=lambda ids: [0, *ids[:510], 2])
            a_batch = len(sampler.batch(0).tokens or ())
            rates = sorted(asked.steps / _seconds(sampler, asked.steps, run) for run in range(asked.runs))
            median = float(np.median(rates))
            print(
                f"| {spans.strategy} | {'released code' if spans.places == 'blocks' else 'paper'} "
                f"| {a_batch * median:,.0f} ({a_batch * rates[0]:,.0f} to {a_batch * rates[-1]:,.0f}) "
                f"| {median:,.0f} |",
                flush=True,
            )


def _seconds(sampler: SpanSampler, steps: int, run: int) -> float:
    """Processor seconds of one run's batches; every run draws other ones."""
    begin = time.process_time()
    for step in range(run * steps, (run + 1) * steps):
        sampler.batch(step)
    return time.process_time() - begin


def _documents(folder: Path, count: int) -> TokenizedDocuments:
    """So many documents of random tokens, in a memory-mapped file."""
    random = np.random.RandomState(0)
    lengths = SHORTEST_DOCUMENT + random.exponential(MEAN_LENGTH - SHORTEST_DOCUMENT, count).astype(np.int64)
    ends = np.cumsum([0, *lengths])
    tokens = np.lib.format.open_memmap(folder / "tokens.npy", "w+", np.uint16, (int(ends[-1]),))
    tokens[:] = random.randint(4, 50_000, len(tokens))
    return TokenizedDocuments(np.asarray(tokens), ends[:-1], lengths, np.arange(count), count, 0, "", "random")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks spans", description=__doc__)
    parser.add_argument("--documents", type=int, default=5000)
    parser.add_argument("--steps", type=int, default=500, help="batches in a run")
    parser.add_argument("--runs", type=int, default=5)
    return parser
