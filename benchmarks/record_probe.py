"""How far the record's probe and SentEval's own classifiers agree on which recipes are better on CR.

The record scores CR by a ridge regression that leaves each example out (`trainables/senteval/probe.py`), for it takes
milliseconds. Here some recipes of the record, spread over the range of their probe scores, are trained again, and
scored by SentEval's own nested cross-validation as well.

    python -m benchmarks record_probe --record frozen_grid-minilm.parquet --nli snli_dev.jsonl --senteval senteval
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks._asked import check_numbers
from benchmarks._minilm import minilm
from benchmarks.record import FROZEN, FrozenBench, Job, Trial
from trainables.recipe import Recipe

if TYPE_CHECKING:
    from torch import Tensor

    from trainables.encoders.adapter import AdaptedEncoder


def main(arguments: Sequence[str]) -> None:
    """Print the rank correlations."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks record_probe", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--record", required=True, type=Path, metavar="FILE", help="the one of MiniLM")
    parser.add_argument("--nli", required=True, metavar="PATH", help="what it was trained on")
    parser.add_argument("--senteval", required=True, metavar="DIR", help="what it was scored on")
    parser.add_argument("--encoder", default=minilm(), metavar="DIR", help="default: of the installed package")
    parser.add_argument("--recipes", type=int, default=25, metavar="N", help="how many (default 25)")
    asked = parser.parse_args(arguments)
    check_numbers(asked, recipes=3)
    import torch
    from scipy.stats import spearmanr

    from study.replay.recorded import read_record
    from trainables.senteval.evaluation import evaluate

    torch.set_num_threads(1)
    recorded = read_record(asked.record)
    transfer = recorded.goals.index("transfer")
    halves = recorded.development[:, 0, -1, transfer], recorded.test[:, 0, -1, transfer]
    probed = np.mean(halves, axis=0)
    order = np.argsort(probed)
    numbers = order[np.linspace(0, len(order) - 1, asked.recipes).round().astype(int)]
    found = []
    with tempfile.TemporaryDirectory() as cache:
        places = {"encoder.name": asked.encoder, "corpus.nli": asked.nli, "evaluation.senteval": asked.senteval}
        bench = _Kept(Job(FROZEN, "minilm", "paper", tuple(places.items()), cache))
        for number in numbers:
            (*_, end) = bench.run(Trial(tuple(recorded.chosen[number].items()), recorded.seeds[0]))
            classified = evaluate(bench.trained.encode, asked.senteval, ["CR"], "full").tasks["CR"]["test_accuracy"]
            found.append((end["dev_transfer"] / 2 + end["test_transfer"] / 2, classified))
            print("{}: probe {:.2f}, SentEval {:.2f}".format(recorded.hashes[number], *found[-1]), flush=True)
    probes, classifiers = zip(*found, strict=True)
    agreement = spearmanr(probes, classifiers).statistic
    again = np.abs(np.array(probes) - probed[numbers]).max()
    pearson = np.corrcoef(probes, classifiers)[0, 1]
    print(f"\n{len(found)} recipes: rank correlation {agreement:.2f}, Pearson's {pearson:.2f}")
    print(f"the probe, trained again, lies within {again:.2f} points of the record")


class _Kept(FrozenBench):
    """Keeps the encoder that it has trained last."""

    trained: AdaptedEncoder

    def embedded(self, recipe: Recipe, encoder: AdaptedEncoder) -> Tensor:
        self.trained = encoder
        return super().embedded(recipe, encoder)
