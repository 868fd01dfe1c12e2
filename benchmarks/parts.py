"""Where the time goes: the parts of a training step and of an evaluation, and of an encoder's work by operation.

An evaluation's parts are in processor seconds of one thread. Shares by operation are those that torch's own profiler
counts, without what is called from within. What makes training and encoding faster is switched off, one thing after
another and in turns: in a training of its own each, and over a sample of the sentences.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import math
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks._asked import add_encoder, chosen_encoder
from benchmarks._training_loops import built, rotated
from benchmarks._training_ways import processor_seconds
from trainables.recipe import SCENES, Recipe

GROUPS = {
    "attention": ("scaled_dot_product", "bmm", "softmax", "_Attention"),
    "matrix products": ("mm", "linear"),
    "GELU": ("gelu",),
    "layer norm": ("layer_norm",),
    "dropout's bits": ("random_",),
    "optimiser": ("_fused_adam", "_foreach", "addcdiv", "addcmul", "lerp", "Optimizer"),
    "word embeddings": ("embedding", "index_select"),
    "sums, products and copies": ("add", "mul", "copy", "cat", "sum", "index_copy", "div", "ge", "fill"),
}
"""What an operation is counted as: the first group of which a word is in its name."""


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table for training and three for the evaluation."""
    asked = _parser().parse_args(arguments)
    import torch

    torch.set_num_threads(1)
    recipe = Recipe().preferring(
        {
            "encoder.name": chosen_encoder(asked),
            "encoder.layers": asked.layers,
            "pooling.mode": "mean",
            "corpus.nli": asked.nli,
            "corpus.layout": "groups",
            "objective.name": "mnrl",
            "objective.positives": 1,
            "objective.negatives": 1,
            "optimisation.batch_size": 64,
            "optimisation.precision": asked.precision,
            "encoder.precision": asked.precision,
        }
    )
    print(f"torch {torch.__version__}, 1 thread, {asked.precision}, {asked.layers or 'all'} layers\n")
    if asked.steps:
        _print("training", _training(recipe, asked.steps))
        _print_turns("training", processor_seconds(recipe, asked.steps, asked.turns))
    if asked.tasks:
        _evaluation(recipe, asked.data, asked.tasks.split(","), asked.turns)


def shares(operations: dict[str, float]) -> dict[str, float]:
    """Seconds by operation to shares of the whole by group, most first; what no group has is the rest."""
    found: dict[str, float] = defaultdict(float)
    for name, seconds in operations.items():
        group = next((group for group, words in GROUPS.items() if any(word in name for word in words)), "rest")
        found[group] += seconds
    whole = math.fsum(found.values())
    return {group: seconds / whole for group, seconds in sorted(found.items(), key=lambda pair: -pair[1])}


def _training(recipe: Recipe, steps: int) -> dict[str, float]:
    """Of the loop that a trial runs, after ten steps of warm-up."""
    from torch.profiler import profile

    from trainables.training.distributed import Workers
    from trainables.training.loop import Watcher, train

    profiler, warm = profile(), 10

    class Watching(Watcher):
        def step(self, step: int, scalars: dict[str, float]) -> None:
            if step == warm:
                profiler.start()
            if step == warm + steps:
                profiler.stop()

    training, _ = built(recipe)
    last = warm + steps + 1  # a step is told of when the next one is done
    longer = recipe.override({"optimisation.max_steps": last, "optimisation.epochs": last})
    train(training.model, training.sampler, longer, 1, Watching(), Workers())
    return _operations(profiler)


