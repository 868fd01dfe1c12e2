from dataclasses import dataclass
from typing import Any

import numpy as np

from trainables.corpora.batch import Batch
from trainables.corpora.layouts import LAYOUTS, Layout
from trainables.corpora.request import SamplerRequest, check_batch_size
from trainables.keys import at_least, key
from trainables.labels import ENTAILMENT


@dataclass(frozen=True)
class NextLines(Layout):
    """A line and the one after it are a positive pair."""

    name = "next_lines"
    reads = "corpus.lines"
    positives_at_most = 1
    hard_negatives = False
    has_sentences = False
    objectives = ("ntxent", "mnrl")

    lines: int = key(100, "How many lines the poem has.", at_least(3))

    def check(self, request: SamplerRequest) -> None:
        check_batch_size(request.batch_size, self.lines - 1, "the poem", f"{self.lines - 1} pairs of lines")

    def make(self, request: SamplerRequest) -> tuple["Lines", dict[str, Any]]:
        self.check(request)
        return Lines(self.lines, request.batch_size, request.seed), {"source": "a poem", "lines": self.lines}


class Lines:
    def __init__(self, lines: int, size: int, seed: int) -> None:
        self.pairs, self.size, self.seed = lines - 1, size, seed
        self.steps_per_epoch = self.pairs // size

    def batch(self, step: int) -> Batch:
        epoch, part = divmod(step, self.steps_per_epoch)
        order = np.random.default_rng([self.seed, epoch]).permutation(self.pairs)
        first = order[part * self.size : (part + 1) * self.size]
        items, places = np.unique([first, first + 1], return_inverse=True)  # each line once
        premise, hypothesis = places.reshape(2, -1)
        label = np.full(self.size, ENTAILMENT, dtype=np.int8)
        sentences = [f"line {item} of a poem" for item in items]
        return Batch(
            sentences=sentences, premise=premise, hypothesis=hypothesis, label=label, group=np.arange(self.size)
        )


LAYOUTS.add(NextLines)
