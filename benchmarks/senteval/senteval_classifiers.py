"""Nested cross-validations: one stack of classifiers against the original's one-by-one fits.

The one-by-one side (`_one_by_one.py`) is nn.Linear, autograd, torch.optim.Adam, deepcopy of the best model, as in
the original toolkit. It would take hours, so a random sample of its 410 fits is timed (as many inner fits as asked
for, and one refit) and scaled by count: 400 inner fits, 10 refits. The stack is timed whole. Processor time of one
thread is counted on both sides, so that other work on the machine affects both alike. An embedding is the mean of
random vectors, one for each word of a sentence. Sentences and labels are the real tasks': the number of epochs until
a fit stops depends on them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from benchmarks.options import add_number, parser_of
from benchmarks.tables import head, row, spread
from trainables.errors import UserError


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    parser = parser_of(__name__, __doc__)
    parser.add_argument("--data", type=Path, default=Path("data/senteval"), help="default: data/senteval")
    parser.add_argument("--tasks", default="CR,MR", help="of MR, CR, SUBJ and MPQA, joined by commas (default: CR,MR)")
    add_number(parser, "--dims", [50, 384], "sizes of the embeddings")
    add_number(parser, "--sample", 6, "inner fits that are timed one by one")
    add_number(parser, "--runs", 3, "runs")
    options = parser.parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, 1 thread, {options.runs} runs, {options.sample} inner fits sampled\n")
    print(head("task", "dimensions", "one by one, s", "stack, s", "ratio (least to most)", "test accuracy"))
    for name in options.tasks.split(","):
        for dim in options.dims:
            runs = [_run(options.data, name, dim, options.sample, number) for number in range(options.runs)]
            slow, fast = (
                median(seconds) for seconds in zip(*((run.one_by_one, run.stack) for run in runs), strict=True)
            )
            ratios = spread([run.one_by_one / run.stack for run in runs], 0)
            print(row(name, dim, f"{slow:.0f}", f"{fast:.2f}", ratios, f"{runs[0].accuracy:.2f}"), flush=True)


@dataclass(frozen=True)
class _Run:
    """Seconds of one nested cross-validation, one by one and as a stack, and the stack's test accuracy in percent."""

    one_by_one: float
    stack: float
    accuracy: float


def _run(data: Path, name: str, dim: int, sample: int, number: int) -> _Run:
    """Time both sides on one task; `number` seeds which fits are sampled."""
    import torch

    from benchmarks.senteval import _one_by_one as one_by_one
    from trainables.senteval.embedded import Embedded
    from trainables.senteval.protocol import PROTOCOLS
    from trainables.senteval.read_task import read_task
    from trainables.senteval.scoring import score_task
    from trainables.senteval.tasks import TASKS

    if name not in TASKS or TASKS[name].kind != "nested_cv":
        raise UserError(f"{name!r} has no nested cross-validation; use MR, CR, SUBJ or MPQA")
    protocol = PROTOCOLS["full"]
    content = read_task(TASKS[name], data)
    part = content.splits["all"]
    x, y = _embeddings(part.left, dim), part.labels

    random = np.random.RandomState(number)
    outer = one_by_one.folds(y, protocol.folds)

    def timed(*data: Any) -> float:
        decay = protocol.decays[random.randint(len(protocol.decays))]
        classifier = one_by_one.OneByOne(dim, 2, decay, protocol.fit)
        begin = time.process_time()
        classifier.fit(*data)
        return time.process_time() - begin

    inner = []
    for _ in range(sample):
        train, _ = outer[random.randint(protocol.folds)]
        fit, dev = one_by_one.folds(y[train], protocol.folds)[random.randint(protocol.folds)]
        inner.append(timed(x[train][fit], y[train][fit], (x[train][dev], y[train][dev])))
    train, _ = outer[random.randint(protocol.folds)]
    refit = timed(x[train], y[train])

    def rows(texts: list[str]) -> torch.Tensor:
        return torch.arange(len(texts))

    begin = time.process_time()
    _, scored = score_task(Embedded(TASKS[name], content, torch.from_numpy(x), rows), protocol, 1111)
    stack = time.process_time() - begin
    fits = protocol.folds**2 * len(protocol.decays)
    (answers,) = scored.answers
    accuracy = 100 * float((answers.predicted == answers.gold).mean())
    return _Run(fmean(inner) * fits + refit * protocol.folds, stack, accuracy)


def _embeddings(texts: Sequence[str], dim: int) -> np.ndarray:
    """(texts, dim): averages of random word vectors."""
    words = {word: number for number, word in enumerate(sorted({word for text in texts for word in text.split()}))}
    vectors = np.random.RandomState(0).randn(len(words), dim).astype(np.float32)
    return np.stack([vectors[[words[word] for word in text.split()]].mean(axis=0) for text in texts])