def _evaluation(recipe: Recipe, data: Path, tasks: list[str], turns: int) -> None:
    from torch.profiler import profile

    from trainables.encoders.tokens import distinct
    from trainables.senteval.evaluation import embed, import_late, score_embeddings
    from trainables.trial.build import build_encoder

    encoder: Any = build_encoder(recipe, 1, None)
    import_late()
    spent: dict[str, float] = {}
    asked: list[str] = []

    def encode(sentences: Sequence[str]) -> Any:
        asked.extend(sentences)
        with _clock(spent, "encoding, tokenizing included"):
            return encoder.encode(sentences)

    with _clock(spent, "reading"):
        embeddings = embed(encode, data, tasks)
    spent["reading"] -= spent["encoding, tokenizing included"]
    with _clock(spent, "tokenizing alone"):
        tokens = encoder.tokenize(asked)
    alone = spent.pop("tokenizing alone")
    with _clock(spent, "fitting and scoring"):
        score_embeddings(embeddings, data, tasks)
    print(f"{', '.join(tasks)}: tokenizing takes {alone:.1f} s\n")
    print("| part of an evaluation | processor seconds | share |\n|---|---|---|")
    for name, seconds in sorted(spent.items(), key=lambda pair: -pair[1]):
        print(f"| {name} | {seconds:.1f} | {seconds / math.fsum(spent.values()):.0%} |")
    once, _ = distinct(tokens)
    print(
        f"\n{len(once):,} of {len(tokens):,} sentences have tokens of their own, "
        f"{sum(map(len, once)):,} of {sum(map(len, tokens)):,} tokens\n"
    )
    few = asked[:: max(1, len(asked) // 500)]
    with profile() as profiler:
        encoder.encode(few)
    _print("encoding", _operations(profiler))
    _switched(encoder, few, turns)


@contextlib.contextmanager
def _clock(spent: dict[str, float], name: str) -> Iterator[None]:
    begin = time.process_time()
    yield
    spent[name] = time.process_time() - begin


def _switched(encoder: Any, sentences: list[str], turns: int) -> None:
    """Encode without each thing that makes it faster, and without all of them."""
    import torch
    from torch.nn import functional as F
    from transformers.activations import GELUActivation

    attention = F.scaled_dot_product_attention

    def heads_first(*given: Any, **more: Any) -> torch.Tensor:
        return attention(*(part.transpose(0, 1) for part in given[:3]), *given[3:], **more).transpose(0, 1)

    def switch(stack: contextlib.ExitStack, gelu: bool, heads: bool) -> None:
        if gelu:
            for module in encoder.modules():
                if isinstance(module, GELUActivation):
                    stack.enter_context(mock.patch.object(module, "act", F.gelu))
        if heads:
            stack.enter_context(mock.patch.object(F, "scaled_dot_product_attention", heads_first))

    ways = {
        "as it is": functools.partial(switch, gelu=False, heads=False),
        "without GELU in place": functools.partial(switch, gelu=True, heads=False),
        "heads before sentences in attention": functools.partial(switch, gelu=False, heads=True),
        "both": functools.partial(switch, gelu=True, heads=True),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    for turn in range(turns + 1):
        for name in rotated(names, turn):
            with contextlib.ExitStack() as stack:
                ways[name](stack)
                begin = time.process_time()
                encoder.encode(sentences)
                seconds[name].append(time.process_time() - begin)
    _print_turns("encoding", {name: found[1:] for name, found in seconds.items()})


def _print_turns(title: str, seconds: dict[str, list[float]]) -> None:
    """By way; a ratio is taken within a turn."""
    plain = next(iter(seconds.values()))
    print(f"| {title}, {len(plain)} turns | of its processor time (least to most) |\n|---|---|")
    for name, found in seconds.items():
        ratios = [own / one for own, one in zip(found, plain, strict=True)]
        print(f"| {name} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |")
    print(flush=True)


def _operations(profiler: Any) -> dict[str, float]:
    """Seconds that each operation took itself."""
    return {event.key: event.self_cpu_time_total / 1e6 for event in profiler.key_averages()}


def _print(title: str, operations: dict[str, float]) -> None:
    print(f"| {title} | share of the time |\n|---|---|")
    for group, share in shares(operations).items():
        print(f"| {group} | {share:.1%} |")
    print(flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks parts", description=__doc__)
    add_encoder(parser)
    parser.add_argument("--layers", type=int, help="keep only the first so many (default: all)")
    parser.add_argument("--nli", default=SCENES, help="labelled pairs to train on (default: the built-in ones)")
    parser.add_argument("--steps", type=int, default=10, help="training steps that are counted; 0: none (default: 10)")
    parser.add_argument("--data", type=Path, default=Path("data/senteval"), help="default: data/senteval")
    parser.add_argument("--tasks", default="CR,TREC,STS12,STSBenchmark", help="joined by commas; '' for none")
    parser.add_argument("--turns", type=int, default=12, help="with things switched off (default: 12)")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32", help="default: fp32")
    return parser
