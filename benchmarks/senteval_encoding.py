"""Encoding for SentEval: against the machine's own matrix products and against SentenceTransformer.encode.

A random sample of the data's sentences goes through our encoder and through SentenceTransformer.encode with its
defaults, in fp32 and in bf16, one after another in one process. The arithmetic of a sentence counts the encoder's
linear layers and attention over its real tokens, so padding lowers a rate. The machine's rate is that of a product of
the encoder's own shape: 4096 tokens through the feed-forward layer.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._arithmetic import best, forward_flops, machine_rate
from benchmarks._asked import add_encoder, chosen_encoder
from trainables.errors import UserError


def main(arguments: Sequence[str]) -> None:
    """Measure, and print a markdown table."""
    asked = _parser().parse_args(arguments)
    import torch
    from sentence_transformers import SentenceTransformer

    from trainables.encoders import load_encoder
    from trainables.encoders.pooling import Mean
    from trainables.recipe import EncoderConfig

    torch.set_num_threads(asked.threads)
    folder = chosen_encoder(asked)
    config, pooling = EncoderConfig(name=folder, max_length=256), Mean()
    encoders: dict[Any, Any] = {
        torch.float32: load_encoder(config, pooling, device="cpu", evaluation_precision="fp32"),
        torch.bfloat16: load_encoder(config, pooling, device="cpu", evaluation_precision="bf16"),
    }
    theirs = SentenceTransformer(folder, device="cpu")
    sentences = _sample(asked.data, asked.sentences)
    first = encoders[torch.float32]
    flops = forward_flops(first.backbone.config, [len(ids) for ids in first.tokenize(sentences)])
    print(
        f"torch {torch.__version__}, {asked.threads} thread(s), {len(sentences)} sentences, {flops / 1e12:.2f} TFLOP\n"
    )
    print("| precision | machine, GFLOP/s | ours, GFLOP/s | share | ours, s | SentenceTransformer, s | ratio |")
    print("|---|---|---|---|---|---|---|")
    theirs_in_fp32 = mine = 0.0
    for precision, ours in encoders.items():
        theirs.to(precision)
        rate = machine_rate(ours.backbone.config, precision)
        mine = best(functools.partial(ours.encode, sentences), asked.runs)
        other = best(lambda: theirs.encode(sentences, show_progress_bar=False, convert_to_tensor=True), asked.runs)
        theirs_in_fp32 = theirs_in_fp32 or other
        print(
            f"| {str(precision).removeprefix('torch.')} | {rate / 1e9:.0f} | {flops / mine / 1e9:.0f} "
            f"| {flops / mine / rate:.0%} | {mine:.1f} | {other:.1f} | {other / mine:.2f} |",
            flush=True,
        )
    print(f"\nours in bf16 against SentenceTransformer's default, fp32: {theirs_in_fp32 / mine:.2f}")


def _sample(data: Path, count: int) -> list[str]:
    """So many sentences of the downstream tasks whose files are there, drawn at random."""
    from trainables.senteval.read_task import read_task
    from trainables.senteval.tasks import GROUPS, TASKS

    there = [TASKS[name] for name in GROUPS["downstream"] if (data / TASKS[name].files[0]).is_file()]
    if not there:
        raise UserError(f"{data} holds no SentEval task; name the folder with --data")
    sentences = sorted({text for task in there for text in read_task(task, data).sentences()})
    chosen = np.random.RandomState(0).permutation(len(sentences))[:count]
    return [sentences[i] for i in chosen]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks senteval_encoding", description=__doc__)
    add_encoder(parser)
    parser.add_argument("--data", type=Path, default=Path("data/senteval"), help="default: data/senteval")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=2)
    return parser
